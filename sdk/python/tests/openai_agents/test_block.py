"""`gate_tool`: function tools of the OpenAI Agents SDK, waiting inside the call, against the real server."""

from __future__ import annotations

import asyncio
import json

import pytest
from agents import Agent, FunctionTool, HostedMCPTool, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from openai.types.responses.response_output_item import McpApprovalRequest

import placet
from placet.adapters.openai_agents import gate_tool, gate_tools, hosted_mcp_approval
from support import Effects


@pytest.fixture
def ran():
    return Effects()


@pytest.fixture
def delete_files(ran):
    @function_tool
    def delete_files(files: list[str]) -> str:
        """Deletes files."""
        ran(files)
        return f"{len(files)} gone"

    return delete_files


def asks(*files: str, call_id="call_1"):
    return function_call("delete_files", {"files": list(files)}, call_id=call_id)


def agent(*tools, turns=None, **more) -> Agent:
    steps = [*(turns or [[asks("a")]]), [assistant_message("done")]]
    return Agent(name="cleaner", model=ScriptedModel(steps), tools=list(tools), **more)


def outputs(result) -> list[str]:
    """What the model was told about its calls."""
    return [item.output for item in result.new_items if item.type == "tool_call_output_item"]


async def test_an_approved_call_runs_once_and_is_reported(server, reviewer, ran, delete_files):
    running = asyncio.create_task(Runner.run(agent(gate_tool(delete_files)), "clean"))
    seen = await reviewer.anext("delete_files")
    assert ran.count == 0
    assert (seen.arguments, seen.context["agent"]) == ({"files": ["a"]}, "cleaner")
    reviewer.decide(seen, "approve")
    result = await running
    assert outputs(result) == ["1 gone"]
    assert ran.happened == [["a"]]
    after = reviewer.client.get(seen.id)
    assert (after.state, after.outcome["result_digest"]) == ("succeeded", placet.digest.of_json("1 gone"))


def test_a_blocking_run_is_held_as_well(server, reviewer, ran, delete_files):
    with reviewer.always():
        result = Runner.run_sync(agent(gate_tool(delete_files)), "clean")
    assert outputs(result) == ["1 gone"]
    assert ran.count == 1


async def test_a_denied_call_never_runs_and_the_model_hears_why(server, reviewer, ran, delete_files):
    running = asyncio.create_task(Runner.run(agent(gate_tool(delete_files)), "clean"))
    await reviewer.adeny("the report is needed")
    (told,) = outputs(await running)
    assert json.loads(told)["reason"] == "the report is needed"
    assert ran.count == 0


async def test_an_edited_call_runs_with_the_replacement_and_the_model_is_told_so(server, reviewer, ran, delete_files):
    model = agent(gate_tool(delete_files), turns=[[asks("a", "b")]])
    running = asyncio.create_task(Runner.run(model, "clean"))
    await reviewer.aedit({"files": ["b"]})
    (told,) = outputs(await running)
    assert ran.happened == [["b"]]
    assert '{"files": ["b"]}' in told
    assert told.endswith("1 gone")


async def test_an_edit_must_fit_the_tool(server, reviewer, ran, delete_files):
    running = asyncio.create_task(Runner.run(agent(gate_tool(delete_files)), "clean"))
    seen = await reviewer.anext()
    with pytest.raises(placet.Invalid):
        reviewer.client.decide(seen.id, "edit", digest=seen.digest, version=seen.version, arguments={"files": "b"})
    reviewer.decide(seen, "deny")
    await running
    assert ran.count == 0


async def test_an_answer_stands_in_place_of_the_run(server, reviewer, ran, delete_files):
    running = asyncio.create_task(Runner.run(agent(gate_tool(delete_files)), "clean"))
    await reviewer.arespond("it is gone already")
    assert outputs(await running) == ["it is gone already"]
    assert ran.count == 0


async def test_a_call_that_nobody_decides_expires_and_never_runs(server, ran, delete_files):
    (told,) = outputs(await Runner.run(agent(gate_tool(delete_files, expires_in="1s")), "clean"))
    assert json.loads(told)["status"] == "expired"
    assert ran.count == 0


async def test_without_a_server_nothing_runs(server, ran, delete_files):
    server.kill()
    client = placet.AsyncClient(outage_budget=0.3)
    (told,) = outputs(await Runner.run(agent(gate_tool(delete_files, client)), "clean"))
    assert json.loads(told)["status"] == "unreachable"
    assert ran.count == 0


async def test_a_wrong_key_is_a_refusal_and_not_a_pass(server, ran, delete_files):
    client = placet.AsyncClient(token="plk_agent_wrong", outage_budget=0.3)
    (told,) = outputs(await Runner.run(agent(gate_tool(delete_files, client)), "clean"))
    assert "not run" in json.loads(told)["message"]
    assert ran.count == 0


async def test_arguments_that_are_not_json_are_refused_and_not_guessed(server, reviewer, ran, delete_files):
    for broken in ('{"files": ["a"], "files": ["b"]}', "[]", '{"files": NaN}', "{"):
        broken_call = function_call("delete_files", broken, call_id="call_1")
        (told,) = outputs(await Runner.run(agent(gate_tool(delete_files), turns=[[broken_call]]), "clean"))
        assert "not run" in json.loads(told)["message"]
    assert (ran.count, len(reviewer.client.list())) == (0, 0)


@pytest.mark.topology("parallel")
async def test_parallel_calls_are_held_at_the_same_time_and_decided_one_by_one(
    server, reviewer, ran, delete_files, counted
):
    turn = [asks(name, call_id=f"call_{name}") for name in "abc"]
    running = asyncio.create_task(Runner.run(agent(gate_tool(delete_files), turns=[turn]), "clean"))
    for record in await asyncio.to_thread(reviewer.wait_for, 3):
        reviewer.decide(record, "deny" if record.arguments["files"] == ["b"] else "approve")
    told = outputs(await running)
    assert sorted(ran.happened) == [["a"], ["c"]]
    assert sum(one == "1 gone" for one in told) == 2
    counted(ran, by="files")


async def test_a_tool_that_raises_is_reported_as_failed_and_its_own_words_reach_the_model(server, reviewer, ran):
    @function_tool(failure_error_function=lambda ctx, error: f"sorry: {error}")
    def delete_files(files: list[str]) -> str:
        """Deletes files."""
        ran(files)
        raise OSError("disk on fire")

    running = asyncio.create_task(Runner.run(agent(gate_tool(delete_files)), "clean"))
    seen = await reviewer.aapprove()
    assert outputs(await running) == ["sorry: disk on fire"]
    after = reviewer.client.get(seen.id)
    assert (after.state, ran.count) == ("failed", 1)
    assert "disk on fire" in after.outcome["note"]


async def test_a_tool_whose_errors_end_the_run_still_ends_it(server, reviewer, ran):
    @function_tool(failure_error_function=None)
    def delete_files(files: list[str]) -> str:
        """Deletes files."""
        raise OSError("disk on fire")

    running = asyncio.create_task(Runner.run(agent(gate_tool(delete_files)), "clean"))
    seen = await reviewer.aapprove()
    with pytest.raises(Exception, match="disk on fire"):
        await running
    assert reviewer.client.get(seen.id).state == "failed"


async def test_a_tools_timeout_begins_with_its_run_and_not_with_the_question(server, reviewer, ran):
    @function_tool(timeout=0.4)
    async def delete_files(files: list[str]) -> str:
        """Deletes files."""
        ran(files)
        if files == ["slow"]:
            await asyncio.sleep(30)
        return "gone"

    turn = [asks("a", call_id="call_1"), asks("slow", call_id="call_2")]
    running = asyncio.create_task(Runner.run(agent(gate_tool(delete_files), turns=[turn]), "clean"))
    records = await asyncio.to_thread(reviewer.wait_for, 2)
    await asyncio.sleep(0.6)
    for record in records:
        reviewer.decide(record, "approve")
    told = outputs(await running)
    assert told[0] == "gone"
    assert "timed out" in told[1]
    assert sorted(reviewer.client.get(one.id).state for one in records) == ["failed", "succeeded"]


async def test_a_tool_made_by_hand_is_held_with_its_edit(server, reviewer, ran):
    async def invoke(ctx, text):
        ran(json.loads(text))
        return {"ok": True}

    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    tool = gate_tool(FunctionTool(name="tally", description="", params_json_schema=schema, on_invoke_tool=invoke))
    turn = [function_call("tally", {"n": 1}, call_id="call_1")]
    running = asyncio.create_task(Runner.run(agent(tool, turns=[turn]), "tally"))
    await reviewer.aedit({"n": 2})
    assert "'ok': True" in outputs(await running)[0]
    assert ran.happened == [{"n": 2}]


@pytest.mark.topology("handoff")
async def test_an_agent_after_a_handoff_is_held(server, reviewer, ran, delete_files, counted):
    second = agent(gate_tool(delete_files))
    first = Agent(
        name="desk",
        model=ScriptedModel([[function_call("transfer_to_cleaner", {}, call_id="call_0")]]),
        handoffs=[second],
    )
    running = asyncio.create_task(Runner.run(first, "clean"))
    seen = await reviewer.aapprove("delete_files")
    await running
    assert (seen.context["agent"], ran.count) == ("cleaner", 1)
    counted(ran, by="files")


async def test_an_agent_used_as_a_tool_is_held_and_so_are_its_tools(server, reviewer, ran, delete_files):
    inner = agent(gate_tool(delete_files)).as_tool("cleaner", "Cleans.")
    outer = Agent(
        name="boss",
        model=ScriptedModel(
            [[function_call("cleaner", {"input": "clean"}, call_id="call_0")], [assistant_message("thanks")]]
        ),
        tools=[gate_tool(inner)],
    )
    running = asyncio.create_task(Runner.run(outer, "go"))
    assert (await reviewer.aapprove()).tool == "cleaner"
    assert (await reviewer.aapprove()).tool == "delete_files"
    result = await running
    assert (outputs(result), ran.count) == (["done"], 1)


async def test_a_run_with_a_group_id_finds_its_request_again(server, reviewer, ran, delete_files):
    def run():
        how = RunConfig(group_id="thread-7", tracing_disabled=True)
        return asyncio.create_task(Runner.run(agent(gate_tool(delete_files)), "clean", run_config=how))

    first = run()
    seen = await reviewer.anext()
    assert seen.session == "thread-7"
    server.kill()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    # The farewell of a cancelled caller lasts 2 s; it must not reach the server: a killed process has none.
    await asyncio.sleep(2.5)
    server.start()
    second = run()
    await asyncio.sleep(0.5)
    reviewer.decide(seen, "approve")
    await second
    assert ran.count == 1
    assert [one.id for one in reviewer.client.list()] == [seen.id]


async def test_only_the_named_tools_of_a_list_are_held(server, reviewer, ran, delete_files):
    @function_tool
    def look(path: str) -> str:
        """Looks."""
        return "something"

    tools = gate_tools([look, delete_files], only={"delete_files": {"risk": "high"}})
    turn = [function_call("look", {"path": "/"}, call_id="call_0"), asks("a")]
    running = asyncio.create_task(Runner.run(agent(*tools, turns=[turn]), "clean"))
    seen = await reviewer.aapprove()
    await running
    assert (seen.tool, seen.risk, len(reviewer.client.list())) == ("delete_files", "high", 1)


@pytest.mark.parametrize("decision", ["approve", "deny"])
async def test_calls_that_run_at_the_models_host_wait_for_a_decision(server, reviewer, decision):
    wanted = McpApprovalRequest(
        id="mcpr_1", type="mcp_approval_request", name="drop", arguments='{"table":"users"}', server_label="db"
    )
    tool = HostedMCPTool(
        tool_config={
            "type": "mcp",
            "server_label": "db",
            "server_url": "http://127.0.0.1:1",
            "require_approval": "always",
        },
        on_approval_request=hosted_mcp_approval(),
    )
    model = agent(tool, turns=[[wanted]])
    running = asyncio.create_task(Runner.run(model, "go"))
    seen = await reviewer.anext("db/drop")
    assert seen.arguments == {"table": "users"}
    reviewer.decide(seen, decision, **({"reason": "no"} if decision == "deny" else {}))
    result = await running
    (answer,) = [item.raw_item for item in result.new_items if item.type == "mcp_approval_response_item"]
    assert answer["approve"] is (decision == "approve")


@pytest.mark.parametrize(
    "wrong", [{"mode": "later"}, {"allowed": ["deny"]}, {"risky": 1}, {"mode": "pause", "hold_for": 1}]
)
def test_a_gate_that_is_set_up_wrongly_is_refused_at_once(delete_files, wrong):
    with pytest.raises(placet.ConfigError):
        gate_tool(delete_files, **wrong)


def test_a_plain_function_is_refused_with_the_fix():
    with pytest.raises(placet.ConfigError, match="function_tool"):
        gate_tool(lambda: None)


@pytest.mark.parametrize("file", ["a", "b"])
async def test_a_call_id_that_was_used_before_in_the_session_runs_nothing_twice(
    server, reviewer, ran, delete_files, file
):
    held = gate_tool(delete_files, session="s1")
    with reviewer.always():
        await Runner.run(agent(held, turns=[[asks("a")]]), "clean")
        (told,) = outputs(await Runner.run(agent(held, turns=[[asks(file)]]), "again"))
    assert ran.happened == [["a"]]
    assert ("not run again" if file == "a" else "idempotency_key_reused") in told
    assert len(reviewer.client.list()) == 1
