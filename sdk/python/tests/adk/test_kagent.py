"""kagent-style: names from the configuration, and approvals that serve one call with exactly these arguments."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from pydantic import BaseModel

import placet
from adk.scripted import agent, call, model, run, runner
from placet.adapters.kagent import APPROVAL_REQUIRED, make_approval_callback, tools_requiring_approval
from support import Effects

DELETE = [call("delete_pod", name="web-1")]


@pytest.fixture
def deleted():
    return Effects()


@pytest.fixture
def delete_pod(deleted):
    def delete_pod(name: str) -> dict:
        """Deletes a pod."""
        deleted(name)
        return {"deleted": name}

    return delete_pod


class HttpMcpServerConfig(BaseModel):
    tools: list[str] = []
    require_approval: list[str] | None = None


def test_the_names_come_from_every_server_of_the_configuration():
    resource = {
        "spec": {
            "declarative": {
                "tools": [
                    {"mcpServer": {"toolNames": ["get_pods", "delete_pod"], "requireApproval": ["delete_pod"]}},
                    {"mcpServer": {"toolNames": ["apply"], "requireApproval": ["apply"]}},
                    {"mcpServer": {"toolNames": ["look"]}},
                ]
            }
        }
    }
    assert tools_requiring_approval(resource) == {"delete_pod", "apply"}
    runtime = {
        "http_tools": [{"params": {"url": "x"}, "tools": ["a", "b"], "require_approval": ["b"]}],
        "sse_tools": [],
    }
    assert tools_requiring_approval(runtime) == {"b"}
    assert tools_requiring_approval({"http_tools": [HttpMcpServerConfig(tools=["c"], require_approval=["c"])]}) == {"c"}
    assert tools_requiring_approval({"http_tools": [{"tools": [], "require_approval": ["any"]}]}) == {"any"}
    assert tools_requiring_approval({}) == set()


@pytest.mark.parametrize("wrong", ["delete_pod", [1], [""], {"delete_pod": True}])
def test_a_list_that_is_none_is_refused(wrong):
    with pytest.raises(placet.ConfigError, match="requireApproval must be a list of tool names"):
        tools_requiring_approval({"requireApproval": wrong})


def test_a_misspelt_name_is_refused_because_the_tool_it_means_would_run_unasked():
    with pytest.raises(placet.ConfigError, match="`delete_pods`"):
        tools_requiring_approval({"toolNames": ["delete_pod"], "requireApproval": ["delete_pods"]})


def test_objects_are_read_too():
    @dataclass
    class Server:
        tools: list
        require_approval: list

    assert tools_requiring_approval([Server(["x"], ["x"])]) == {"x"}


async def test_the_run_waits_in_mode_block(delete_pod, deleted, server, reviewer):
    callback = make_approval_callback({"delete_pod"})
    root = agent(model(DELETE), [delete_pod], before_tool_callback=callback)
    await asyncio.gather(run(runner(root)), reviewer.aapprove("delete_pod"))
    assert deleted.happened == ["web-1"]


async def test_an_approval_serves_one_call_with_exactly_these_arguments(delete_pod, deleted, server, reviewer):
    llm = model(DELETE)
    runs = runner(
        agent(llm, [delete_pod], before_tool_callback=make_approval_callback({"delete_pod"}, mode="interrupt"))
    )
    await run(runs)
    (result,) = llm.results
    assert (result["status"], result["tool"], result["args"]) == (APPROVAL_REQUIRED, "delete_pod", {"name": "web-1"})
    assert deleted.count == 0
    await run(runs, "is it done?")  # asked again before the decision: still the same request
    assert len(reviewer.pending()) == 1

    await reviewer.aapprove("delete_pod")
    llm.say = model([call("delete_pod", name="web-2")]).say
    await run(runs, "approved; go on")
    assert deleted.count == 0  # other arguments are another call
    llm.say = model(DELETE).say
    await run(runs, "go on")
    assert deleted.happened == ["web-1"]
    await run(runs, "once more")
    assert deleted.happened == ["web-1"]  # used up
    assert sorted(one.arguments["name"] for one in reviewer.pending()) == ["web-1", "web-2"]


async def test_an_approval_of_one_session_serves_no_other(delete_pod, deleted, server, reviewer):
    runs = runner(
        agent(
            model(DELETE), [delete_pod], before_tool_callback=make_approval_callback({"delete_pod"}, mode="interrupt")
        )
    )
    await run(runs)
    await reviewer.aapprove("delete_pod")
    await run(runs, session="s2")
    assert deleted.count == 0


async def test_a_denied_call_is_asked_for_anew_when_the_model_insists(delete_pod, deleted, server, reviewer):
    llm = model(DELETE)
    runs = runner(
        agent(llm, [delete_pod], before_tool_callback=make_approval_callback({"delete_pod"}, mode="interrupt"))
    )
    await run(runs)
    await reviewer.adeny("no", "delete_pod")
    await run(runs, "try again")
    assert deleted.count == 0
    assert len(reviewer.pending()) == 1


def test_no_tools_need_no_callback(server):
    assert make_approval_callback(set()) is None


def test_a_wrong_mode_is_refused(server):
    with pytest.raises(placet.ConfigError, match="interrupt"):
        make_approval_callback({"x"}, mode="pause")
