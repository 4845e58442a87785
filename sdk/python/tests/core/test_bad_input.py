"""Whatever is wrong ends in a clear exception or in a structured refusal, never in a silent run."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys

import pytest

import placet
from placet import AsyncClient, Call, Client
from support import REFUSE, Effects, Proxy, eventually
from support.server import BOUND

CREATE = ("POST", "/v1/requests")
SOON = 0.3


def delete(**more) -> Call:
    return Call("delete_files", {"files": ["a"]}, "s1", **more)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_without_a_key_is_refused_where_it_is_made(kind, monkeypatch):
    monkeypatch.delenv("PLACET_TOKEN", raising=False)
    with pytest.raises(placet.ConfigError, match="PLACET_TOKEN"):
        kind("http://127.0.0.1:4000")


@pytest.mark.parametrize("url", ["127.0.0.1:4000", "ftp://x", "http://", "http://x:y", "unix:///x", "http://[::1"])
def test_a_url_that_is_none_is_refused_where_it_is_given(url):
    with pytest.raises(placet.ConfigError, match="PLACET_URL"):
        Client(url, "plk_agent_x")


def test_the_usual_url_is_this_machine(monkeypatch):
    monkeypatch.delenv("PLACET_URL", raising=False)
    assert Client(token="x").url == "http://127.0.0.1:4000"


@pytest.mark.parametrize("token", ["a b", "a\nb", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(token):
    with pytest.raises(placet.ConfigError) as caught:
        Client(token=token)
    assert token not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [{"on_outage": "allow"}, {"on_outage": ""}, {"timeout": 0}, {"outage_budget": -1}, {"timeout": float("nan")}],
)
def test_settings_that_make_no_sense_are_refused_where_they_are_given(wrong):
    with pytest.raises(placet.ConfigError):
        Client("http://127.0.0.1:4000", "x", **wrong)


async def test_a_wrong_key_is_an_error_at_once(standing_server):
    ran = Effects()
    with Proxy(standing_server.url) as proxy:
        async with AsyncClient(proxy.url, "plk_agent_wrong") as client:
            with pytest.raises(placet.WrongKey, match="PLACET_TOKEN") as caught:
                await client.run(delete(), ran)
        assert proxy.count(*CREATE) == 1
    assert caught.value.status == 401
    assert isinstance(caught.value, placet.ConfigError)
    assert ran.count == 0


async def test_a_reviewers_key_cannot_ask(standing_server):
    async with AsyncClient(standing_server.url, standing_server.ann) as client:
        with pytest.raises(placet.WrongKey, match="forbidden"):
            await client.hold(delete())


async def test_a_key_revoked_in_the_middle_of_a_wait_is_said(server, reviewer):
    async with AsyncClient(outage_budget=5) as client:
        running = asyncio.create_task(client.hold(delete()))
        await reviewer.anext()
        with server.http(server.admin) as admin:
            mine = next(one for one in admin.get("/v1/keys").json()["items"] if one["name"] == "bot")
            admin.delete(f"/v1/keys/{mine['id']}").raise_for_status()
        try:
            # Whichever is first: the key is gone, or the request was cancelled with it.
            assert (await asyncio.wait_for(running, 60)).status == "cancelled"
        except placet.WrongKey:
            pass


ANSWERS = {
    "a proxy's page": (200, "text/html", "<html>please sign in</html>"),
    "a proxy's page about an error": (502, "text/html", "<h1>bad gateway</h1>"),
    "a page that is not there": (404, "text/html", "<h1>not found</h1>"),
    "no type at all": (200, "", "x"),
    "JSON that is no request": (200, "application/json", '{"hello": "world"}'),
    "JSON that is no object": (200, "application/json", '["approved"]'),
    "a number in place of a state": (200, "application/json", '{"id": "req_1", "version": 1, "state": 1}'),
    "cut off": (200, "application/json", '{"id": "req_1", "versi'),
    "an error of somebody else": (403, "application/problem+json", '{"title": "forbidden by the firewall"}'),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
async def test_an_answer_that_is_not_placets_is_never_a_yes(standing_server, answer):
    ran = Effects()
    with Proxy(standing_server.url, lambda method, path: answer) as proxy:
        async with AsyncClient(proxy.url, standing_server.agent, outage_budget=SOON) as client:
            result = await client.run(delete(), ran)
            assert result["status"] == "unreachable"
            assert "nobody said no, and nothing was run" in result["message"]
            assert proxy.url in result["reason"]
            with pytest.raises(placet.Unreachable) as caught:
                await client.hold(delete(), on_outage="raise")
            assert isinstance(caught.value, placet.ProtocolError) == (answer[0] < 500)
    assert ran.count == 0


async def test_a_redirect_is_not_followed_with_a_key(standing_server):
    with Proxy(standing_server.url, lambda method, path: (307, "text/html", "")) as proxy:
        async with AsyncClient(proxy.url, standing_server.agent) as client:
            with pytest.raises(placet.ProtocolError, match="redirects"):
                await client.hold(delete(), on_outage="raise")
        assert proxy.count(*CREATE) == 1


def record(**fields) -> str:
    import json

    raw = {"id": "req_1", "version": 1, "kind": "action", "state": "approved", "digest": "sha256:x", "claimable": True}
    raw.update(tool="delete_files", session="s1", arguments={"files": ["a"]})
    return json.dumps({**raw, "decision": None, **fields})


STRANGE = {
    "a state nobody knows": record(state="blessed"),
    "a decision nobody knows": record(state="approved", decision={"decision": "maybe", "digest": "sha256:x"}),
    "a permit for a decision nobody knows": record(
        state="claimed", permit="prm_x", decision={"decision": "maybe", "digest": "sha256:x"}
    ),
    "a permit for other arguments": record(state="claimed", permit="prm_x", arguments={"files": ["b"]}),
    "a permit of a state that has none": record(state="succeeded", permit="prm_x"),
    "a permit of a refusal": record(state="denied", permit="prm_x"),
    "a permit that is no text": record(state="claimed", permit=True),
}


@pytest.mark.parametrize("answer", STRANGE.values(), ids=STRANGE.keys())
async def test_a_word_or_a_permit_that_does_not_fit_is_never_a_yes(standing_server, answer):
    ran = Effects()

    def rule(method, path):
        return (200, "application/json", answer) if path == "/v1/requests" else None

    with Proxy(standing_server.url, rule) as proxy:
        async with AsyncClient(proxy.url, standing_server.agent, outage_budget=SOON) as client:
            # The made-up request does not exist behind the proxy, and a claim of it says so.
            with contextlib.suppress(placet.ApiError, placet.WrongAnswer):
                assert (await client.run(delete(), ran))["status"] in {"denied", "unknown", "failed"}
    assert ran.count == 0


@pytest.mark.parametrize(
    "answer",
    ['{"permit": "", "arguments": {}, "digest": "d"}', '{"arguments": {}, "digest": "d"}', '{"permit": "prm_x"}', "{}"],
)
async def test_a_claim_that_is_answered_without_a_permit_is_never_a_yes(server, reviewer, answer):
    ran = Effects()

    def rule(method, path):
        return (200, "application/json", answer) if path.endswith("/claim") else None

    with Proxy(server.url, rule) as proxy:
        async with AsyncClient(proxy.url, server.agent, outage_budget=SOON) as client:
            running = asyncio.create_task(client.run(delete(), ran))
            await reviewer.aapprove()
            assert (await running)["status"] == "unreachable"
    assert ran.count == 0


async def test_a_permit_for_another_digest_is_not_used_and_reported_so(server, reviewer):
    ran = Effects()
    real: list[str] = []

    def rule(method, path):
        if not path.endswith("/claim"):
            return None
        id = path.split("/")[3]
        with server.http(server.agent) as http:
            claimed = http.post(path, json={"claimant": "c" * 16}).json()
        real.append(id)
        import json

        return (200, "application/json", json.dumps({**claimed, "digest": "sha256:" + "0" * 64}))

    with Proxy(server.url, rule) as proxy:
        async with AsyncClient(proxy.url, server.agent) as client:
            running = asyncio.create_task(client.run(delete(), ran))
            await reviewer.aapprove()
            result = await running
    assert ran.count == 0
    assert result["status"] == "failed"
    assert "something else than what was approved" in result["reason"]
    assert reviewer.client.get(real[0]).state == "failed"


async def test_a_server_that_is_not_there_is_tried_for_the_budget_and_then_refused():
    async with AsyncClient("http://127.0.0.1:9", "x", outage_budget=0.5) as client:
        held = await asyncio.wait_for(client.hold(delete()), BOUND)
        assert held.status == "unreachable"
        with pytest.raises(placet.Unreachable, match=r"127\.0\.0\.1:9"):
            held.raise_for_refusal()
        with pytest.raises(placet.Unreachable):
            await client.hold(delete(), on_outage="raise")


async def test_a_pause_tries_on_until_the_call_has_no_time_left(server):
    with Proxy(server.url, lambda method, path: REFUSE) as proxy:
        async with AsyncClient(proxy.url, server.agent, outage_budget=0) as client:
            assert (await client.hold(delete())).status == "unreachable"
            once = proxy.count(*CREATE)
            held = await client.hold(delete(), hold_for=1.5, on_outage="pause")
            assert held.status == "unreachable"
            assert proxy.count(*CREATE) > 2 * once


async def test_a_pause_outlives_the_budget(server, reviewer):
    with Proxy(server.url, lambda method, path: REFUSE) as proxy:
        async with AsyncClient(proxy.url, server.agent, outage_budget=0.2, on_outage="pause") as client:
            running = asyncio.create_task(client.hold(delete()))
            # The pauses before the fifth attempt are longer together than the budget.
            await asyncio.to_thread(eventually, lambda: proxy.count(*CREATE) >= 5)
            assert not running.done()
            proxy.rule = lambda method, path: None
            await reviewer.aapprove()
            assert (await asyncio.wait_for(running, BOUND)).go


async def test_a_report_that_cannot_arrive_does_not_hide_the_result(server, reviewer, caplog):
    def rule(method, path):
        return REFUSE if path.endswith("/outcome") else None

    with Proxy(server.url, rule) as proxy:
        async with AsyncClient(proxy.url, server.agent, outage_budget=SOON) as client:
            running = asyncio.create_task(client.run(delete(), lambda files: "gone"))
            await reviewer.aapprove()
            assert await running == "gone"
    assert "will end `unknown`" in caplog.text


async def test_a_field_that_does_not_fit_is_named(standing_server):
    async with AsyncClient(standing_server.url, standing_server.agent) as client:
        with pytest.raises(placet.Invalid) as caught:
            await client.hold(Call("a tool", {}, "s1"))
        assert caught.value.pointer == "/tool"
        with pytest.raises(placet.Invalid, match="session"):
            await client.hold(Call("tool", {}, ""))


@pytest.mark.parametrize(
    "call",
    [
        Call("t", {"f": object()}, "s"),
        Call("t", [1], "s"),  # type: ignore[arg-type]
        Call("t", {}, "s", context={"f": {1}}),
        Call("t", {}, "s", allowed=("approve", "always")),
        Call("t", {}, "s", expires_in=0),
    ],
)
async def test_a_call_that_cannot_be_asked_is_refused_before_anything_is_sent(server, reviewer, call):
    async with AsyncClient() as client:
        with pytest.raises((placet.NotJson, placet.ConfigError)):
            await client.hold(call)
    assert reviewer.pending() == []


async def fence(client, reviewer):
    """A later call is asked and withdrawn, and nothing is open any more: what came before it has arrived."""
    running = asyncio.create_task(client.hold(Call("fence", {}, "s")))
    await reviewer.anext("fence")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    over = {"cancelled", "failed"}
    await asyncio.to_thread(eventually, lambda: {one.state for one in reviewer.client.list()} <= over)


async def test_a_call_is_cancelled_at_any_moment_without_a_ghost(server, reviewer):
    async with AsyncClient() as client:
        for moment in (0, 0.001, 0.005, 0.02, 0.1, 0.3):
            running = asyncio.create_task(client.hold(delete()))
            await asyncio.sleep(moment)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        await fence(client, reviewer)
    assert reviewer.pending() == []
    assert {one.state for one in reviewer.client.list()} <= {"cancelled"}


async def test_a_cancelled_call_that_was_claimed_is_reported_as_not_run(server, reviewer):
    async with AsyncClient() as client:
        for moment in (0.001, 0.005, 0.01, 0.02):
            running = asyncio.create_task(client.hold(Call("get_weather", {}, "s")))
            await asyncio.sleep(moment)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            if not running.cancelled():
                await running.result().failed("too late to cancel")
        await fence(client, reviewer)
    assert {one.state for one in reviewer.client.list()} <= {"failed", "cancelled"}


# What a shell starts in the background, and its children, ignore Ctrl-C.
LISTENS = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"


def test_an_interrupted_program_withdraws_its_request(server, reviewer, tmp_path):
    script = tmp_path / "agent.py"
    script.write_text(LISTENS + "import placet\nplacet.Client().hold(placet.Call('delete_files', {}, 's'))\n")
    agent = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE, env=os.environ)
    seen = reviewer.next("delete_files", within=60)
    agent.send_signal(2)
    _, said = agent.communicate(timeout=60)
    assert b"KeyboardInterrupt" in said
    assert reviewer.client.get(seen.id).state == "cancelled"


def test_an_interrupt_that_arrives_on_another_thread_is_heard(server, reviewer, tmp_path):
    script = tmp_path / "agent.py"
    script.write_text(
        LISTENS + "import sys, threading\n"
        "import placet\n"
        "def interrupt():\n"
        "    sys.stdin.readline()\n"
        "    signal.pthread_kill(threading.get_ident(), signal.SIGINT)\n"
        "    threading.Event().wait(60)\n"
        "threading.Thread(target=interrupt, daemon=True).start()\n"
        "placet.Client().hold(placet.Call('delete_files', {}, 's'))\n"
    )
    with Proxy(server.url) as proxy:
        environ = {**os.environ, "PLACET_URL": proxy.url}
        agent = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environ
        )
        seen = reviewer.next("delete_files", within=BOUND)
        # It has looked once more since the stream is open: now it waits, and nothing but an answer would wake it.
        eventually(lambda: proxy.count("GET", "/v1/stream") and proxy.count("GET", f"/v1/requests/{seen.id}"))
        _, said = agent.communicate(b"\n", timeout=BOUND)
    assert b"KeyboardInterrupt" in said
    assert reviewer.client.get(seen.id).state == "cancelled"


def test_importing_placet_imports_neither_httpx_nor_asyncio():
    code = "import sys, placet; sys.exit(bool({'httpx', 'asyncio', 'ssl'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    code = "import sys, placet; placet.gate, placet.AsyncClient; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_everything_that_is_promised_is_there():
    for name in placet.__all__:
        assert getattr(placet, name) is not None
    with pytest.raises(AttributeError):
        placet.nonsense
