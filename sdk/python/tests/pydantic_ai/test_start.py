"""Pydantic AI: misspelt names, and tools that run elsewhere, stop an agent before its model is called."""

from __future__ import annotations

import json

import pytest
from models import calls, scripted
from pydantic_ai.capabilities import NativeTool, WebSearch
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.native_tools import CodeExecutionTool
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset, FunctionToolset

import placet
from placet.adapters.pydantic_ai import PlacetCapability, PlacetToolset
from pydantic_ai import Agent, Choice, Choices, NativeOutput, TextOutput, ToolOutput
from support import Effects


@pytest.fixture
def ran():
    return Effects()


@pytest.fixture
def wire(ran):
    def wire(to: str) -> str:
        """Sends money."""
        ran(to)
        return "sent"

    return wire


def look(at: str) -> str:
    """Looks."""
    return at


def model():
    return scripted(calls(("wire", {"to": "bob"})))


@pytest.mark.parametrize("tools", [["wir"], {"wire": True, "lok": {"risk": "low"}}, {"wire": True, "lok": False}])
async def test_a_misspelt_name_stops_the_agent_before_anything_happens(server, wire, ran, tools):
    agent = Agent(model(), tools=[wire, look], capabilities=[PlacetCapability(tools=tools)])
    with pytest.raises(placet.ConfigError, match=r"did you mean `(wire|look)`"):
        await agent.run("go")
    toolset = PlacetToolset.around(FunctionToolset([wire, look]), tools=tools)
    with pytest.raises(placet.ConfigError, match=r"did you mean `(wire|look)`"):
        await Agent(model(), toolsets=[toolset]).run("go")
    assert ran.count == 0


async def test_a_tool_that_is_hidden_for_now_is_no_misspelt_name(server, wire, ran):
    from pydantic_ai import Tool

    async def hide(ctx, definition):
        return None

    hidden = Tool(look, prepare=hide)
    agent = Agent(model(), tools=[wire, hidden], capabilities=[PlacetCapability(tools=["look"])])
    await agent.run("go")
    assert ran.count == 1


@pytest.mark.parametrize("options", [
    {"mode": "blok"}, {"risk": "hihg"}, {"tols": ["wire"]}, {"uncovered": "alow"}, {"allowed": ["aprove", "deny"]},
])  # fmt: skip
def test_unknown_words_and_options_are_errors(options):
    with pytest.raises(placet.ConfigError):
        PlacetCapability(**options)


def external():
    return ExternalToolset([ToolDefinition(name="browse", parameters_json_schema={"type": "object", "properties": {}})])


@pytest.mark.parametrize("name", ["web_search", "code_execution"])
async def test_a_tool_of_the_provider_stops_the_agent_before_the_model_is_called(server, name):
    tool = {"web_search": lambda: WebSearch(local=False), "code_execution": lambda: NativeTool(CodeExecutionTool())}[
        name
    ]

    def agent(gate):
        return Agent(TestModel(), capabilities=[tool(), gate])

    with pytest.raises(placet.ConfigError, match=f"`{name}`.*uncovered"):
        await agent(PlacetCapability()).run("go")
    assert [one.name for one in placet.coverage(agent(PlacetCapability())).uncovered] == [name]


async def test_an_external_tool_stops_the_agent_unless_it_is_allowed(server):
    from pydantic_ai import DeferredToolRequests

    def agent(gate):
        says = scripted(calls(("browse", {})))
        return Agent(says, toolsets=[external()], capabilities=[gate], output_type=[str, DeferredToolRequests])

    with pytest.raises(placet.ConfigError, match=r"`browse`.*uncovered"):
        await agent(PlacetCapability()).run("go")
    result = await agent(PlacetCapability(uncovered=["browse"])).run("go")
    assert [one.tool_name for one in result.output.calls] == ["browse"]


def pay(to: str) -> str:
    """Sends money."""
    PAID(to)
    return "sent"


PAID = Effects()
OUTPUTS = {
    "function": (pay, "final_result"),
    "list": ([pay, look], "final_result_pay"),
    "tool": (ToolOutput(pay, name="pays"), "pays"),
    "text": (TextOutput(pay), None),
}


@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize("late", [False, True], ids=["agent", "run"])
async def test_an_output_function_is_refused_unless_it_is_allowed(server, kind, late):
    spec, name = OUTPUTS[kind]
    PAID.happened.clear()
    says = scripted(ModelResponse([TextPart("bob")]) if name is None else calls((name, {"to": "bob"})))

    async def run(gate):
        given = {"output_type": spec}
        agent = Agent(says, capabilities=[gate], **({} if late else given))
        return (await agent.run("go", **(given if late else {}))).output

    with pytest.raises(placet.ConfigError, match=r"`pay`.*uncovered"):
        await run(PlacetCapability())
    assert PAID.count == 0
    assert await run(PlacetCapability(uncovered=["pay", "look"])) == "sent"


def test_coverage_says_what_is_gated_what_is_not_and_why(wire):
    agent = Agent(model(), name="clerk", tools=[wire, look], capabilities=[PlacetCapability(tools=["wire"])])
    found = placet.coverage(agent)
    assert [(one.name, one.status) for one in found.parts] == [("wire", "gated"), ("look", "unasked")]
    assert json.loads(json.dumps(found.as_dict()))["framework"] == "pydantic-ai"
    alone = placet.coverage(
        Agent(model(), tools=[look], toolsets=[external(), PlacetToolset.around(FunctionToolset([wire]))])
    )
    assert ([one.name for one in alone.gated], [one.name for one in alone.uncovered]) == (["wire"], ["look", "browse"])
    chosen = Choices({"pay": Choice("pays", value=lambda: pay("bob")), "wait": "waits"}, name="action")
    for spec, names in ((NativeOutput([pay, look]), ["pay", "look"]), ([str, chosen], ["action"]), (str, [])):
        ends = placet.coverage(Agent(model(), output_type=spec))
        assert [(one.name, one.kind) for one in ends.uncovered] == [(name, "output") for name in names]
