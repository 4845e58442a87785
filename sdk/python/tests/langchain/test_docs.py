"""The lines of docs/sdk/langchain.md run as they are printed, one after the other."""

from __future__ import annotations

import asyncio

from langchain_core.tools import tool
from langgraph.types import Command
from models import Scripted, calls, results

from placet.adapters.langgraph import InterruptBridge
from support import Effects
from support.docs import blocks, paste, paste_blocking, snippet


def test_the_lines_of_the_page_run(server, reviewer, capsys):
    ran = Effects()

    @tool
    def refund(customer: str, amount: int) -> str:
        """Pays back."""
        ran(customer)
        return "paid"

    @tool
    def look_up(customer: str) -> str:
        """Looks up."""
        return customer

    # Two calls at once: what resumes one pause must resume two.
    turn = calls(("refund", {"customer": "carol", "amount": 30}), ("refund", {"customer": "dave", "amount": 40}))
    names = {"model": Scripted(turns=[turn]), "refund": refund, "look_up": look_up}
    first, options, node, pausing, resuming, bridge = blocks("langchain.md")
    served: list[str] = []

    async def serve():
        served.append("it")

    with reviewer.always():
        names = paste_blocking(first, **names)
        assert sorted(ran.happened) == ["carol", "dave"]
        names = paste_blocking(options, **names)
        names = paste_blocking(node, **names)
        names = paste_blocking(pausing, **names)
        assert [one.content for one in results(names["answer"])] == ["paid", "paid"]
        assert f"refund waits for a person: {server.url}/r/req_" in capsys.readouterr().out
        asyncio.run(paste(resuming, **names, serve=serve))
        assert served == ["it"]
        names = paste_blocking(bridge, **names)
    assert isinstance(names["InterruptBridge"](), InterruptBridge)
    assert issubclass(names["Command"], Command)
    assert ran.count == 6


def test_the_lines_that_the_dashboard_hands_out_hold_the_calls_of_an_agent(server, reviewer):
    ran = Effects()

    @tool
    def refund(customer: str) -> str:
        """Pays back."""
        ran(customer)
        return "paid"

    turn = calls(("refund", {"customer": "carol"}))
    names = paste_blocking(snippet("langchain"), model=Scripted(turns=[turn]), tools=[refund])
    with reviewer.always():
        names["agent"].invoke({"messages": [{"role": "user", "content": "carol wants her money back"}]})
    assert ran.happened == ["carol"]
    assert [one.tool for one in reviewer.seen] == ["refund"]
