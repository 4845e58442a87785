"""A call that waits says so: to the log, to a callback, and to the terminal of an interactive program."""

from __future__ import annotations

import asyncio
import logging
import os
import pty
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import placet
from placet import AsyncClient, Call, Client, Waiting
from placet.adapters import _calls
from placet.core import retry, steps, wire
from placet.core.effects import NoAnswer, Pause, Reply, Send
from placet.core.watch import Watch
from placet.waiting import spoken
from support import Effects, eventually


def delete(*files: str, **more) -> Call:
    return Call("delete_files", {"files": list(files)}, "s1", **more)


def lines(caplog) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.name == "placet"]


def approving(gateway, told):
    """A callback that keeps what it is told, and says yes."""

    def tell(waiting: Waiting) -> None:
        told.append(waiting)
        gateway.approve(waiting.request)

    return tell


def whys(told: list[Waiting]) -> list[str]:
    return [one.why for one in told]


async def test_a_call_that_needs_a_person_is_told_of_once_with_an_absolute_url(server, reviewer, caplog):
    caplog.set_level(logging.INFO, "placet")
    told: list[Waiting] = []
    async with AsyncClient(on_waiting=told.append) as client:
        waiting = asyncio.create_task(client.hold(delete("a", expires_in="5m")))
        seen = await reviewer.anext()
        await asyncio.to_thread(reviewer.decide, seen, "approve")
        held = await asyncio.wait_for(waiting, 60)
    [one] = told
    assert (one.tool, one.why, one.request) == ("delete_files", "person", held.request_id)
    assert one.url == held.url == held.record.url == f"{server.url}/r/{held.request_id}"
    assert one.expires_at == held.record.expires_at
    assert 0 < one.time_left <= 300
    [line] = lines(caplog)
    assert line.startswith("delete_files waits for a person, ")
    assert line.endswith(f" left: {one.url}")


def test_a_blocking_call_tells_the_same(server, reviewer):
    told: list[Waiting] = []
    with Client(on_waiting=told.append) as client, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.hold, delete("a"), 120.0)
        seen = reviewer.next()
        reviewer.decide(seen, "approve")
        assert waiting.result(60).go
    assert whys(told) == ["person"]
    assert told[0].time_left <= 120
    assert told[0].url == f"{server.url}/r/{seen.id}"


async def test_an_outage_and_its_end_are_told_of_once_each(server, reviewer, caplog):
    caplog.set_level(logging.INFO, "placet")
    told: list[Waiting] = []
    async with AsyncClient(on_waiting=told.append, outage_budget=120.0) as client:
        waiting = [asyncio.create_task(client.hold(delete(str(n)))) for n in range(3)]
        await asyncio.to_thread(reviewer.wait_for, 3)
        hub = client._line().hub
        await asyncio.to_thread(eventually, lambda: hub.board._live_since is not None)
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(eventually, lambda: whys(told).count("outage") == 3)
        await asyncio.to_thread(server.start)
        for one in await asyncio.to_thread(reviewer.wait_for, 3):
            await asyncio.to_thread(reviewer.decide, one, "approve")
        assert all(held.go for held in await asyncio.wait_for(asyncio.gather(*waiting), 60))
    assert sorted(whys(told)) == ["back"] * 3 + ["outage"] * 3 + ["person"] * 3
    [outage] = [one for one in told if one.why == "outage"][:1]
    assert 0 < outage.time_left <= 120
    assert outage.url
    # Every call is told; for the reader of the log it is one outage.
    said = lines(caplog)
    assert len(said) == 5
    assert sum("cannot be reached" in line for line in said) == sum("answers again" in line for line in said) == 1


def test_an_outage_before_there_is_a_request_is_told_of(placet_gateway):
    told: list[Waiting] = []

    def up(waiting: Waiting) -> None:
        told.append(waiting)
        placet_gateway.up()

    placet_gateway.always("approve")
    placet_gateway.down("error")
    with Client(on_waiting=up) as client:
        assert client.hold(delete("a")).go
    assert whys(told)[:2] == ["outage", "back"]
    assert (told[0].request, told[0].url) == (None, None)
    assert 0 < told[0].time_left <= 30


def test_an_outage_that_ends_a_call_is_told_of_again_with_the_next_one(placet_gateway, caplog):
    caplog.set_level(logging.INFO, "placet")
    with placet_gateway.outage(), Client(outage_budget=0.4) as client:
        assert client.hold(delete("a")).status == client.hold(delete("b")).status == "unreachable"
    assert sum("cannot be reached" in line for line in lines(caplog)) == 2


@pytest.mark.parametrize("kind", ["raises", "is no function of one thing"])
def test_a_callback_that_fails_changes_nothing(placet_gateway, caplog, kind):
    def raises(_):
        raise RuntimeError("the callback is broken")

    ran = Effects()
    with Client(on_waiting=raises if kind == "raises" else lambda: None) as client, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.run, delete("a"), ran)
        eventually(lambda: "on_waiting failed" in caplog.text)
        placet_gateway.approve()
        waiting.result(60)
    assert ran.count == 1


async def test_a_coroutine_is_awaited_beside_the_call_and_its_errors_change_nothing(placet_gateway, caplog):
    told, may_end = [], asyncio.Event()

    async def tell(waiting: Waiting) -> None:
        placet_gateway.approve(waiting.request)
        await may_end.wait()
        told.append(waiting)
        raise RuntimeError("the chat is down")

    async with AsyncClient(on_waiting=tell) as client:
        assert (await client.hold(delete("a"))).go
        assert told == []
        may_end.set()
    assert whys(told) == ["person"]
    assert "the chat is down" in caplog.text


def test_a_blocking_call_says_that_it_cannot_await(placet_gateway, caplog):
    async def tell(_: Waiting) -> None: ...

    with Client(on_waiting=tell) as client:
        assert client.hold(delete("a"), 0.01).status == "cancelled"
    assert "coroutine function" in caplog.text


async def test_a_gate_has_its_own_callback_and_none_is_none(placet_gateway):
    of_client, of_gate = [], []
    client = AsyncClient(on_waiting=approving(placet_gateway, of_client))
    own = approving(placet_gateway, of_gate)

    def one() -> int:
        return 1

    assert await placet.gate(client=client, on_waiting=own)(one).aio() == 1
    assert (whys(of_client), whys(of_gate)) == ([], ["person"])
    unheard = asyncio.create_task(placet.gate(client=client, on_waiting=None)(one).aio())
    await asyncio.to_thread(placet_gateway.approve)
    assert await unheard == 1
    assert (whys(of_client), whys(of_gate)) == ([], ["person"])
    assert await placet.gate(client=client)(one).aio() == 1
    assert await asyncio.to_thread(placet.gate(client=Client(on_waiting=own))(one)) == 1
    assert (whys(of_client), whys(of_gate)) == (["person"], ["person"] * 2)
    await client.aclose()


def test_a_call_that_pauses_is_told_of_once_however_often_it_is_looked_at(placet_gateway):
    told: list[Waiting] = []
    call = delete("a", keys=placet.Keys(strong="k"))
    with Client(on_waiting=told.append) as client:
        record = _calls.ask(client, call)
        assert _calls.ask(client, call) == record
        assert client.hold(call, 0.0, "leave").status == "pending"
        assert client.wait(record.id, 0.0) == record
        # What waits anew is told of anew.
        client.hold(delete("b"), 0.0, "leave")
    assert [one.request == record.id for one in told] == [True, False]


def test_one_lost_answer_is_no_outage_and_two_are(monkeypatch):
    monkeypatch.setattr(retry, "NOTICED", float("inf"))
    settings = steps.Settings("http://x", 30.0, "deny")
    flow = steps.send(wire.get("req_1"), settings, steps.a_record(), watch=Watch("pay"))
    found = Reply(200, "application/json", None, b'{"id": "req_1", "state": "pending", "version": 1}')
    seen = [next(flow)]
    with pytest.raises(StopIteration):
        for answer in (NoAnswer("reset"), None, NoAnswer("reset"), None, None, found, None):
            seen.append(flow.send(answer))
    assert [getattr(one, "why", type(one)) for one in seen] == [Send, Pause, Send, "outage", Pause, Send, "back"]


def test_what_policy_allows_is_not_told_of(placet_gateway, caplog):
    caplog.set_level(logging.INFO, "placet")
    told: list[Waiting] = []
    placet_gateway.policy = lambda _: "allow"
    with Client(on_waiting=told.append) as client:
        assert client.hold(delete("a")).go
    assert told == []
    assert lines(caplog) == []


def test_every_record_has_an_absolute_url(placet_gateway):
    with placet_gateway.client() as client:
        events = client.stream()
        assert next(events).type == "connected"
        held = client.hold(delete("a"), 0.01, "leave")
        there = f"http://placet.test/r/{held.request_id}"
        assert held.result()["url"] == held.url == client.get(held.request_id).url == there
        assert placet_gateway.get(held.request_id).url == next(events).record.url == there
        events.close()


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("/r/1", "https://x/placet/r/1"),
        ("https://y/r/1", "https://y/r/1"),
        ("javascript:alert(1)", None),
        ("/r/\x1b[2J", None),
        (7, None),
        (None, None),
    ],
)
def test_a_url_is_one_that_a_browser_may_open(said, shown):
    assert placet.Record({"id": "r", "url": said}, base="https://x/placet").url == shown


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(290, "4 min 50 s"), (60, "1 min"), (0.2, "0 s"), (59.6, "1 min"), (7_500, "2 h 5 min"), (262_800, "3 d 1 h")],
)
def test_time_is_said_as_people_say_it(seconds, words):
    assert spoken(seconds) == words


# --- the terminal ----------------------------------------------------------------------------------------------------

PROGRAM = """
import logging, os, placet, threading, time
from placet.testing import Gateway
if os.environ.get("LOGGING"):
    logging.basicConfig()
gateway = Gateway()
def approve():
    while ("GET", "/v1/stream") not in gateway.seen:  # then it waits
        time.sleep(0.01)
    gateway.approve()
threading.Thread(target=approve, daemon=True).start()
options = {"on_waiting": None} if os.environ.get("NOTHING") else {}
held = gateway.client(**options).hold(placet.Call("delete_files", {}, "s1", expires_in="5m"))
print(held.request_id)
"""


def on_a_terminal(**environ: str) -> tuple[str, str]:
    """What the program prints, and what stands on its terminal afterwards."""
    ours, theirs = pty.openpty()
    try:
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, **environ}
        )
        os.close(theirs)
        shown: list[bytes] = []

        def read() -> None:
            try:
                while chunk := os.read(ours, 4096):
                    shown.append(chunk)
            except OSError:
                pass  # the program has ended

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        printed, _ = program.communicate(timeout=60)
        reader.join(60)
        return printed.decode().strip(), b"".join(shown).decode().replace("\r\n", "\n")
    finally:
        os.close(ours)


def test_an_interactive_program_shows_one_line():
    id, shown = on_a_terminal()
    left = r"(5 min|4 min \d+ s|[0-3] min.*|\d+ s) left"
    assert re.fullmatch(f"placet: delete_files waits for a person, {left}: http://placet\\.test/r/{id}\n", shown), shown


@pytest.mark.parametrize("how", ["PLACET_QUIET", "NOTHING", "LOGGING"])
def test_the_line_is_turned_off_by(how):
    _, shown = on_a_terminal(**{how: "1"})
    assert shown == ""


def test_a_program_without_a_terminal_shows_nothing():
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stderr == ""
