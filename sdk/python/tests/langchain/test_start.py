"""LangChain: misspelt names, and tools of the model's provider, stop an agent before anything runs."""

from __future__ import annotations

import json

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from models import Scripted, calls
from pydantic import Field

import placet
from placet.adapters.langchain import InterruptBridge, PlacetMiddleware
from support import Effects

ASK = {"messages": [{"role": "user", "content": "go"}]}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}


@pytest.fixture
def ran():
    return Effects()


@pytest.fixture
def refund(ran):
    @tool
    def refund(to: str) -> str:
        """Pays back."""
        ran(to)
        return "paid"

    return refund


@tool
def look(at: str) -> str:
    """Looks."""
    return at


def one_call() -> Scripted:
    return Scripted(turns=[calls(("refund", {"to": "bob"}))])


@pytest.mark.parametrize("tools", [["refnd"], {"refund": True, "lok": {"risk": "low"}}, {"refund": True, "lok": False}])
def test_a_misspelt_name_stops_the_first_call(server, refund, ran, tools):
    agent = create_agent(one_call(), tools=[refund, look], middleware=[PlacetMiddleware(tools=tools)])
    with pytest.raises(placet.ConfigError, match=r"did you mean `(refund|look)`"):
        agent.invoke(ASK)
    assert ran.count == 0


async def test_a_misspelt_name_stops_the_first_call_of_an_async_run(server, refund, ran):
    agent = create_agent(one_call(), tools=[refund], middleware=[PlacetMiddleware(tools=["refnd"])])
    with pytest.raises(placet.ConfigError, match="`refnd`"):
        await agent.ainvoke(ASK)
    assert ran.count == 0


def test_a_tool_that_another_middleware_hides_is_no_misspelt_name(server, refund, ran):
    @wrap_model_call
    def only_refund(request, handler):
        return handler(request.override(tools=[one for one in request.tools if one.name == "refund"]))

    gate = PlacetMiddleware(tools=["look"])
    create_agent(one_call(), tools=[refund, look], middleware=[only_refund, gate]).invoke(ASK)
    assert ran.count == 1


def test_a_tool_node_checks_the_names_when_it_is_made(server, refund):
    with pytest.raises(placet.ConfigError, match="did you mean `refund`"):
        PlacetMiddleware(tools=["refnd"]).tool_node([refund])


@pytest.mark.parametrize("options", [
    {"mode": "blok"}, {"risk": "hihg"}, {"tols": ["refund"]}, {"uncovered": "alow"}, {"allowed": ["aprove", "deny"]},
    {"tools": {"refund": {"rsk": "high"}}}, {"tools": {"refund": {"risk": "hihg"}}}, {"tools": "refund"},
])  # fmt: skip
def test_unknown_words_and_options_are_errors(options):
    with pytest.raises(placet.ConfigError):
        PlacetMiddleware(**options)


def test_unknown_words_and_options_of_the_bridge_are_errors():
    with pytest.raises(placet.ConfigError):
        InterruptBridge(risk="hihg")
    with pytest.raises(TypeError):
        InterruptBridge(expire_in=1)


def with_settings(**settings):
    @wrap_model_call
    def change(request, handler):
        return handler(request.override(model_settings=settings))

    return change


class Bound(Scripted):
    model_kwargs: dict = Field(default_factory=dict)


@pytest.mark.parametrize(("name", "made"), [
    ("web_search_20250305", lambda gate: create_agent(one_call(), tools=[look, SEARCH], middleware=[gate])),
    ("google_search", lambda gate: create_agent(one_call(), tools=[{"google_search": {}}], middleware=[gate])),
    ("mcp_servers", lambda gate: create_agent(one_call(), middleware=[with_settings(mcp_servers=[{}]), gate])),
    ("code_interpreter", lambda gate: create_agent(
        Bound(turns=[], model_kwargs={"tools": [{"type": "code_interpreter"}]}), middleware=[gate])),
])  # fmt: skip
def test_a_tool_of_the_provider_stops_the_agent_before_the_model_is_called(server, name, made):
    with pytest.raises(placet.ConfigError, match=f"`{name}`.*uncovered"):
        made(PlacetMiddleware()).invoke(ASK)
    made(PlacetMiddleware(uncovered="allow", tools=[])).invoke(ASK)
    made(PlacetMiddleware(uncovered=[name], tools=[])).invoke(ASK)


async def test_a_tool_of_the_provider_stops_an_async_run_too(server):
    llm = one_call()
    with pytest.raises(placet.ConfigError, match="`web_search_20250305`"):
        await create_agent(llm, tools=[SEARCH], middleware=[PlacetMiddleware()]).ainvoke(ASK)
    assert llm.seen == []


def test_a_function_that_is_described_by_a_dict_is_no_tool_of_the_provider(server):
    described = {"type": "function", "function": {"name": "later", "parameters": {}}}
    create_agent(Scripted(turns=[]), tools=[described], middleware=[PlacetMiddleware()]).invoke(ASK)


def test_coverage_says_what_is_gated_what_is_not_and_why(refund):
    agent = create_agent(one_call(), tools=[refund, look, SEARCH], middleware=[PlacetMiddleware(tools=["refund"])])
    found = placet.coverage(agent)
    assert [one.name for one in found.gated] == ["refund"]
    assert [one.name for one in found.unasked] == ["look"]
    assert [one.name for one in found.uncovered] == ["web_search_20250305"]
    assert json.loads(json.dumps(found.as_dict()))["complete"] is False
    assert "NOT COVERED:\n    web_search_20250305" in str(found)


def test_coverage_finds_a_tool_node_outside_of_the_middleware(refund):
    def graph(node):
        built = StateGraph(MessagesState)
        built.add_node("tools", node)
        built.add_node("agent", create_agent(one_call(), tools=[look]))
        built.add_edge(START, "tools")
        built.add_edge("tools", "agent")
        return built.compile()

    assert [one.name for one in placet.coverage(graph(ToolNode([refund]))).uncovered] == ["refund", "look"]
    found = placet.coverage(graph(PlacetMiddleware().tool_node([refund])))
    assert ([one.name for one in found.gated], [one.agent for one in found.uncovered]) == (
        ["refund"],
        ["LangGraph/agent"],
    )


def test_an_agent_tells_the_server_what_of_it_is_seen(refund, server):
    middleware = PlacetMiddleware(tools=["refund"], uncovered="allow", session="s1", hold_for=0.0)
    create_agent(one_call(), [refund, look, SEARCH], middleware=[middleware]).invoke(ASK)
    with server.http(server.ann) as http:
        [bot] = http.get("/v1/agents").json()["items"]
    assert bot["covered"] == "partial"
    [found] = bot["coverage"]
    assert {(one["name"], one["status"]) for one in found["parts"]} == {
        ("refund", "gated"),
        ("look", "unasked"),
        ("web_search_20250305", "uncovered"),
    }
