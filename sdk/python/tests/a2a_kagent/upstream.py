"""An agent of kagent 0.10.4, made and served the way its runtime does it."""

from __future__ import annotations

from typing import Any

import httpx
from a2a.types import AgentCapabilities, AgentCard
from google.adk.agents import Agent
from google.adk.tools.function_tool import FunctionTool
from kagent.adk import KAgentApp
from kagent.adk._approval import make_approval_callback, strip_confirmation_parts_callback
from kagent.adk._remote_a2a_tool import KAgentRemoteA2AToolset
from kagent.adk.tools.ask_user_tool import AskUserTool

from support.shop import GATED, read_file
from support.told import Told


def agent(name: str, remote: str | None) -> Agent:
    """What `AgentConfig.to_agent` makes, with tools of this process in place of an MCP server's."""
    tools: list[Any] = [FunctionTool(one) for one in (*GATED, read_file)]
    tools.append(AskUserTool())
    if remote:
        card, client = f"{remote}/.well-known/agent-card.json", httpx.AsyncClient(timeout=30)
        told = {"name": "remote", "description": "deletes files", "agent_card_url": card, "httpx_client": client}
        tools.append(KAgentRemoteA2AToolset(**told))
    return Agent(
        name=name,
        model=Told(who=name),
        description="operates the shop",
        static_instruction="Operate the shop.",
        tools=tools,
        before_tool_callback=make_approval_callback({one.__name__ for one in GATED}),
        before_model_callback=[strip_confirmation_parts_callback],
    )


def app(name: str, url: str, remote: str | None) -> Any:
    card = AgentCard(
        name=name,
        description="operates the shop",
        url=url,
        version="1",
        capabilities=AgentCapabilities(streaming=True, push_notifications=False, state_transition_history=True),
        default_input_modes=["text"],
        default_output_modes=["text"],
        skills=[],
    )
    return KAgentApp(lambda: agent(name, remote), card, "http://127.0.0.1:9", name).build(local=True)
