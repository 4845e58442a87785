"""Callbacks beside `before_tool`: one that answers in the tool's place runs nothing, and is not taken for a run."""

from __future__ import annotations

import pytest

from adk.scripted import agent, call, model, run, runner
from placet.adapters.adk import before_tool
from support import Effects

PAY = [call("pay", to="ann")]


@pytest.fixture
def paid():
    return Effects()


@pytest.fixture
def pay(paid):
    def pay(to: str) -> dict:
        """Pays."""
        paid(to)
        return {"paid": to}

    return pay


def answers(tool, args, tool_context):
    return {"answered": "from the cache"}


async def test_a_callback_that_answers_after_it_leaves_a_permit_that_is_never_reported_as_a_run(
    server, reviewer, paid, pay
):
    llm = model(PAY)
    with reviewer.always():
        await run(runner(agent(llm, [pay], before_tool_callback=[before_tool(), answers])))
    assert (paid.count, llm.results) == (0, [{"answered": "from the cache"}])
    [request] = reviewer.client.list()
    # Nobody tells the callback that the tool was not run: without a report the request ends `unknown`.
    assert (request.state, request.outcome) == ("claimed", None)


async def test_a_callback_that_answers_before_it_asks_nobody(server, reviewer, paid, pay):
    llm = model(PAY)
    await run(runner(agent(llm, [pay], before_tool_callback=[answers, before_tool()])))
    assert (paid.count, llm.results, reviewer.client.list()) == (0, [{"answered": "from the cache"}], [])
