# Appended to the community gateway's own API tests: the same tests, with a client that talks to Placet; then its decorator,
# as it is, against Placet. Each test has a server and a data folder of its own.

import asyncio
import os
import subprocess
import tempfile
import time
from contextlib import asynccontextmanager

from google.adk_community.tools.hitl import gateway


@asynccontextmanager
async def placet():
    with tempfile.TemporaryDirectory() as data:
        server = subprocess.Popen(
            [os.environ["PLACET_BIN"], "serve", "--data", data, "--listen", "127.0.0.1:0", "--dev"]
            + ["--set", "doors.open_decide=true"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            line = server.stdout.readline()
            assert line.startswith("listening on "), line
            yield line.removeprefix("listening on ").strip()
        finally:
            server.terminate()
            server.wait(timeout=20)


@pytest_asyncio.fixture
async def client():
    async with placet() as url, AsyncClient(base_url=url) as ac:
        yield ac


async def decided(client, decision):
    """Decides the one request that is pending, once it is there; says when."""
    for _ in range(500):
        pending = (await client.get("/approvals/pending")).json()
        if pending:
            answer = await client.post(
                f"/approvals/{pending[0]['id']}/decide", json={"reviewer_id": "rev-1", **decision}
            )
            assert answer.status_code == 200, answer.text
            return time.monotonic()
        await asyncio.sleep(0.01)
    raise AssertionError("nothing was asked")


def credit(client, ran):
    @gateway.hitl_tool(agent_name="credit_agent", api_base=str(client.base_url))
    async def apply_credit(account_id: str, amount: float) -> str:
        ran.append(amount)
        return "done"

    return apply_credit


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(gateway, "POLL_INTERVAL_S", 0.1)
    monkeypatch.setattr(gateway, "POLL_JITTER_S", 0.0)


@pytest.mark.asyncio
async def test_decorator_runs_once_within_its_own_poll_interval(client):
    waits = []
    for _ in range(10):
        ran = []
        call = asyncio.create_task(credit(client, ran)("a-1", 500))
        at = await decided(client, {"decision": "approved", "notes": "fine"})
        result = await call
        waits.append(time.monotonic() - at)
        assert result == {"supervisor_decision": "APPROVED", "supervisor_notes": "fine", "action_result": "done"}
        assert ran == [500]
    print(f"approve to unblock, poll interval 0.1 s: max {max(waits) * 1000:.0f} ms")
    assert max(waits) < 0.1 + 0.25, waits


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "decision",
    [
        {"decision": "rejected", "notes": "no"},
        {"decision": "escalated", "escalate_to": "boss"},
        {"decision": "approved", "payload": {"account_id": "a-1", "amount": 1}},
    ],
)
async def test_decorator_runs_nothing_but_what_was_approved(client, decision):
    ran = []
    call = asyncio.create_task(credit(client, ran)("a-1", 500))
    await decided(client, decision)
    with pytest.raises(PermissionError):
        await call
    assert ran == []
