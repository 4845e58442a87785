"""google-adk with VertexAiSessionService against a fake of its HTTP API, where its package is there."""

from __future__ import annotations

import pytest

pytest.importorskip("agentplatform", reason="needs google-cloud-aiplatform", exc_type=ImportError)

import placet
from adk.scripted import agent, call, model, run, runner
from adk.vertex import Engine
from placet.adapters import adk
from support import Effects

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def engine(monkeypatch):
    monkeypatch.setenv("GOOGLE_GENAI_USE_ENTERPRISE", "true")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    with Engine() as running:
        yield running


async def test_a_resumer_goes_on_with_sessions_of_agent_engine(server, reviewer, engine):
    """Two users; each step has a service of its own, as processes would. One answer was stored before a crash."""
    client, wired, llm = placet.AsyncClient(), Effects(), model([call("wire", to="bob")])

    def again():
        def wire(to: str) -> dict:
            """Sends money."""
            wired(to)
            return {"sent": to}

        plugin = adk.PlacetPlugin(client, mode="pause")
        return runner(agent(llm, [wire]), [plugin], resumable=True, sessions=engine.sessions())

    for number, user in enumerate(("ann", "bob")):
        await run(again(), user=user, session=f"s{number}")
    first, second = reviewer.wait_for(2)
    reviewer.decide(first, "approve")
    reviewer.decide(second, "deny", reason="too much")
    dies = again()
    append, stored = dies.session_service.append_event, []

    async def append_event(session, event):
        if stored:
            raise ConnectionError("killed")
        stored.append(event)
        return await append(session, event)

    dies.session_service.append_event = append_event
    with pytest.raises(ConnectionError):
        await adk.resume(dies, user_id="bob", session_id="s1", client=client)
    assert stored[0].get_function_responses()[0].response == {"confirmed": False}

    done = await adk.Resumer(again(), client, grace=0.0).once()
    assert sorted(str(one) for one in done.went_on) == ["shop/ann/s0", "shop/bob/s1"]
    assert wired.happened == ["bob"]
    assert sorted(one.state for one in reviewer.client.list(limit=10)) == ["denied", "succeeded"]
    done = await adk.Resumer(again(), client, grace=0.0).once()
    assert (done.went_on, done.waiting, done.failed) == ([], [], {})
