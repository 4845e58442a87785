"""An agent of google-adk, served with `to_a2a` as its documentation says."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import LlmAgent
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from support.serve import effect
from support.shop import GATED, read_file
from support.told import Told


def restart_service(name: str, tool_context: ToolContext) -> dict[str, Any]:
    """Restarts a service. It asks for its confirmation by itself, and reads what came with it."""
    confirmation = tool_context.tool_confirmation
    if confirmation is None:
        tool_context.request_confirmation(hint=f"Restart {name}?", payload={"window": "now"})
        return {"status": "waiting"}
    if not confirmation.confirmed:
        return {"status": "refused", "payload": confirmation.payload}
    return effect("restart_service", name=name)


def tools() -> list[Any]:
    gated = [FunctionTool(one, require_confirmation=True) for one in GATED]
    return [*gated, restart_service, read_file]


def agent(name: str, remote: str | None) -> LlmAgent:
    """With a sub-agent in the same process, and one that it calls over A2A. (An AgentTool cannot pause at all.)"""
    helper = LlmAgent(name="helper", description="deletes files", model=Told(who="helper"), tools=tools())
    subs: list[Any] = [helper]
    if remote:
        subs.append(RemoteA2aAgent(name="remote", agent_card=f"{remote}/.well-known/agent-card.json"))
    return LlmAgent(name=name, description="operates the shop", model=Told(who=name), tools=tools(), sub_agents=subs)


def app(name: str, url: str, remote: str | None) -> Any:
    return to_a2a(agent(name, remote), host="127.0.0.1", port=urlsplit(url).port)
