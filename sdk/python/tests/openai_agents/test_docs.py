"""The lines of docs/sdk/openai-agents.md run as they are printed, one after the other."""

from __future__ import annotations

from agents.testing import ScriptedModel, assistant_message, function_call

from support import Effects
from support.docs import blocks, paste


async def test_the_lines_of_the_page_run(server, reviewer, tmp_path, monkeypatch):
    ran = Effects()

    def refund(customer: str) -> str:
        """Pays back."""
        ran(customer)
        return "paid"

    def model(number: int) -> ScriptedModel:
        call = function_call("refund", {"customer": "carol"}, call_id=f"call_{number}")
        return ScriptedModel([[call], [assistant_message("done")], [call], [assistant_message("done")]])

    monkeypatch.chdir(tmp_path)
    gated, bridged, kept, resuming, hosted = blocks("openai-agents.md")
    with reviewer.always():
        names = await paste(gated, refund=refund, model=model(1))
        assert ran.happened == ["carol"]
        names = await paste(bridged, **{**names, "model": model(2)})
        assert ran.happened == ["carol"] * 2
        again = names["agent"].clone(model=model(3))
        await paste(kept, **{**names, "agent": again})
        assert ran.happened == ["carol"] * 3
    again = names["agent"].clone(model=model(4))
    await paste(resuming, **{**names, "agent": again, "answer": lambda key, result: None})
    assert len(list((tmp_path / "runs").iterdir())) > 0
    await paste(hosted)
