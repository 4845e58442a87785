"""Waiting: one stream for everybody, and every waiter learns the outcome whatever happens to it."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from placet import AsyncClient, Call, Client, wait
from placet.core import board, sse
from support import HANG, LOSE, Effects, Once, Proxy, eventually


def delete(*files: str, **more) -> Call:
    return Call("delete_files", {"files": list(files)}, "s1", **more)


def listening(but: set[threading.Thread]) -> list[threading.Thread]:
    """The threads that read a stream, but for those of earlier clients."""
    return [one for one in threading.enumerate() if one.name == "placet stream" and one not in but]


async def test_many_waiters_share_one_stream_and_no_threads(server, reviewer):
    count = 60
    before = set(threading.enumerate())
    with Proxy(server.url) as proxy:
        async with AsyncClient(proxy.url, server.agent) as client:
            waiting = [asyncio.create_task(client.hold(delete(str(n)))) for n in range(count)]
            pending = await asyncio.to_thread(reviewer.wait_for, count, 60)
            hub = client._line().hub
            await asyncio.to_thread(eventually, lambda: hub.board.waiting == count)
            # The proxy of the test has threads of its own; the client has none.
            assert not listening(before)
            assert len([one for one in asyncio.all_tasks() if one.get_name() == "placet stream"]) == 1
            await asyncio.to_thread(lambda: [reviewer.decide(one, "approve") for one in pending])
            done = await asyncio.wait_for(asyncio.gather(*waiting), 60)
            assert all(held.go for held in done)
            assert proxy.count("GET", "/v1/stream") == 1


def test_blocking_waiters_share_one_more_thread(server, reviewer):
    count = 12
    before = set(threading.enumerate())
    with Client(server.url, server.agent) as client, ThreadPoolExecutor(count) as pool:
        waiting = [pool.submit(client.hold, delete(str(n))) for n in range(count)]
        pending = reviewer.wait_for(count)
        eventually(lambda: client._line().hub.board.waiting == count)
        assert len(listening(before)) == 1
        for one in pending:
            reviewer.decide(one, "approve")
        assert all(one.result(20).go for one in waiting)


def test_closing_ends_a_listener_that_hears_nothing(server, monkeypatch):
    # Nothing but closing would end its read.
    monkeypatch.setattr(wait, "SILENCE", 600.0)
    with Proxy(server.url, lambda method, path: HANG if path == "/v1/stream" else None) as proxy:
        before = set(threading.enumerate())
        with Client(proxy.url, server.agent) as client:
            client.hold(delete("a"), hold_for=0.5)
            [listener] = listening(before)
        listener.join(60)
        assert not listener.is_alive()


async def test_a_server_that_is_killed_and_comes_back_does_not_lose_a_waiter(server, reviewer):
    async with AsyncClient() as client:
        waiting = [asyncio.create_task(client.hold(delete(str(n)))) for n in range(5)]
        await asyncio.to_thread(reviewer.wait_for, 5)
        await asyncio.to_thread(server.restart, 1.0)
        for one in await asyncio.to_thread(reviewer.wait_for, 5):
            await asyncio.to_thread(reviewer.decide, one, "approve")
        assert all(held.go for held in await asyncio.wait_for(asyncio.gather(*waiting), 60))


async def test_what_was_decided_while_the_stream_was_gone_is_not_missed(server, reviewer):
    with Proxy(server.url) as proxy:
        async with AsyncClient(proxy.url, server.agent) as client:
            waiting = asyncio.create_task(client.hold(delete("a")))
            seen = await reviewer.anext()
            hub = client._line().hub
            await asyncio.to_thread(eventually, lambda: hub.board._live_since is not None)
            proxy.rule = lambda method, path: "refuse"
            await asyncio.to_thread(server.restart)
            await asyncio.to_thread(reviewer.decide, reviewer.client.get(seen.id), "deny", reason="meanwhile")
            # It has tried again since, in vain.
            tried = len(proxy.seen)
            await asyncio.to_thread(eventually, lambda: len(proxy.seen) > tried + 1)
            assert not waiting.done()
            proxy.rule = lambda method, path: None
            assert (await asyncio.wait_for(waiting, 60)).reason == "meanwhile"


@pytest.mark.parametrize(
    "rule",
    [
        (404, "text/html", "<h1>not found</h1>"),
        (200, "text/html", "<h1>welcome</h1>"),
        (429, "application/problem+json", '{"code": "too_many_streams", "detail": "too many"}'),
    ],
    ids=["no stream here", "a proxy's page", "too many streams"],
)
async def test_without_a_stream_there_are_long_polls(server, reviewer, rule):
    with Proxy(server.url, lambda method, path: rule if path == "/v1/stream" else None) as proxy:
        async with AsyncClient(proxy.url, server.agent) as client:
            waiting = [asyncio.create_task(client.hold(delete(str(n)))) for n in range(3)]
            for one in await asyncio.to_thread(reviewer.wait_for, 3):
                await asyncio.to_thread(reviewer.decide, one, "approve")
            assert all(held.go for held in await asyncio.wait_for(asyncio.gather(*waiting), 60))


async def test_more_waiters_than_long_polls_take_turns(server, reviewer, monkeypatch):
    monkeypatch.setattr(board, "LOOKS", 2)
    with Proxy(server.url, lambda _, path: (404, "text/html", "") if path == "/v1/stream" else None) as proxy:
        async with AsyncClient(proxy.url, server.agent) as client:
            waiting = [asyncio.create_task(client.hold(delete(str(n)))) for n in range(6)]
            pending = await asyncio.to_thread(reviewer.wait_for, 6)
            # The last one first: nobody waits behind somebody else's wait.
            for one in reversed(pending):
                await asyncio.to_thread(reviewer.decide, one, "approve")
            assert all(held.go for held in await asyncio.wait_for(asyncio.gather(*waiting), 60))


async def test_a_stream_that_is_held_back_is_done_without(server, reviewer):
    with Proxy(server.url, lambda method, path: HANG if path == "/v1/stream" else None) as proxy:
        async with AsyncClient(proxy.url, server.agent) as client:
            waiting = asyncio.create_task(client.hold(delete("a")))
            await reviewer.aapprove()
            assert (await asyncio.wait_for(waiting, 60)).go


@pytest.mark.parametrize("ending", ["/v1/requests", "/claim", "/outcome"])
async def test_a_lost_answer_is_asked_for_again_and_nothing_happens_twice(server, reviewer, ending):
    rule = Once("POST", ending, LOSE)
    ran = Effects()
    with Proxy(server.url, rule) as proxy:
        async with AsyncClient(proxy.url, server.agent) as client:
            running = asyncio.create_task(client.run(delete("a"), ran))
            seen = await reviewer.aapprove()
            await running
            assert rule.done
            assert ran.count == 1
            assert (await client.get(seen.id)).state == "succeeded"
    assert len(reviewer.client.list()) == 1


async def test_the_lost_answer_of_a_call_that_was_claimed_at_once_is_found_again(server):
    ran = Effects()
    with Proxy(server.url, Once("POST", "/v1/requests", LOSE)) as proxy:
        async with AsyncClient(proxy.url, server.agent) as client:
            await client.run(Call("get_weather", {"city": "Oslo"}, "s1"), ran)
    assert ran.count == 1


async def test_the_deadline_is_the_servers_whatever_this_clock_says(server, monkeypatch):
    import time

    # Ten years off, and it does not matter: only differences on one clock are ever taken.
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 10 * 365 * 86400)
    async with AsyncClient() as client:
        held = await client.hold(delete("a", expires_in=2), hold_for=30)
    assert held.status == "expired"


async def test_waiting_by_id_and_following_the_stream(server, reviewer):
    async with AsyncClient() as client:
        events = client.stream()
        assert (await anext(events)).type == "connected"
        made = await client.create(delete("a").body())
        created = await anext(events)
        assert (created.type, created.record.id) == ("request.created", made.id)
        waiting = asyncio.create_task(client.wait(made.id))
        await reviewer.adeny()
        assert (await waiting).state == "denied"
        decided = await anext(events)
        assert (decided.type, decided.record.state) == ("request.decided", "denied")
        await events.aclose()
        assert (await client.wait(made.id, timeout=0)).state == "denied"


def test_a_blocking_stream_tells_the_same(server):
    with Client() as client:
        events = client.stream()
        assert next(events).type == "connected"
        made = client.create(delete("a").body())
        assert next(events).record.id == made.id
        events.close()


def test_a_client_that_was_used_on_a_closed_loop_works_on_the_next(server, reviewer):
    client = AsyncClient()

    async def abandoned():
        task = asyncio.ensure_future(client.hold(delete("a")))
        await reviewer.anext()
        return task

    loop = asyncio.new_event_loop()
    try:
        task = loop.run_until_complete(abandoned())
    finally:
        # Closed in the middle of a wait: no run, and no harm to the next loop.
        task._log_destroy_pending = False
        for one in asyncio.all_tasks(loop):
            one._log_destroy_pending = False
        loop.close()
    assert not task.done()

    async def again():
        running = asyncio.create_task(client.hold(delete("b")))
        found = await asyncio.to_thread(reviewer.wait_for, 2)
        await asyncio.to_thread(reviewer.decide, found[-1], "approve")
        held = await running
        await client.aclose()
        return held

    assert asyncio.run(again()).go


def messages(*chunks: bytes) -> list[sse.Message]:
    reader = sse.Reader()
    return [message for chunk in chunks for message in reader.feed(chunk)]


def test_events_are_read_however_they_are_cut():
    text = 'retry: 1\r\nid: a.1\r\n\r\n: hi\nid: a.2\n\nid: a.3\nevent: x\ndata: {"ü":\ndata:1}\n\n'.encode()
    whole = messages(text)
    assert [(one.id, one.event, one.data) for one in whole] == [
        ("a.1", "message", None),
        ("a.2", "message", None),
        ("a.3", "x", '{"ü":\n1}'),
    ]
    for size in (1, 2, 3, 7):
        assert messages(*(text[i : i + size] for i in range(0, len(text), size))) == whole


def test_an_event_without_an_end_is_given_up(monkeypatch):
    monkeypatch.setattr(sse, "LARGEST", 1000)
    with pytest.raises(sse.TooLong):
        messages(b"data: ", *[b"x" * 100] * 20)
    with pytest.raises(sse.TooLong):
        messages(*[b"data: x\n"] * 200)
    assert len(messages(*[b"data: " + b"x" * 900 + b"\n\n"] * 20)) == 20
