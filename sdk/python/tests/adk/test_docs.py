"""The lines of the pages about google-adk run as they are printed."""

from __future__ import annotations

import asyncio

import pytest
from google.adk import agents
from google.adk.sessions import InMemorySessionService
from google.genai import types

import placet
from adk.scripted import call, model, run, runner
from placet.adapters import adk_deepagents
from support import Effects
from support.docs import blocks, paste, snippet

REFUND = [call("refund", customer="carol")]


@pytest.fixture
def ran():
    return Effects()


@pytest.fixture
def refund(ran):
    def refund(customer: str) -> dict:
        """Pays back."""
        ran(customer)
        return {"paid": customer}

    return refund


async def test_the_callback_and_the_function_of_google_adk(server, reviewer, ran, refund, monkeypatch):
    *_, one = blocks("google-adk.md")
    made: list = []

    class Seen(agents.LlmAgent):
        def model_post_init(self, context):
            super().model_post_init(context)
            made.append(self)

    monkeypatch.setattr(agents, "LlmAgent", Seen)
    await paste(one, model=model(REFUND), refund=refund)
    with reviewer.always():
        for agent in made:
            await run(runner(agent))
    assert ran.happened == ["carol", "carol"]


async def test_the_plugin_of_google_adk(server, refund):
    first, *_ = blocks("google-adk.md")
    agent = agents.LlmAgent(name="desk", model=model(REFUND), tools=[refund])
    assert (await paste(first, agent=agent))["app"].plugins


async def test_a_run_of_google_adk_that_pauses(server, reviewer, ran, refund, capsys):
    _, pausing, _ = blocks("google-adk.md")
    sessions = InMemorySessionService()
    await sessions.create_session(app_name="shop", user_id="u1", session_id="s1")
    names = {
        "agent": agents.LlmAgent(name="desk", model=model(REFUND), tools=[refund]),
        "message": types.Content(role="user", parts=[types.Part(text="carol wants her money back")]),
        "sessions": sessions,
    }
    async with placet.AsyncClient() as client:
        with reviewer.always():
            await paste(pausing, client=client, **names)
    assert "waiting for refund req_" in capsys.readouterr().out
    assert ran.happened == ["carol"]


async def test_the_decorator_of_the_community(server, reviewer):
    [one] = blocks("adk-community.md")
    names = await paste(one)
    waiting = asyncio.create_task(names["apply_credit"](account_id="acc-7", amount=5.0))
    await reviewer.aapprove("apply_credit")
    assert (await waiting)["action_result"] == {"credited": 5.0, "to": "acc-7"}


async def test_the_callback_of_kagent(server, reviewer, ran, refund):
    [one] = blocks("kagent.md")
    config = {"tools": [{"mcpServer": {"toolNames": ["refund"], "requireApproval": ["refund"]}}]}
    names = await paste(one, config=config, model=model(REFUND), tools=[refund])
    with reviewer.always():
        await run(runner(names["agent"]))
    assert ran.happened == ["carol"]


async def test_deepagents_are_installed_and_decided_about(server, reviewer, monkeypatch):
    first, decide = blocks("adk-deepagents.md")
    installed: list = []
    install = adk_deepagents.install
    monkeypatch.setattr(adk_deepagents, "install", lambda: installed.append(install()))
    await paste(first)
    [one] = installed
    one.uninstall()
    with placet.Client() as client:
        request = client.create(placet.Call("write_file", {"file_path": "/etc/a"}, "s1").body())
        await asyncio.to_thread(
            lambda: asyncio.run(paste(decide, reviewer_client=reviewer.client, request_id=request.id))
        )
        assert client.get(request.id).approved_arguments == {"file_path": "/tmp/a"}


async def test_a_resumer_beside_the_application(server, refund):
    beside, own = blocks("resuming.md")
    served = asyncio.Event()

    async def serve():
        served.set()

    await paste(beside, runner=runner(agents.LlmAgent(name="desk", model=model(), tools=[refund])), serve=serve)
    assert served.is_set()

    async def rows():
        return []

    made = await paste(own, rows=rows, resume=None)
    assert not (await made["resumer"].once()).failed


async def test_the_lines_that_the_dashboard_hands_out_put_the_plugin_into_an_app(server, refund):
    agent = agents.LlmAgent(name="desk", model=model(REFUND), tools=[refund])
    names = await paste(snippet("adk"), agent=agent)
    assert [type(each).__name__ for each in names["app"].plugins] == ["PlacetPlugin"]
