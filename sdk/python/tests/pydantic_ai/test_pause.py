"""Runs that end with deferred calls: the framework's own `requires_approval`, and gated toolsets, across processes."""

from __future__ import annotations

import json

import paused
import pytest
from models import calls, prompts, returned, scripted

import placet
from placet.adapters.pydantic_ai import DeferredBridge, PlacetCapability
from pydantic_ai import Agent, DeferredToolRequests, Tool
from support import Effects, Server
from support.pauses import Bridged, Stored


@pytest.fixture
def ran():
    return Effects()


def deleting(ran):
    def delete(file: str) -> str:
        """Deletes."""
        ran(file)
        return "gone"

    return delete


@pytest.fixture
def delete(ran):
    return deleting(ran)


def agent(tool, files="a", **more) -> Agent:
    turn = calls(*[("delete", {"file": file}) for file in files])
    return Agent(scripted(turn), tools=[tool], output_type=[str, DeferredToolRequests], name="cleaner", **more)


async def test_the_note_about_an_edit_stands_before_the_callers_own_prompt(server, reviewer, ran, delete):
    native = agent(Tool(delete, requires_approval=True), "b")
    first = await native.run("clean")
    with reviewer.always(each):
        async with DeferredBridge("s1").settled(first.output) as results:
            assert results.prompt(None) == results.note
            assert results.prompt(["go on"]) == [results.note, "go on"]
            said = results.prompt("go on")
            result = await native.run(said, message_history=first.all_messages(), deferred_tool_results=results)
    assert ran.happened == ["B"]
    assert prompts(result)[-1] == f"{results.note}\n\ngo on"


async def test_without_an_edit_the_model_is_told_nothing_more(server, reviewer, ran, delete):
    with reviewer.always():
        result = await DeferredBridge("s1").run(agent(Tool(delete, requires_approval=True)), "clean")
    assert prompts(result) == ["clean"]


def each(record):
    return {
        "a": ("approve", {}),
        "b": ("edit", {"arguments": {"file": "B"}}),
        "c": ("deny", {"reason": "needed"}),
    }[record.arguments["file"]]


@pytest.mark.topology("parallel")
async def test_native_approvals_are_decided_by_placet(server, reviewer, ran, delete, counted):
    with reviewer.always(each):
        result = await DeferredBridge("s1").run(agent(Tool(delete, requires_approval=True), "abc"), "clean")
    assert sorted(ran.happened) == ["B", "a"]
    assert result.output == "done"
    assert "needed" in returned(result)[2]
    [note] = [one for one in prompts(result) if "call_2" in one]
    assert note.startswith("delete, call_2. Placet: a reviewer edited this call")
    assert note.endswith('{"file": "B"}')
    assert sorted(reviewer.client.get(one.id).state for one in reviewer.seen) == ["denied", "succeeded", "succeeded"]
    counted(ran, by="file")


@pytest.mark.topology("parallel")
async def test_gated_toolsets_pause_and_take_edits(server, reviewer, ran, delete, counted):
    gated = agent(delete, "abc", capabilities=[PlacetCapability(mode="pause")])
    first = await gated.run("clean")
    assert (len(first.output.approvals), ran.count) == (3, 0)
    assert len(reviewer.pending()) == 3
    with reviewer.always(each):
        again = agent(delete, "abc", capabilities=[PlacetCapability(mode="pause")])
        result = await DeferredBridge("s1").run(again, message_history=first.all_messages(), requests=first.output)
    assert sorted(ran.happened) == ["B", "a"]
    assert "needed" in json.dumps(returned(result))
    assert len(reviewer.client.list()) == 3
    assert sorted(reviewer.client.get(one.id).state for one in reviewer.seen) == ["denied", "succeeded", "succeeded"]
    counted(ran, by="file")


async def test_a_gated_toolset_that_cannot_ask_runs_nothing(server, ran, delete):
    server.kill()
    gate = PlacetCapability(placet.AsyncClient(outage_budget=0.3), mode="pause")
    result = await agent(delete, capabilities=[gate]).run("clean")
    assert (result.output, ran.count) == ("done", 0)
    assert "not run" in returned(result)[0]["message"]


async def test_what_policy_allows_does_not_pause(tmp_path, monkeypatch, ran, delete):
    policy = tmp_path / "policy.toml"
    policy.write_text('version = 1\n[[rule]]\nname = "all"\neffect = "allow"\ntool = ["*"]\n')
    with Server(tmp_path / "data", policy=str(policy)) as server:
        monkeypatch.setenv("PLACET_URL", server.url)
        monkeypatch.setenv("PLACET_TOKEN", server.agent)
        result = await agent(delete, capabilities=[PlacetCapability(mode="pause")]).run("clean")
    assert (result.output, ran.count) == ("done", 1)


async def test_the_request_of_another_call_does_not_approve_this_one(server, reviewer, ran, delete):
    harmless = placet.AsyncClient()
    other = await harmless.create({"kind": "action", "tool": "delete", "arguments": {"file": "tmp"}, "session": "s1"})
    native = agent(Tool(delete, requires_approval=True))
    first = await native.run("clean")
    reviewer.approve("delete")
    # What is kept between two processes says that the yes for `tmp` was for this call.
    first.output.metadata["call_1"] = {"placet": other.id}
    with reviewer.always("deny", reason="not this one"):
        result = await DeferredBridge("s1").run(native, message_history=first.all_messages(), requests=first.output)
    assert "not this one" in returned(result)[0]
    assert ran.count == 0


async def test_a_request_that_kept_metadata_names_is_no_permit_for_a_tool_without_a_gate(server, reviewer, ran, delete):
    client = placet.AsyncClient()
    other = await client.create({"kind": "action", "tool": "delete", "arguments": {"file": "a"}, "session": "s9"})
    native = agent(Tool(delete, requires_approval=True))
    first = await native.run("clean")
    reviewer.approve("delete")
    # The same tool and arguments, approved for another call.
    first.output.metadata["call_1"] = {"placet": other.id}
    with pytest.raises(placet.ConfigError, match="must know the agent"):
        async with DeferredBridge("s1").settled(first.output):
            pass
    with reviewer.always("deny", reason="not this one"):
        result = await DeferredBridge("s1").run(native, message_history=first.all_messages(), requests=first.output)
    assert "not this one" in returned(result)[0]
    assert ran.count == 0


class TestBridged(Bridged):
    bridge = DeferredBridge

    def native(self, ran, files="a"):
        return agent(Tool(deleting(ran), requires_approval=True), files)

    def told(self, result):
        return returned(result)


class TestStored(Stored):
    main = staticmethod(paused.main)

    @pytest.mark.parametrize("kind", ["native", "gated"])
    def test_a_run_stored_in_one_process_goes_on_in_another_with_the_edit(self, reviewer, processes, said, kind):
        assert processes.run(kind, "start") == 0
        seen = reviewer.edit({"file": "b"}, "delete")
        assert processes.run(kind, "go-on") == 0
        assert "gone" in said()
        assert processes.effects == ["b"]
        assert [one.id for one in reviewer.client.list()] == [seen.id]
        assert reviewer.client.get(seen.id).state == "succeeded"


@pytest.mark.parametrize("file", ["a", "b"])
async def test_a_call_id_that_was_used_before_in_the_session_runs_nothing_twice(server, reviewer, ran, delete, file):
    native = Tool(delete, requires_approval=True)
    with reviewer.always():
        await DeferredBridge("s1").run(agent(native, "a"), "clean")
        if file == "a":
            result = await DeferredBridge("s1").run(agent(native, "a"), "again")
            assert "not run again" in returned(result)[0]
        else:
            with pytest.raises(placet.Conflict, match="idempotency_key_reused"):
                await DeferredBridge("s1").run(agent(native, "b"), "again")
    assert ran.happened == ["a"]
    assert len(reviewer.client.list()) == 1
