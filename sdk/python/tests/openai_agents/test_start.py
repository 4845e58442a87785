"""OpenAI Agents SDK: misspelt names, and what no gate sees, are refused before an agent runs."""

from __future__ import annotations

import asyncio
import json

import pytest
from agents import (
    Agent,
    CodeInterpreterTool,
    Handoff,
    HostedMCPTool,
    LocalShellTool,
    Runner,
    ShellTool,
    WebSearchTool,
    function_tool,
    handoff,
)
from agents.mcp import MCPServerStdio
from agents.testing import ScriptedModel, assistant_message, function_call
from pydantic import BaseModel

import placet
from placet.adapters.openai_agents import InterruptionBridge, gate_agent, gate_tool, gate_tools, hosted_mcp_approval
from support import Effects


@pytest.fixture
def ran():
    return Effects()


@pytest.fixture
def wire(ran):
    @function_tool
    def wire(to: str) -> str:
        """Sends money."""
        ran(to)
        return "sent"

    return wire


@function_tool
def look(at: str) -> str:
    """Looks."""
    return at


def agent(*tools, name="clerk", **more) -> Agent:
    model = ScriptedModel([[function_call("wire", {"to": "bob"}, call_id="c1")], [assistant_message("done")]])
    return Agent(name=name, model=model, tools=list(tools), **more)


def hosted_mcp(approval="always", **more) -> HostedMCPTool:
    config = {"type": "mcp", "server_label": "wiki", "server_url": "http://x", "require_approval": approval}
    return HostedMCPTool(tool_config=config, **more)


@pytest.mark.parametrize("only", [["wir"], {"wir": {"risk": "high"}}, {"wire": True, "lok": False}])
def test_a_misspelt_name_is_an_error_when_the_tools_are_gated(wire, only):
    with pytest.raises(placet.ConfigError, match=r"did you mean `(wire|look)`"):
        gate_tools([wire, look], only=only)
    with pytest.raises(placet.ConfigError, match="no tool of `clerk` has that name"):
        gate_agent(agent(wire, look), only=only)


@pytest.mark.parametrize("options", [
    {"mode": "blok"}, {"risk": "hihg"}, {"rsk": "low"}, {"uncovered": "alow"}, {"allowed": ["aprove", "deny"]},
    {"uncovered": ["wier"]},
])  # fmt: skip
def test_unknown_words_and_options_are_errors(wire, options):
    with pytest.raises(placet.ConfigError):
        gate_tools([wire], **options)


def shell():
    return ShellTool(executor=lambda request: "")


OUT_OF_SIGHT = {
    "web_search": WebSearchTool,
    "code_interpreter": lambda: CodeInterpreterTool(tool_config={"type": "code_interpreter", "container": "c"}),
    "hosted_mcp": hosted_mcp,
    "local_shell": lambda: LocalShellTool(executor=lambda request: ""),
    "shell": shell,
}


@pytest.mark.parametrize("name", OUT_OF_SIGHT)
async def test_a_tool_that_no_gate_sees_is_refused_unless_it_is_allowed(server, wire, ran, name):
    tool = OUT_OF_SIGHT[name]()
    with pytest.raises(placet.ConfigError, match=f"`{name}`.*uncovered"):
        gate_tools([wire, tool])
    with pytest.raises(placet.ConfigError, match=f"`{name}`.*uncovered"):
        gate_agent(agent(wire, tool))
    with pytest.raises(placet.ConfigError, match=f"`{name}`.*uncovered"):
        await InterruptionBridge("s1").run(agent(wire, tool), "go")
    assert ran.count == 0
    assert len(gate_tools([wire, tool], uncovered="allow")) == 2
    assert len(gate_agent(agent(wire, tool), uncovered=[name]).tools) == 2


def test_an_mcp_server_is_refused(wire):
    server = MCPServerStdio({"command": "true"}, name="files")
    with pytest.raises(placet.ConfigError, match="`files`"):
        gate_agent(agent(wire, mcp_servers=[server]))


def test_a_hosted_mcp_tool_that_asks_placet_is_covered(server):
    asks = hosted_mcp_approval()
    assert gate_tools([hosted_mcp(on_approval_request=asks)])
    with pytest.raises(placet.ConfigError, match="`hosted_mcp`"):
        gate_tools([hosted_mcp("never", on_approval_request=asks)])


@pytest.mark.topology("handoff")
async def test_the_tools_of_agents_behind_a_handoff_are_held(server, reviewer, wire, ran, counted):
    below = agent(wire, name="below")
    above = Agent(
        name="above",
        model=ScriptedModel([[function_call("transfer_to_below", {}, call_id="c0")]]),
        handoffs=[below],
    )
    below.handoffs = [above]
    gated = gate_agent(above)
    assert placet.coverage(gated).complete
    await asyncio.gather(Runner.run(gated, "go"), reviewer.adeny("no", "wire"))
    assert ran.count == 0
    counted(ran, by="to")


def test_a_handoff_to_an_agent_without_gates_is_refused(wire):
    below = agent(wire, name="below")
    with pytest.raises(placet.ConfigError, match="`wire` \\(tool of above/below\\)"):
        gate_agent(Agent(name="above", handoffs=[handoff(below)]))
    covered = agent(gate_tool(wire), name="below")
    assert gate_agent(Agent(name="above", handoffs=[handoff(covered)]))


class Reason(BaseModel):
    why: str


def test_a_function_that_a_handoff_runs_is_refused_unless_it_is_named(ran):
    """The model decides that it runs, and what it gets."""
    below = Agent(name="below")

    async def its_own(context, arguments):
        ran(arguments)
        return below

    made = [
        handoff(below, on_handoff=lambda context: ran()),
        handoff(below, on_handoff=lambda context, reason: ran(reason), input_type=Reason),
        Handoff("transfer_to_below", "", {}, its_own, "below"),
    ]
    for one in made:
        above = Agent(name="above", handoffs=[one])
        with pytest.raises(placet.ConfigError, match=r"transfer_to_below.*its function runs when the model hands over"):
            gate_agent(above)
    for one in made[:2]:
        assert gate_agent(Agent(name="above", handoffs=[one]), uncovered=["transfer_to_below"])


def test_coverage_says_what_is_gated_what_is_not_and_why(wire):
    inner = agent(wire, name="inner")
    asked = inner.as_tool("helper", "helps")
    found = placet.coverage(agent(gate_tool(look), inner.as_tool("other", "helps"), WebSearchTool()))
    assert [(one.name, one.agent) for one in found.gated] == [("look", "clerk")]
    assert [(one.name, one.agent) for one in found.uncovered] == [("wire", "clerk/inner"), ("web_search", "clerk")]
    assert json.loads(json.dumps(found.as_dict()))["framework"] == "openai-agents"
    assert "NOT COVERED" in str(found)
    assert placet.coverage(agent(gate_tool(asked))).complete


def test_tools_that_were_not_chosen_are_said_to_be_unasked(wire):
    found = placet.coverage(gate_agent(agent(wire, look), only=["wire"]))
    assert ([one.name for one in found.gated], [one.name for one in found.unasked]) == (["wire"], ["look"])
