"""A real MCP server in a process of its own, and the clients people have."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path

import pytest
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

import placet
from mcp import Client as MCPClient
from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client
from placet.adapters.mcp import guard
from support.docs import blocks, paste

SERVER = str(Path(__file__).with_name("files_server.py"))


@pytest.fixture
def effects(tmp_path, monkeypatch):
    """What the MCP server did, line by line."""
    file = tmp_path / "effects"
    monkeypatch.setenv("EFFECTS", str(file))
    return lambda: file.read_text().splitlines() if file.exists() else []


@contextlib.asynccontextmanager
async def connected():
    parameters = StdioServerParameters(command=sys.executable, args=[SERVER], env={**os.environ})
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


@contextlib.asynccontextmanager
async def guarded(**options):
    async with placet.AsyncClient(outage_budget=1.0) as client, connected() as session:
        yield guard(session, client, server="files", **options)


def outcome(reviewer):
    [record] = reviewer.client.list()
    return record


async def test_an_approved_call_runs_once_and_is_reported(reviewer, effects):
    async with guarded() as session:
        call = asyncio.create_task(session.call_tool("delete", {"path": "a"}))
        request = await reviewer.anext()
        assert request.tool == "files/delete"
        assert request.arguments == {"path": "a"}
        assert request.context == {"framework": "mcp", "server": "files"}
        assert effects() == []
        reviewer.decide(request, "approve")
        result = await call
    assert result.structured_content == {"deleted": "a"}
    assert effects() == ["delete a False"]
    assert outcome(reviewer).state == "succeeded"
    assert outcome(reviewer).outcome["result_digest"].startswith("sha256:")


async def test_a_denied_call_never_runs_and_says_why(reviewer, effects):
    async with guarded() as session:
        call = asyncio.create_task(session.call_tool("delete", {"path": "a"}))
        await reviewer.adeny("keep it")
        result = await call
    assert isinstance(result, CallToolResult)
    assert result.is_error
    assert result.structured_content["status"] == "denied"
    assert result.structured_content["reason"] == "keep it"
    assert json.loads(result.content[0].text) == result.structured_content
    assert effects() == []


async def test_an_edited_call_runs_as_edited_and_says_so(reviewer, effects):
    async with guarded() as session:
        call = asyncio.create_task(session.call_tool("delete", {"path": "a"}))
        await reviewer.aedit({"path": "b", "force": True})
        result = await call
    assert effects() == ["delete b True"]
    assert '"path": "b"' in result.content[-1].text
    assert outcome(reviewer).state == "succeeded"


async def test_an_edit_that_does_not_fit_the_schema_of_the_tool_is_refused(reviewer, effects):
    async with guarded() as session:
        call = asyncio.create_task(session.call_tool("delete", {"path": "a"}))
        request = await reviewer.anext()
        with pytest.raises(placet.Invalid):
            reviewer.decide(request, "edit", arguments={"path": 7})
        reviewer.decide(request, "approve")
        await call
    assert effects() == ["delete a False"]


async def test_a_call_nobody_decides_on_never_runs(reviewer, effects):
    async with guarded(expires_in="1s") as session:
        result = await session.call_tool("delete", {"path": "a"})
    assert result.structured_content["status"] == "expired"
    assert effects() == []


async def test_nothing_runs_while_placet_is_down(server, effects):
    server.stop()
    async with guarded() as session:
        result = await session.call_tool("delete", {"path": "a"})
        assert result.structured_content["status"] == "unreachable"
    async with guarded(on_outage="raise") as session:
        with pytest.raises(placet.Unreachable):
            await session.call_tool("delete", {"path": "a"})
    assert effects() == []


async def test_nothing_runs_with_a_wrong_key(server, effects):
    async with placet.AsyncClient(token="plk_agent_wrong") as client, connected() as session:
        result = await guard(session, client).call_tool("delete", {"path": "a"})
    assert result.is_error
    assert effects() == []


async def test_arguments_that_are_not_json_are_refused_before_anybody_is_asked(reviewer, effects):
    async with guarded() as session:
        result = await session.call_tool("delete", {"path": Path("a")})
    assert result.is_error
    assert "/path" in result.structured_content["reason"]
    assert (list(reviewer.client.list()), effects()) == ([], [])


async def test_parallel_calls_are_decided_one_by_one(reviewer, effects):
    words = {"a": ("approve", {}), "b": ("deny", {"reason": "no"}), "c": ("edit", {"arguments": {"path": "d"}})}
    async with guarded() as session:
        with reviewer.always(lambda request: words[request.arguments["path"]]):
            results = await asyncio.gather(*(session.call_tool("delete", {"path": path}) for path in "abc"))
    assert [result.is_error for result in results] == [False, True, False]
    assert sorted(effects()) == ["delete a False", "delete d False"]


async def test_two_equal_calls_need_two_approvals(reviewer, effects):
    with placet.session("s1"):
        async with guarded() as session:
            calls = [asyncio.create_task(session.call_tool("delete", {"path": "a"})) for _ in range(2)]
            first, second = await asyncio.to_thread(reviewer.wait_for, 2)
            assert first.session == second.session == "s1"
            reviewer.decide(first, "approve")
            reviewer.decide(second, "deny", reason="once is enough")
            await asyncio.gather(*calls)
    assert effects() == ["delete a False"]


async def test_only_chosen_tools_are_held(reviewer, effects):
    async with guarded(tools=["delete"]) as session:
        await session.call_tool("read", {"path": "a"})
    assert effects() == ["read a"]
    assert list(reviewer.client.list()) == []


async def test_a_tool_that_is_called_destructive_is_held_although_it_was_not_chosen(reviewer, effects):
    async with guarded(tools=["delete"], risk="low") as session:
        call = asyncio.create_task(session.call_tool("wipe"))
        request = await reviewer.anext()
        assert request.risk == "high"
        reviewer.decide(request, "deny", reason="no")
        await call
    assert effects() == []


async def test_a_tool_that_calls_itself_harmless_is_held_all_the_same(reviewer, effects):
    async with guarded(risk="critical") as session:
        call = asyncio.create_task(session.call_tool("read", {"path": "a"}))
        request = await reviewer.anext()
        assert request.risk == "critical"
        reviewer.decide(request, "deny", reason="no")
        await call
    assert effects() == []


async def test_a_listing_that_fails_holds_everything(reviewer, effects, monkeypatch):
    async with guarded(tools=["nothing"]) as session:

        async def fails():
            raise RuntimeError("no listing")

        monkeypatch.setattr(session._inner, "list_tools", fails)
        call = asyncio.create_task(session.call_tool("delete", {"path": "a"}))
        request = await reviewer.anext()
        assert request.allowed == ["approve", "deny"]
        reviewer.decide(request, "deny", reason="no")
        await call
    assert effects() == []


async def test_a_tool_that_fails_is_reported_as_failed(reviewer, effects):
    async with guarded() as session:
        with reviewer.always():
            result = await session.call_tool("broken", {"path": "a"})
    assert result.is_error
    assert effects() == ["broken a"]
    assert outcome(reviewer).state == "failed"
    assert "broken" in outcome(reviewer).outcome["note"]


async def test_a_call_whose_answer_never_came_is_not_reported(reviewer, effects):
    async with guarded() as session:
        with reviewer.always(), pytest.raises(MCPError):
            await session.call_tool("slow", {"path": "a"}, 1.0)
    assert effects() == ["slow a"]
    assert outcome(reviewer).state == "claimed"  # and `unknown` when the time for the report is over


async def test_a_bare_request_is_no_way_around(reviewer, effects):
    async with guarded() as session:
        request = CallToolRequest(params=CallToolRequestParams(name="delete", arguments={"path": "a"}))
        with pytest.raises(placet.Refused, match="call_tool"):
            await session.send_request(request, CallToolResult)
        assert [tool.name for tool in (await session.list_tools()).tools][:2] == ["delete", "read"]
    assert effects() == []


async def test_a_cancelled_caller_withdraws_the_request(reviewer, effects):
    async with guarded() as session:
        call = asyncio.create_task(session.call_tool("delete", {"path": "a"}))
        await reviewer.anext()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert outcome(reviewer).state == "cancelled"
    assert effects() == []


async def test_the_newer_client_and_the_session_it_shows_are_held_too(reviewer, effects):
    parameters = StdioServerParameters(command=sys.executable, args=[SERVER], env={**os.environ})
    async with placet.AsyncClient() as client, MCPClient(stdio_client(parameters)) as inner:
        session = guard(inner, client)
        with reviewer.always("deny", reason="no"):
            assert (await session.call_tool("delete", {"path": "a"})).is_error
            assert (await session.session.call_tool("delete", {"path": "b"})).is_error
        with reviewer.always():
            assert not (await session.call_tool("delete", {"path": "c"})).is_error
    assert effects() == ["delete c False"]


async def test_a_fastmcp_client_is_held_too(reviewer, effects):
    transport = StdioTransport(sys.executable, [SERVER], env={**os.environ})
    async with placet.AsyncClient() as client, FastClient(transport) as inner:
        session = guard(inner, client)
        with reviewer.always("edit", arguments={"path": "b"}):
            result = await session.call_tool("delete", {"path": "a"})
            assert result.structured_content == {"deleted": "b"}
        with reviewer.always("deny", reason="keep it"):
            with pytest.raises(ToolError, match="keep it"):
                await session.call_tool("delete", {"path": "c"})
            refused = await session.call_tool("delete", {"path": "d"}, raise_on_error=False)
            assert refused.structured_content["reason"] == "keep it"
            assert (await session.call_tool_mcp("delete", {"path": "e"})).is_error
    assert effects() == ["delete b False"]


async def test_the_lines_to_paste_hold_a_call(server, reviewer, effects):
    first, options = blocks("mcp-clients.md")
    parameters = StdioServerParameters(command=sys.executable, args=[SERVER], env={**os.environ})
    async with stdio_client(parameters) as (read, write):
        with reviewer.always("deny", reason="no"):
            pasted = await paste(first, read=read, write=write)
    assert pasted["result"].is_error
    assert effects() == []
    assert outcome(reviewer).state == "denied"
    await paste(options, **pasted)


@pytest.mark.parametrize("tools", [["delte"], {"delete": True, "delte": {"risk": "high"}}])
async def test_a_misspelt_name_stops_the_first_call(server, effects, tools):
    async with guarded(tools=tools) as session:
        with pytest.raises(placet.ConfigError, match="did you mean `delete`"):
            await session.call_tool("read", {"path": "a"})
    assert effects() == []


async def test_other_ways_to_call_a_tool_are_closed(server):
    async with guarded() as session:
        for name in ("experimental", "call_tool_as_task"):
            with pytest.raises(placet.Refused):
                getattr(session, name)


async def test_coverage_says_which_tools_ask(server):
    async with guarded(tools=["delete"]) as session:
        assert [one.kind for one in placet.coverage(session).parts] == ["toolset"]
        await session.call_tool("read", {"path": "a"})
        found = {one.name: one.status for one in placet.coverage(session).parts}
    assert (found["delete"], found["wipe"], found["read"]) == ("gated", "gated", "unasked")
