"""CrewAI: misspelt names, and what no hook sees, are refused when the gate is installed, and at the first call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from crewai.hooks import clear_all_tool_call_hooks
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool
from pydantic import ConfigDict

import placet
from crewai import Agent, Crew, Task
from placet.adapters.crewai import Gate
from support import Effects


class Scripted(BaseLLM):
    """A model that calls `send_money` once."""

    model_config = ConfigDict(extra="allow")

    def __init__(self, builtin_tools: Any = None):
        super().__init__(model="scripted")
        self.seen, self.called, self.builtin_tools = "", 0, builtin_tools

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        self.seen, self.called = json.dumps(messages, default=str), self.called + 1
        call = {"name": "send_money", "arguments": json.dumps({"to": "bob"})}
        return [{"id": "c1", "type": "function", "function": call}] if self.called == 1 else "Final Answer: done"


@pytest.fixture(autouse=True)
def no_hooks_are_left():
    yield
    clear_all_tool_call_hooks()


@pytest.fixture
def ran():
    return Effects()


@pytest.fixture
def send(ran):
    @tool("Send Money")
    def send(to: str) -> str:
        """Sends money."""
        ran(to)
        return "sent"

    return send


def crew(llm, *tools) -> Crew:
    clerk = Agent(role="clerk", goal="pay", backstory="none", llm=llm, tools=list(tools), max_iter=3)
    return Crew(agents=[clerk], tasks=[Task(description="pay", expected_output="paid", agent=clerk)], name="bank")


@pytest.mark.parametrize("tools", [["send_mony"], ["Send Money"], {"send_money": True, "send_mony": False}])
def test_a_misspelt_name_is_an_error_at_install_and_nothing_runs_without_it(server, send, ran, tools):
    llm = Scripted()
    bank = crew(llm, send)
    with pytest.raises(placet.ConfigError, match="did you mean `send_money`"):
        Gate(tools=tools).install(bank)
    with Gate(tools=tools):
        bank.kickoff()
    assert ran.count == 0
    assert "did you mean `send_money`" in llm.seen


@pytest.mark.parametrize("options", [
    {"risk": "hihg"}, {"on_outage": "alow"}, {"uncovered": "alow"}, {"allowed": ["aprove", "deny"]}, {"tols": ["x"]},
])  # fmt: skip
def test_unknown_words_and_options_are_errors(options):
    with pytest.raises(placet.ConfigError):
        Gate(**options)


def test_a_tool_of_the_provider_is_refused_unless_it_is_allowed(server, send, ran):
    bank = crew(Scripted(builtin_tools=["code_interpreter"]), send)
    with pytest.raises(placet.ConfigError, match=r"`code_interpreter`.*uncovered"):
        Gate().install(bank)
    with Gate():
        bank.kickoff()
    assert ran.count == 0
    with Gate(tools=[], uncovered=["code_interpreter"]):
        crew(Scripted(builtin_tools=["code_interpreter"]), send).kickoff()
    assert ran.count == 1


def test_coverage_says_what_is_gated_what_is_not_and_why(send):
    bank = crew(Scripted(), send)
    assert [(one.name, one.status) for one in placet.coverage(bank, Gate()).parts] == [("send_money", "gated")]
    found = placet.coverage(bank)
    assert [one.name for one in found.uncovered] == ["send_money"]
    assert json.loads(json.dumps(found.as_dict()))["agent"] == "bank"
