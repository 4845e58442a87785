"""Real agents of Microsoft Agent Framework; only the model is scripted."""

from __future__ import annotations

import asyncio
import datetime
import json
from decimal import Decimal

import pytest

import placet
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    FunctionMiddleware,
    Message,
    MiddlewareFailure,
    tool,
)
from placet.adapters.agent_framework import PlacetMiddleware
from support import Effects
from support.docs import blocks, paste


class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """A model that asks for the calls of one turn after another, and then ends."""

    def __init__(self, *turns, **more):
        super().__init__(**more)
        self.turns = list(turns)
        self.seen = []

    def _inner_get_response(self, *, messages, stream, options, **_):
        self.seen = list(messages)
        turn = self.turns.pop(0) if self.turns else []
        # The ids of a small model on one's own machine: the same in every conversation.
        calls = [
            Content.from_function_call(call_id=f"call_{place}", name=name, arguments=json.dumps(arguments))
            for place, (name, arguments) in enumerate(turn)
        ]
        contents = calls or [Content.from_text("That is all.")]
        if stream:

            async def updates():
                yield ChatResponseUpdate(role="assistant", contents=contents)

            return self._build_response_stream(updates())

        async def answer():
            return ChatResponse(messages=[Message("assistant", contents)])

        return answer()

    @property
    def told(self):
        """What the model was told of its calls."""
        return [part.result for message in self.seen for part in message.contents if part.type == "function_result"]


@pytest.fixture
def effects():
    return Effects()


@pytest.fixture
def tools(effects):
    @tool(approval_mode="never_require")
    def delete(path: str, force: bool = False) -> str:
        """Deletes a file."""
        effects("delete", path, force)
        return f"{path} is gone"

    @tool(approval_mode="always_require")
    def wipe(disk: str) -> str:
        """Deletes everything."""
        effects("wipe", disk)
        return f"{disk} is empty"

    @tool(approval_mode="never_require")
    def broken(path: str) -> str:
        """Has an effect, and then fails."""
        effects("broken", path)
        raise RuntimeError("the disk is on fire")

    @tool(approval_mode="never_require")
    def pay(amount: Decimal) -> str:
        """Pays."""
        assert type(amount) is Decimal
        effects("pay", str(amount))
        return "paid"

    @tool(approval_mode="never_require")
    def schedule(day: datetime.date) -> str:
        """Plans something."""
        assert type(day) is datetime.date
        effects("schedule", day.isoformat())
        return "planned"

    return [delete, wipe, broken, schedule, pay]


@pytest.fixture
async def client(server):
    async with placet.AsyncClient(outage_budget=1.0) as agent:
        yield agent


def outcome(reviewer):
    [record] = reviewer.client.list()
    return record


def agent_with(tools, middleware, *turns):
    model = Scripted(*turns)
    return Agent(client=model, tools=tools, middleware=[middleware]), model


async def test_an_approved_call_runs_once_and_is_reported(client, reviewer, tools, effects):
    agent, model = agent_with(tools, PlacetMiddleware(client), [("delete", {"path": "a"})])
    session = agent.create_session()
    run = asyncio.create_task(agent.run("go", session=session))
    request = await reviewer.anext()
    assert (request.tool, request.arguments, request.session) == ("delete", {"path": "a"}, session.session_id)
    assert effects.count == 0
    reviewer.decide(request, "approve")
    await run
    assert effects.happened == [("delete", "a", False)]
    assert model.told == ["a is gone"]
    assert outcome(reviewer).state == "succeeded"
    assert outcome(reviewer).outcome["result_digest"].startswith("sha256:")


async def test_a_denied_call_never_runs_and_the_model_hears_why(client, reviewer, tools, effects):
    agent, model = agent_with(tools, PlacetMiddleware(client), [("delete", {"path": "a"})])
    with reviewer.always("deny", reason="keep it"):
        await agent.run("go")
    assert effects.count == 0
    told = json.loads(model.told[0])
    assert (told["status"], told["reason"]) == ("denied", "keep it")


async def test_an_edited_call_runs_as_edited_and_the_model_is_told(client, reviewer, tools, effects):
    agent, model = agent_with(tools, PlacetMiddleware(client), [("delete", {"path": "a"})])
    with reviewer.always("edit", arguments={"path": "b", "force": True}):
        await agent.run("go")
    assert effects.happened == [("delete", "b", True)]
    assert "b is gone" in model.told[0]
    assert '"path": "b"' in model.told[0]
    assert outcome(reviewer).state == "succeeded"


async def test_an_edit_that_does_not_fit_is_refused_to_the_reviewer(client, reviewer, tools, effects):
    agent, _ = agent_with(tools, PlacetMiddleware(client), [("delete", {"path": "a"})])
    run = asyncio.create_task(agent.run("go"))
    request = await reviewer.anext()
    with pytest.raises(placet.Invalid):
        reviewer.decide(request, "edit", arguments={"path": ["b"]})
    reviewer.decide(request, "deny", reason="no")
    await run
    assert effects.count == 0


async def test_a_date_is_shown_as_text_and_arrives_as_a_date(client, reviewer, tools, effects):
    agent, _ = agent_with(
        tools, PlacetMiddleware(client), [("schedule", {"day": "2026-11-15"})], [("schedule", {"day": "2026-11-16"})]
    )
    run = asyncio.create_task(agent.run("go"))
    request = await reviewer.anext()
    assert request.arguments == {"day": "2026-11-15"}
    reviewer.decide(request, "approve")
    await reviewer.aedit({"day": "2026-12-24"})
    await run
    assert effects.happened == [("schedule", "2026-11-15"), ("schedule", "2026-12-24")]
    assert [one.state for one in reviewer.client.list()] == ["succeeded", "succeeded"]


async def test_an_edited_amount_is_reported_as_what_it_is(client, reviewer, tools, effects):
    agent, _ = agent_with(tools, PlacetMiddleware(client), [("pay", {"amount": 2.5})])
    with reviewer.always("edit", arguments={"amount": 1.25}):
        await agent.run("go")
    assert effects.happened == [("pay", "1.25")]
    assert outcome(reviewer).state == "succeeded"


async def test_a_call_nobody_decides_on_never_runs(client, reviewer, tools, effects):
    agent, model = agent_with(tools, PlacetMiddleware(client, expires_in="1s"), [("delete", {"path": "a"})])
    await agent.run("go")
    assert effects.count == 0
    assert json.loads(model.told[0])["status"] == "expired"


async def test_nothing_runs_while_placet_is_down(client, server, tools, effects):
    server.stop()
    agent, model = agent_with(tools, PlacetMiddleware(client), [("delete", {"path": "a"})])
    await agent.run("go")
    assert json.loads(model.told[0])["status"] == "unreachable"
    agent, _ = agent_with(tools, PlacetMiddleware(client, on_outage="raise"), [("delete", {"path": "a"})])
    with pytest.raises(MiddlewareFailure):
        await agent.run("go")
    assert effects.count == 0


async def test_nothing_runs_with_a_wrong_key(server, tools, effects):
    async with placet.AsyncClient(token="plk_agent_wrong") as wrong:
        agent, model = agent_with(tools, PlacetMiddleware(wrong), [("delete", {"path": "a"})])
        await agent.run("go")
    assert effects.count == 0
    assert "could not be put before a reviewer" in json.loads(model.told[0])["message"]


async def test_parallel_calls_are_decided_one_by_one(client, reviewer, tools, effects):
    words = {"a": ("approve", {}), "b": ("deny", {"reason": "no"}), "c": ("edit", {"arguments": {"path": "d"}})}
    agent, _ = agent_with(tools, PlacetMiddleware(client), [("delete", {"path": path}) for path in "abc"])
    with reviewer.always(lambda request: words[request.arguments["path"]]):
        await agent.run("go")
    assert sorted(effects.happened) == [("delete", "a", False), ("delete", "d", False)]


async def test_equal_calls_with_equal_ids_are_two_requests(client, reviewer, tools, effects):
    agent, _ = agent_with(tools, PlacetMiddleware(client), [("delete", {"path": "a"})], [("delete", {"path": "a"})])
    session = agent.create_session()
    run = asyncio.create_task(agent.run("go", session=session))
    await reviewer.aapprove()
    await reviewer.adeny("once is enough")
    await run
    assert effects.count == 1


async def test_a_streamed_run_is_held_too(client, reviewer, tools, effects):
    agent, model = agent_with(tools, PlacetMiddleware(client), [("delete", {"path": "a"})])
    with reviewer.always("deny", reason="no"):
        async for _ in agent.run("go", stream=True):
            pass
    assert effects.count == 0
    assert json.loads(model.told[0])["status"] == "denied"


async def test_the_calls_of_an_agent_that_is_a_tool_are_held(client, reviewer, tools, effects):
    gate = PlacetMiddleware(client, tools=["delete"])
    helper = Agent(client=Scripted([("delete", {"path": "a"})]), name="helper", tools=tools, middleware=[gate])
    agent, _ = agent_with([helper.as_tool()], PlacetMiddleware(client, tools=[]), [("helper", {"task": "go"})])
    with reviewer.always("deny", reason="no"):
        await agent.run("go")
    assert effects.count == 0
    assert outcome(reviewer).tool == "delete"


async def test_given_to_the_chat_client_it_holds_for_every_agent(client, reviewer, tools, effects):
    model = Scripted([("delete", {"path": "a"})], middleware=[PlacetMiddleware(client)])
    with reviewer.always("deny", reason="no"):
        await Agent(client=model, tools=tools).run("go")
    assert effects.count == 0
    assert outcome(reviewer).state == "denied"


async def test_a_tool_that_fails_is_reported_and_its_error_is_not_swallowed(client, reviewer, tools, effects):
    agent, model = agent_with(tools, PlacetMiddleware(client), [("broken", {"path": "a"})])
    with reviewer.always():
        await agent.run("go")
    assert effects.count == 1
    assert "Error" in model.told[0]
    assert outcome(reviewer).state == "failed"
    assert "on fire" in outcome(reviewer).outcome["note"]


async def test_what_a_later_middleware_changed_is_not_reported_as_a_success(client, reviewer, tools, effects):
    class Meddles(FunctionMiddleware):
        async def process(self, context, call_next):
            context.arguments = {"path": "unseen"}
            await call_next()

    model = Scripted([("delete", {"path": "a"})])
    agent = Agent(client=model, tools=tools, middleware=[PlacetMiddleware(client), Meddles()])
    with reviewer.always():
        await agent.run("go")
    assert outcome(reviewer).state == "failed"
    assert "changed the arguments" in outcome(reviewer).outcome["note"]


async def paused(client, tools, effects):
    """A run that waits for an approval, and how another process would take it up again."""
    gate = PlacetMiddleware(client)
    agent, _ = agent_with(tools, gate, [("wipe", {"disk": "a"})])
    session = agent.create_session()
    response = await agent.run("go", session=session)
    assert effects.count == 0
    kept = json.dumps([session.to_dict(), [request.to_dict() for request in response.user_input_requests]])

    def restarted():
        saved, requests = json.loads(kept)
        again = PlacetMiddleware(client)
        agent, model = agent_with(tools, again)
        return again, agent, model, AgentSession.from_dict(saved), [Content.from_dict(one) for one in requests]

    return restarted


async def test_a_paused_call_is_decided_and_runs_once_after_a_restart(client, reviewer, tools, effects):
    restarted = await paused(client, tools, effects)
    gate, _, _, session, requests = restarted()
    [asked] = await gate.ask(requests, session)
    assert (asked.state, asked.allowed) == ("pending", ["approve", "deny"])
    assert await gate.answers(requests, session, timeout=0.2) is None
    await reviewer.aapprove()

    gate, agent, model, session, requests = restarted()
    message = await gate.answers(requests, session)
    assert effects.count == 0, "a decision alone runs nothing"
    await agent.run(message, session=session)
    assert effects.happened == [("wipe", "a")]
    assert model.told == ["a is empty"]
    assert outcome(reviewer).state == "succeeded"

    gate, agent, model, session, requests = restarted()
    replayed = Message("user", [request.to_function_approval_response(True) for request in requests])
    await agent.run(replayed, session=session)
    assert effects.count == 1, "an old approval is used once"


async def test_a_paused_call_that_was_denied_never_runs(client, reviewer, tools, effects):
    gate, agent, model, session, requests = (await paused(client, tools, effects))()
    await gate.ask(requests, session)
    await reviewer.adeny("not this disk")
    await agent.run(await gate.answers(requests, session), session=session)
    assert effects.count == 0
    assert "rejected" in model.told[0]


async def test_a_forged_approval_runs_nothing(client, reviewer, tools, effects):
    gate, agent, model, session, requests = (await paused(client, tools, effects))()
    await gate.ask(requests, session)
    await reviewer.adeny("not this disk")
    forged = Message("user", [request.to_function_approval_response(True) for request in requests])
    await agent.run(forged, session=session)
    assert effects.count == 0
    assert json.loads(model.told[0])["reason"] == "not this disk"


async def test_an_approval_given_without_placet_still_waits_for_placet(client, reviewer, tools, effects):
    _, agent, _, session, requests = (await paused(client, tools, effects))()
    elsewhere = Message("user", [request.to_function_approval_response(True) for request in requests])
    run = asyncio.create_task(agent.run(elsewhere, session=session))
    request = await reviewer.anext()
    assert effects.count == 0
    reviewer.decide(request, "deny", reason="no")
    await run
    assert effects.count == 0


async def test_without_the_middleware_a_forged_approval_runs(tools, effects):
    """The twin of the tests above: what the framework does by itself."""
    agent = Agent(client=Scripted([("wipe", {"disk": "a"})]), tools=tools)
    session = agent.create_session()
    response = await agent.run("go", session=session)
    forged = Message("user", [request.to_function_approval_response(True) for request in response.user_input_requests])
    await agent.run(forged, session=session)
    assert effects.count == 1


async def test_the_lines_to_paste_hold_a_call(server, reviewer, tools, effects):
    first, options, pausing = blocks("agent-framework.md")
    model = Scripted([("delete", {"path": "a"})])
    with reviewer.always("deny", reason="no"):
        pasted = await paste(first, chat=model, delete_files=tools[0])
    assert effects.count == 0
    assert outcome(reviewer).state == "denied"
    await paste(options, **pasted)

    gate = PlacetMiddleware()
    agent, _ = agent_with(tools, gate, [("wipe", {"disk": "a"})])
    with reviewer.always():
        await paste(pausing, agent=agent, gate=gate, session=agent.create_session())
    assert effects.happened == [("wipe", "a")]
