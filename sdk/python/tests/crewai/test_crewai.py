"""Real crews; only the model is scripted. CrewAI fails open: these tests are about that as much as about approvals."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from crewai.hooks import (
    clear_all_tool_call_hooks,
    register_before_tool_call_hook,
)
from crewai.llms.base_llm import BaseLLM
from crewai.tools import BaseTool, tool
from pydantic import ConfigDict

import placet
from crewai import Agent, Crew, Task
from placet.adapters.crewai import Gate
from support import Effects
from support.docs import blocks, paste_blocking

ENDING = "Thought: done\nFinal Answer: That is all."


class Scripted(BaseLLM):
    """A model that asks for the calls of one turn after another, natively or by text, and then ends."""

    model_config = ConfigDict(extra="allow")

    def __init__(self, *turns: list[tuple[str, dict[str, Any]]], native: bool = True):
        super().__init__(model="scripted")
        self.turns, self.native, self.seen = list(turns), native, ""

    def supports_function_calling(self) -> bool:
        return self.native

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        self.seen = json.dumps(messages, default=str)
        if not self.turns:
            return ENDING
        turn = self.turns.pop(0)
        if not self.native:
            [(name, arguments)] = turn
            return f"Thought: go\nAction: {name}\nAction Input: {json.dumps(arguments)}"
        return [
            {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for place, (name, arguments) in enumerate(turn)
        ]


@pytest.fixture(autouse=True)
def no_hooks_are_left():
    yield
    clear_all_tool_call_hooks()


@pytest.fixture
def effects():
    return Effects()


@pytest.fixture
def delete(effects):
    @tool("delete")
    def delete(path: str, force: bool = False) -> str:
        """Deletes a file."""
        effects("delete", path, force)
        if path == "fire":
            raise RuntimeError("the disk is on fire")
        return f"{path} is gone"

    return delete


@pytest.fixture
def client(server):
    with placet.Client(outage_budget=1.0) as agent:
        yield agent


@pytest.fixture(params=[True, False], ids=["native", "text"])
def native(request):
    """Whether the model calls tools by its API or by text: CrewAI has a way of its own for each."""
    return request.param


def crew_with(tools, *turns, native=True, **more):
    model = Scripted(*turns, native=native)
    agent = Agent(role="cleaner", goal="g", backstory="b", llm=model, tools=tools)
    return Crew(agents=[agent], tasks=[Task(description="d", expected_output="e", agent=agent)], **more), model


def outcome(reviewer):
    [record] = reviewer.client.list()
    return record


def test_an_approved_call_runs_once_and_is_reported(client, reviewer, delete, effects, native):
    crew, model = crew_with([delete], [("delete", {"path": "a"})], native=native)
    with Gate(client, expires_in="60s").install(), ThreadPoolExecutor() as pool:
        run = pool.submit(crew.kickoff)
        request = reviewer.next()
        assert (request.tool, request.arguments) == ("delete", {"path": "a"})
        assert request.context == {"framework": "crewai", "agent": "cleaner"}
        assert effects.count == 0
        reviewer.decide(request, "approve")
        run.result(60)
    assert effects.happened == [("delete", "a", False)]
    assert "a is gone" in model.seen
    assert outcome(reviewer).state == "succeeded"
    assert outcome(reviewer).outcome["result_digest"].startswith("sha256:")


def test_a_denied_call_never_runs_and_the_model_hears_why(client, reviewer, delete, effects, native):
    crew, model = crew_with([delete], [("delete", {"path": "a"})], native=native)
    with Gate(client), reviewer.always("deny", reason="keep it"):
        crew.kickoff()
    assert effects.count == 0
    assert "keep it" in model.seen


def test_an_edited_call_runs_as_edited_and_the_model_is_told(client, reviewer, delete, effects, native):
    crew, model = crew_with([delete], [("delete", {"path": "a", "force": True})], native=native)
    with Gate(client), reviewer.always("edit", arguments={"path": "b"}):
        crew.kickoff()
    assert effects.happened == [("delete", "b", False)], "an edit replaces the arguments, it is not merged"
    assert "a reviewer edited this call" in model.seen
    assert outcome(reviewer).state == "succeeded"


def test_an_edit_with_a_name_that_the_tool_does_not_have_is_refused(client, reviewer, delete, effects):
    crew, _ = crew_with([delete], [("delete", {"path": "a"})])
    with Gate(client, expires_in="60s"), ThreadPoolExecutor() as pool:
        run = pool.submit(crew.kickoff)
        request = reviewer.next()
        with pytest.raises(placet.Invalid):
            reviewer.decide(request, "edit", arguments={"path": "b", "dry_run": True})
        reviewer.decide(request, "deny", reason="no")
        run.result(60)
    assert effects.count == 0


def test_a_call_without_arguments_cannot_be_edited(client, reviewer, effects, native):
    @tool("wipe")
    def wipe() -> str:
        """Deletes everything."""
        effects("wipe")
        return "empty"

    crew, _ = crew_with([wipe], [("wipe", {})], native=native)
    with Gate(client, expires_in="60s"), ThreadPoolExecutor() as pool:
        run = pool.submit(crew.kickoff)
        request = reviewer.next()
        assert request.allowed == ["approve", "deny"]
        reviewer.decide(request, "approve")
        run.result(60)
    assert effects.count == 1


def test_a_call_nobody_decides_on_never_runs(client, reviewer, delete, effects, native):
    crew, model = crew_with([delete], [("delete", {"path": "a"})], native=native)
    with Gate(client, expires_in="1s"):
        crew.kickoff()
    assert effects.count == 0
    assert "Nobody decided in time" in model.seen


def test_nothing_runs_while_placet_is_down(client, server, delete, effects, native):
    server.stop()
    crew, model = crew_with([delete], [("delete", {"path": "a"})], native=native)
    with Gate(client):
        crew.kickoff()
    assert effects.count == 0
    assert "nobody said no" in model.seen


def test_an_outage_that_should_be_raised_blocks_too(client, server, delete, effects):
    server.stop()
    crew, _ = crew_with([delete], [("delete", {"path": "a"})])
    with Gate(client, on_outage="raise"):
        crew.kickoff()
    assert effects.count == 0


def test_nothing_runs_with_a_wrong_key(server, delete, effects):
    crew, model = crew_with([delete], [("delete", {"path": "a"})])
    with placet.Client(token="plk_agent_wrong") as wrong, Gate(wrong):
        crew.kickoff()
    assert effects.count == 0
    assert "could not be put before a reviewer" in model.seen


@pytest.mark.parametrize("mistaken", ["_ask", "_decide"])
def test_a_mistake_of_ours_blocks(client, delete, effects, monkeypatch, mistaken):
    gate = Gate(client)
    monkeypatch.setattr(gate, mistaken, lambda *_: 1 / 0)
    crew, _ = crew_with([delete], [("delete", {"path": "a"})])
    with gate:
        crew.kickoff()
    assert effects.count == 0


def raises(context):
    raise RuntimeError("no connection")


async def is_async(context):
    return False


@pytest.mark.parametrize("careless", [raises, is_async])
@pytest.mark.filterwarnings("ignore:coroutine")
def test_without_our_care_the_tool_runs(delete, effects, careless, native):
    """The twin of the tests above: what CrewAI does with a hook that fails, and with one that is async and says no."""
    register_before_tool_call_hook(careless)
    crew, _ = crew_with([delete], [("delete", {"path": "a"})], native=native)
    crew.kickoff()
    assert effects.count == 1


def test_a_tool_that_fails_runs_once_for_one_approval(client, reviewer, delete, effects, native):
    crew, model = crew_with([delete], [("delete", {"path": "fire"})], native=native)
    with Gate(client), reviewer.always():
        crew.kickoff()
    assert effects.count == 1
    assert "on fire" in model.seen
    assert outcome(reviewer).state == "failed"
    assert "on fire" in outcome(reviewer).outcome["note"]


def test_without_our_care_a_tool_that_fails_runs_six_times(delete, effects):
    """The twin: with a model that calls tools by text, one call is six runs, and no hook hears of five of them."""
    heard = []
    register_before_tool_call_hook(lambda context: heard.append(context.tool_name))
    crew, _ = crew_with([delete], [("delete", {"path": "fire"})], native=False)
    crew.kickoff()
    assert (effects.count, len(heard)) == (6, 1)


def test_parallel_calls_are_decided_one_by_one(client, reviewer, delete, effects):
    words = {"a": ("approve", {}), "b": ("deny", {"reason": "no"}), "c": ("edit", {"arguments": {"path": "d"}})}
    crew, _ = crew_with([delete], [("delete", {"path": path}) for path in "abc"])
    with Gate(client, expires_in="60s"), ThreadPoolExecutor() as pool:
        run = pool.submit(crew.kickoff)
        for request in reviewer.wait_for(3):
            word, more = words[request.arguments["path"]]
            reviewer.decide(request, word, **more)
        run.result(60)
    assert sorted(effects.happened) == [("delete", "a", False), ("delete", "d", False)]
    assert sorted(one.state for one in reviewer.client.list()) == ["denied", "succeeded", "succeeded"]


def test_a_tool_that_is_a_class_is_held_and_runs_once(client, reviewer, effects, native):
    class Wipe(BaseTool):
        name: str = "wipe"
        description: str = "Deletes a disk."

        def _run(self, disk: str) -> str:
            effects("wipe", disk)
            raise RuntimeError("stuck")

    wipe = Wipe()
    for word, count in [("deny", 0), ("approve", 1), ("approve", 2)]:
        crew, _ = crew_with([wipe], [("wipe", {"disk": "a"})], native=native)
        with Gate(client), reviewer.always(word, **({"reason": "no"} if word == "deny" else {})):
            crew.kickoff()
        assert effects.count == count


def test_a_tool_that_is_async_is_held_and_reported(client, reviewer, effects, native):
    @tool("fetch")
    async def fetch(path: str) -> str:
        """Fetches something."""
        await asyncio.sleep(0)
        effects("fetch", path)
        return "here"

    crew, model = crew_with([fetch], [("fetch", {"path": "a"})], native=native)
    with Gate(client), reviewer.always():
        crew.kickoff()
    assert effects.happened == [("fetch", "a")]
    assert "here" in model.seen
    assert outcome(reviewer).state == "succeeded"


def test_a_crew_on_an_event_loop_is_held_too(client, reviewer, delete, effects, native):
    crew, _ = crew_with([delete], [("delete", {"path": "a"})], [("delete", {"path": "b"})], native=native)
    words = {"a": ("deny", {"reason": "no"}), "b": ("approve", {})}
    with Gate(client), reviewer.always(lambda request: words[request.arguments["path"]]):
        asyncio.run(crew.akickoff())
    assert effects.happened == [("delete", "b", False)]


def test_an_event_loop_goes_on_while_a_call_is_held(client, reviewer, delete, effects):
    crew, _ = crew_with([delete], [("delete", {"path": "a"})])

    async def main():
        run = asyncio.create_task(crew.akickoff())
        request = await reviewer.anext()
        reviewer.decide(request, "approve")
        await run

    with Gate(client):
        asyncio.run(main())
    assert effects.count == 1


def test_a_single_agent_is_held_too(client, reviewer, delete, effects):
    agent = Agent(role="r", goal="g", backstory="b", llm=Scripted([("delete", {"path": "a"})]), tools=[delete])
    with Gate(client), reviewer.always("deny", reason="no"):
        agent.kickoff("go")
    assert effects.count == 0
    assert outcome(reviewer).state == "denied"


def test_the_tools_of_a_coworker_are_held(client, reviewer, delete, effects):
    helper = Agent(role="helper", goal="g", backstory="b", llm=Scripted([("delete", {"path": "a"})]), tools=[delete])
    ask = ("delegate_work_to_coworker", {"task": "t", "context": "c", "coworker": "helper"})
    chief = Agent(role="chief", goal="g", backstory="b", llm=Scripted([ask]), allow_delegation=True)
    crew = Crew(agents=[chief, helper], tasks=[Task(description="d", expected_output="e", agent=chief)])
    with Gate(client, expires_in="60s"), ThreadPoolExecutor() as pool:
        run = pool.submit(crew.kickoff)
        reviewer.approve("delegate_work_to_coworker")
        request = reviewer.next("delete")
        assert request.context["agent"] == "helper"
        reviewer.decide(request, "deny", reason="no")
        run.result(60)
    assert effects.count == 0
    assert sorted(one.state for one in reviewer.client.list()) == ["denied", "succeeded"]


def test_a_later_hook_cannot_change_what_was_approved(client, reviewer, delete, effects, native):
    crew, _ = crew_with([delete], [("delete", {"path": "a"})], native=native)
    with Gate(client), reviewer.always():
        register_before_tool_call_hook(lambda context: context.tool_input.update(path="unseen"))
        crew.kickoff()
    assert effects.count == 0
    assert outcome(reviewer).state == "failed"
    assert "another hook changed the arguments" in outcome(reviewer).outcome["note"]


def test_a_later_hook_cannot_change_what_is_inside_an_argument_either(client, reviewer, effects):
    @tool("delete_all")
    def delete_all(paths: list[str]) -> str:
        """Deletes files."""
        effects(*paths)
        return "gone"

    crew, _ = crew_with([delete_all], [("delete_all", {"paths": ["a"]})])
    with Gate(client), reviewer.always():
        register_before_tool_call_hook(lambda context: context.tool_input["paths"].append("unseen"))
        crew.kickoff()
    assert effects.count == 0
    assert outcome(reviewer).state == "failed"


def test_gates_that_are_gone_leave_one_wrapper_at_most(client, reviewer, delete, effects):
    for _ in range(3):
        crew, _ = crew_with([delete], [("delete", {"path": "a"})])
        with Gate(client), reviewer.always():
            crew.kickoff()
    assert effects.count == 3
    assert not hasattr(delete.func.__wrapped__, "__wrapped__")


def test_a_call_that_a_later_hook_blocks_is_reported_as_not_run(client, reviewer, delete, effects):
    crew, _ = crew_with([delete], [("delete", {"path": "a"})])
    with Gate(client), reviewer.always():
        register_before_tool_call_hook(lambda context: False)
        crew.kickoff()
    assert effects.count == 0
    assert outcome(reviewer).state == "failed"
    assert "not run" in outcome(reviewer).outcome["note"]


def test_an_approved_call_is_not_answered_from_the_cache(client, reviewer, delete, effects):
    crew, _ = crew_with([delete], [("delete", {"path": "a"})], [("delete", {"path": "a"})], cache=True)
    with Gate(client), reviewer.always():
        crew.kickoff()
    assert effects.count == 2
    assert [one.state for one in reviewer.client.list()] == ["succeeded", "succeeded"]


def test_only_chosen_tools_are_held(client, reviewer, delete, effects):
    chosen = lambda name, arguments: arguments.get("force") is True  # noqa: E731
    crew, _ = crew_with([delete], [("delete", {"path": "a", "force": True})], [("delete", {"path": "b"})])
    with Gate(client, when=chosen), reviewer.always("deny", reason="no"):
        crew.kickoff()
    assert effects.happened == [("delete", "b", False)]
    assert len(reviewer.client.list()) == 1


def test_a_held_tool_cannot_be_called_past_the_agent_until_the_gate_is_gone(client, reviewer, delete, effects):
    crew, _ = crew_with([delete], [("delete", {"path": "a"})])
    with Gate(client), reviewer.always():
        crew.kickoff()
        with pytest.raises(placet.NotRun):
            delete.run(path="b")
    assert effects.count == 1
    assert delete.run(path="c") == "c is gone"


def test_the_session_around_the_crew_is_the_session_of_its_calls(client, reviewer, delete, effects):
    crew, _ = crew_with([delete], [("delete", {"path": "a"})])
    with Gate(client), placet.session("nightly"), reviewer.always():
        crew.kickoff()
    assert effects.count == 1
    assert outcome(reviewer).session == "nightly"


def test_an_async_client_will_do_and_so_will_none(server, reviewer, delete, effects):
    for client in (placet.AsyncClient(), None):
        crew, _ = crew_with([delete], [("delete", {"path": "a"})])
        with Gate(client), reviewer.always("deny", reason="no"):
            crew.kickoff()
    assert effects.count == 0
    assert [one.state for one in reviewer.client.list()] == ["denied", "denied"]


def test_an_option_that_does_not_exist_is_refused_at_once():
    with pytest.raises(placet.ConfigError, match="on_failure"):
        Gate(on_failure="continue")


def test_the_lines_to_paste_hold_a_call(server, reviewer, delete, effects):
    first, options = blocks("crewai.md")
    crew, _ = crew_with([delete], [("delete", {"path": "a"})])
    with reviewer.always("deny", reason="no"):
        pasted = paste_blocking(first, crew=crew)
    assert effects.count == 0
    assert outcome(reviewer).state == "denied"
    paste_blocking(options, **pasted)
