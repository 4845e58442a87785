"""Microsoft Agent Framework: misspelt names, and hosted tools, stop an agent before its model is called."""

from __future__ import annotations

import json

import pytest

import placet
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    MiddlewareFailure,
    tool,
)
from placet.adapters.agent_framework import PlacetMiddleware
from support import Effects

HOSTED = {"type": "code_interpreter"}


class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """A model that calls `wire` once."""

    called = 0

    def _inner_get_response(self, *, messages, stream, options, **_):
        self.called += 1
        call = Content.from_function_call(call_id="c1", name="wire", arguments=json.dumps({"to": "bob"}))
        contents = [call] if self.called == 1 else [Content.from_text("done")]

        async def answer():
            return ChatResponse(messages=[Message("assistant", contents)])

        return answer()


@pytest.fixture
def ran():
    return Effects()


@pytest.fixture
def wire(ran):
    @tool(approval_mode="never_require")
    def wire(to: str) -> str:
        """Sends money."""
        ran(to)
        return "sent"

    return wire


@pytest.mark.parametrize("tools", [["wir"], {"wir": {"risk": "high"}}, {"wire": True, "wir": False}])
async def test_a_misspelt_name_stops_the_agent_before_its_model_is_called(server, wire, ran, tools):
    model = Scripted()
    with pytest.raises(MiddlewareFailure, match="did you mean `wire`"):
        await Agent(client=model, tools=[wire], middleware=[PlacetMiddleware(tools=tools)]).run("go")
    assert (ran.count, model.called) == (0, 0)


@pytest.mark.parametrize("options", [
    {"risk": "hihg"}, {"on_outage": "alow"}, {"uncovered": "alow"}, {"allowed": ["aprove", "deny"]}, {"tols": ["wire"]},
])  # fmt: skip
def test_unknown_words_and_options_are_errors(options):
    with pytest.raises(placet.ConfigError):
        PlacetMiddleware(**options)


async def test_a_hosted_tool_stops_the_agent_unless_it_is_allowed(server, wire, ran):
    model = Scripted()
    with pytest.raises(MiddlewareFailure, match=r"`code_interpreter`.*uncovered"):
        await Agent(client=model, tools=[wire, HOSTED], middleware=[PlacetMiddleware()]).run("go")
    assert (ran.count, model.called) == (0, 0)
    gate = PlacetMiddleware(tools=[], uncovered=["code_interpreter"])
    await Agent(client=model, tools=[wire, HOSTED], middleware=[gate]).run("go")
    assert ran.count == 1


def test_coverage_says_what_is_gated_what_is_not_and_why(wire):
    found = placet.coverage(Agent(client=Scripted(), tools=[wire, HOSTED], middleware=[PlacetMiddleware()]))
    assert [(one.name, one.status) for one in found.parts] == [("wire", "gated"), ("code_interpreter", "uncovered")]
    assert json.loads(json.dumps(found.as_dict()))["complete"] is False
    assert [one.name for one in placet.coverage(Agent(client=Scripted(), tools=[wire])).uncovered] == ["wire"]
