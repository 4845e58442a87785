"""The least that every version of the SDK must do; without its own test helpers, which older ones do not have."""

from __future__ import annotations

from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from placet.adapters.openai_agents import gate_tools
from support import Effects


class OneCall(Model):
    """Calls a tool, and then says what it was told."""

    async def get_response(self, *given: Any, **named: Any) -> ModelResponse:
        items = named["input"] if "input" in named else given[1]
        told = [one["output"] for one in items if isinstance(one, dict) and one.get("type") == "function_call_output"]
        if told:
            text = ResponseOutputText(annotations=[], text=str(told[0]), type="output_text")
            says: Any = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
        else:
            says = ResponseFunctionToolCall(arguments='{"to": "ann"}', call_id="c1", name="pay", type="function_call")
        return ModelResponse(output=[says], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("decision", "ran", "told"),
    [
        (("approve", {}), ["ann"], "paid"),
        (("edit", {"arguments": {"to": "bob"}}), ["bob"], '{"to": "bob"}'),
        (("deny", {"reason": "not today"}), [], "not today"),
    ],
)
async def test_a_call_runs_as_it_was_decided_and_the_model_is_told(server, reviewer, decision, ran, told):
    effects = Effects()

    @function_tool
    def pay(to: str) -> str:
        effects(to)
        return "paid"

    agent = Agent(name="clerk", model=OneCall(), tools=gate_tools([pay]))
    with reviewer.always(lambda _: decision):
        result = await Runner.run(agent, "pay ann", run_config=RunConfig(tracing_disabled=True))
    assert effects.happened == ran
    assert told in result.final_output
