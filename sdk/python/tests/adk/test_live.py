"""google-adk, live runs: ADK cannot confirm anything there, so the call waits in place, whatever the mode."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_response import LlmResponse
from google.genai import types

import placet
from adk.scripted import Scripted, agent, call, results, runner, text
from placet.adapters.adk import PlacetPlugin
from support import Effects, eventually


class Connection(BaseLlmConnection):
    """Calls the tool when the user speaks, and says `done` when it hears the result."""

    def __init__(self):
        self.heard: asyncio.Queue = asyncio.Queue()

    async def send_history(self, history):
        pass

    async def send_content(self, content):
        await self.heard.put(content)

    async def send_realtime(self, blob):
        pass

    async def receive(self):
        content = await self.heard.get()
        result = any(part.function_response for part in content.parts)
        part = text("done") if result else call("wire", to="bob")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))
        yield LlmResponse(turn_complete=True)

    async def close(self):
        pass


class Live(Scripted):
    @contextlib.asynccontextmanager
    async def connect(self, llm_request):
        yield Connection()


@pytest.mark.topology("streaming")
@pytest.mark.parametrize("mode", ["block", "pause"])
@pytest.mark.parametrize("yes", [True, False])
async def test_a_live_run_waits_in_place(server, reviewer, mode, yes, counted):
    wired = Effects()

    def wire(to: str) -> dict:
        """Sends money."""
        wired(to)
        return {"sent": True}

    runs = runner(agent(Live(heard=[]), [wire]), [PlacetPlugin(placet.AsyncClient(), mode=mode)])
    await runs.session_service.create_session(app_name="shop", user_id="u1", session_id="s1")
    queue = LiveRequestQueue()
    queue.send_content(types.Content(role="user", parts=[text("go")]))
    events = []

    async def speak():
        async for event in runs.run_live(user_id="u1", session_id="s1", live_request_queue=queue):
            events.append(event)
            if event.content and any(part.text == "done" for part in event.content.parts):
                queue.close()
                return

    await asyncio.wait_for(
        asyncio.gather(speak(), reviewer.aapprove("wire") if yes else reviewer.adeny("no", "wire")), 60
    )
    assert wired.count == (1 if yes else 0)
    assert results(events, "wire")[0].get("status", "ran") == ("ran" if yes else "denied")
    counted(wired, by="to")


class Streaming(Connection):
    """Says `done` when it hears the last thing of the stream."""

    async def receive(self):
        content = await self.heard.get()
        heard = [part.function_response.response for part in content.parts if part.function_response]
        if not heard:
            yield LlmResponse(content=types.Content(role="model", parts=[call("watch", to="bob")]))
            yield LlmResponse(turn_complete=True)
        elif any("last" in str(one) or "denied" in str(one) for one in heard):
            yield LlmResponse(content=types.Content(role="model", parts=[text("done")]))
            yield LlmResponse(turn_complete=True)


class LiveStreaming(Scripted):
    @contextlib.asynccontextmanager
    async def connect(self, llm_request):
        yield Streaming()


@pytest.mark.parametrize("yes", [True, False])
async def test_a_streaming_tool_runs_once_approved_and_is_reported_at_its_end(server, reviewer, yes):
    watched = Effects()

    async def watch(to: str):
        """Watches."""
        watched(to)
        yield "first"
        yield "last"

    runs = runner(agent(LiveStreaming(heard=[]), [watch]), [PlacetPlugin(tools={"watch"})])
    await runs.session_service.create_session(app_name="shop", user_id="u1", session_id="s1")
    queue = LiveRequestQueue()
    queue.send_content(types.Content(role="user", parts=[text("go")]))

    async def speak():
        async for event in runs.run_live(user_id="u1", session_id="s1", live_request_queue=queue):
            if event.content and any(part.text == "done" for part in event.content.parts):
                queue.close()
                return

    deciding = reviewer.aapprove("watch") if yes else reviewer.adeny("no", "watch")
    await asyncio.wait_for(asyncio.gather(speak(), deciding), 60)
    assert watched.count == (1 if yes else 0)
    if yes:
        await asyncio.to_thread(eventually, lambda: reviewer.client.get(reviewer.seen[0].id).state == "succeeded")
