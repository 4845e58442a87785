"""The lines of docs/sdk/pydantic-ai.md run as they are printed, one after the other."""

from __future__ import annotations

from models import calls, scripted

from pydantic_ai import Agent, DeferredToolRequests, Tool
from support import Effects
from support.docs import blocks, paste

OUTPUT = [str, DeferredToolRequests]


def model(number: int):
    """One call, with an id that no other block has."""
    turn = calls(("refund", {"customer": "carol"}))
    turn.parts[0].tool_call_id = f"call_{number}"
    return scripted(turn)


async def test_the_lines_of_the_page_run(server, reviewer, tmp_path, monkeypatch):
    ran = Effects()

    def refund(customer: str) -> str:
        ran(customer)
        return "paid"

    def look_up(customer: str) -> str:
        return customer

    names = {"refund": refund, "look_up": look_up}
    monkeypatch.chdir(tmp_path)
    *through, resuming = blocks("pydantic-ai.md")
    with reviewer.always():
        for number, block in enumerate(through, 1):
            if number == 3:
                names["agent"] = Agent(model(3), tools=[Tool(refund, requires_approval=True)], output_type=OUTPUT)
            names = await paste(block, **names, **({} if number == 3 else {"model": model(number)}))
            names.pop("model", None)
            assert ran.happened == ["carol"] * number
    assert number == 3
    names["agent"] = Agent(model(4), tools=[Tool(refund, requires_approval=True)], output_type=OUTPUT)
    await paste(resuming, **names, answer=lambda key, result: None)
    assert len(list((tmp_path / "runs").iterdir())) > 0
