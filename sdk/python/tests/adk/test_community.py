"""`hitl_tool`: the outcomes of the community's decorator, without its faults."""

from __future__ import annotations

import asyncio

import pytest
from google.adk.tools import FunctionTool

import placet
from adk.scripted import agent, call, model, run, runner
from placet.adapters.adk_community import _serialise_args, hitl_tool
from support import Effects


@pytest.fixture
def credited():
    return Effects()


@pytest.fixture
def credit(credited):
    async def apply_credit(account_id: str, amount: float) -> str:
        """Applies a credit."""
        credited(account=account_id, amount=amount)
        return f"{amount:g} to {account_id}"

    return apply_credit


CREDIT = [call("apply_credit", account_id="acc-7", amount=500.0)]


async def test_approved_has_the_shape_of_the_community(credit, credited, server, reviewer):
    llm = model(CREDIT)
    tool = FunctionTool(hitl_tool(agent_name="credit_agent")(credit))
    await asyncio.gather(run(runner(agent(llm, [tool]))), reviewer.aapprove("apply_credit"))
    assert credited.count == 1
    assert llm.results == [
        {
            "supervisor_decision": "APPROVED",
            "supervisor_notes": "No notes provided.",
            "action_result": "500 to acc-7",
        }
    ]
    record = reviewer.seen[0]
    assert (record.session, record.context["user"], record.context["agent"]) == ("s1", "u1", "root")


async def test_edited_arguments_really_run(credit, credited, server, reviewer):
    llm = model(CREDIT)
    tool = hitl_tool(agent_name="credit_agent")(credit)
    await asyncio.gather(
        run(runner(agent(llm, [tool]))), reviewer.aedit({"account_id": "acc-7", "amount": 50.0}, "apply_credit")
    )
    assert credited.happened == [{"account": "acc-7", "amount": 50.0}]
    assert llm.results[0]["action_result"] == "50 to acc-7"
    assert llm.results[0]["placet"]["edited"] is True


async def test_a_rejection_is_a_result_and_the_run_goes_on(credit, credited, server, reviewer):
    llm = model(CREDIT)
    tool = hitl_tool(agent_name="credit_agent")(credit)
    await asyncio.gather(run(runner(agent(llm, [tool]))), reviewer.adeny("too much", "apply_credit"))
    assert credited.count == 0
    (result,) = llm.results
    assert (result["supervisor_decision"], result["supervisor_notes"]) == ("REJECTED", "too much")


async def test_a_rejection_raises_when_asked_to(credit, credited, server, reviewer):
    tool = hitl_tool(agent_name="credit_agent", raise_on_denied=True)(credit)

    async def calling():
        with pytest.raises(PermissionError, match=r"rejected by a supervisor\. Notes: too much"):
            await tool("acc-7", 500.0)

    await asyncio.gather(calling(), reviewer.adeny("too much", "apply_credit"))
    assert credited.count == 0


async def test_the_timeout_is_kept_by_the_server_and_leaves_no_open_request(credit, credited, server, reviewer):
    tool = hitl_tool(agent_name="credit_agent", timeout=1, raise_on_denied=True)(credit)
    with pytest.raises(TimeoutError, match="within 1s"):
        await tool("acc-7", 500.0)
    assert credited.count == 0
    assert reviewer.pending() == []


async def test_a_sync_function_is_gated_too_and_the_session_can_be_told(server, reviewer):
    @hitl_tool("calc", server.url)
    def add(a: int, b: int) -> int:
        return a + b

    result, _ = await asyncio.gather(add(2, b=3, _session_id="chat-1"), reviewer.aapprove("add"))
    assert result["action_result"] == 5
    assert (reviewer.seen[0].session, reviewer.seen[0].context["agent"]) == ("chat-1", "calc")


async def test_with_the_server_down_nothing_runs(credit, credited, server):
    tool = hitl_tool("credit_agent", client=placet.AsyncClient(outage_budget=0.3))(credit)
    server.stop()
    result = await tool("acc-7", 500.0)
    assert credited.count == 0
    assert result["supervisor_decision"] == "UNREACHABLE"


async def test_what_is_not_json_is_refused_and_not_turned_into_text(server):
    ran = Effects()

    @hitl_tool("files")
    def delete(path: object) -> str:
        ran(path)
        return "gone"

    result = await delete(object())
    assert ran.count == 0
    assert "not JSON" in result["reason"]
    with pytest.raises(placet.NotJson):
        _serialise_args(lambda path: 0, (object(),), {})
    assert _serialise_args(lambda a, b: 0, (1,), {"b": 2}) == {"a": 1, "b": 2}
