"""The core of resumers: what waits is gone on with when it is decided, one at a time, whatever fails beside it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import placet
from placet import resume_command
from placet.resume import Progress, Resumer, Run, Source

WITHIN = 60.0


class Store(Source):
    """A framework whose runs wait for one request each. `go_on` claims, as real ones do."""

    name = "shelf"

    def __init__(self, client):
        self.client = client
        self.paused: dict[str, str] = {}
        self.went: list[str] = []
        self.seen: Counter[str] = Counter()
        self.running: Counter[str] = Counter()
        self.most = 0
        self.trouble: dict[str, Exception] = {}
        self.gate = asyncio.Event()
        self.gate.set()
        self.scans = 0
        self.closed = False

    async def pause(self, name: str, *, stored: bool = True) -> str:
        body = {"kind": "action", "tool": "pay", "arguments": {"to": name}, "session": name}
        id = (await self.client.create(body, key=name)).id
        if stored:
            self.paused[name] = id
        return id

    async def waiting(self):
        self.scans += 1
        for name, id in list(self.paused.items()):
            yield Run(name, (id,))

    async def find(self, record):
        return Run(record.session) if record.tool == "pay" else None

    async def go_on(self, run):
        name = run.key
        self.seen[name] += 1
        self.running[name] += 1
        assert self.running[name] == 1
        self.most = max(self.most, sum(self.running.values()))
        try:
            await self.gate.wait()
            if name in self.trouble:
                raise self.trouble[name]
            id = self.paused.get(name)
            if id is None or (await self.client.get(id)).state == "pending":
                return False
            if (await self.client.get(id)).state == "approved":
                await self.client.claim(id, "shelf")
            self.went.append(name)
            del self.paused[name]
            return True
        finally:
            self.running[name] -= 1

    async def aclose(self):
        self.closed = True


@pytest.fixture
async def store(placet_gateway):
    return Store(placet_gateway.async_client())


def resumer(store, **options) -> Resumer:
    return Resumer(store, store.client, **{"scan_every": WIDE, **options})


WIDE = 600.0
"""Longer than any test: what happens then does not come from a scan that was due."""


async def eventually(condition) -> None:
    for _ in range(int(WITHIN / 0.005)):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come true in time")


async def test_what_was_decided_before_the_start_goes_on(store, placet_gateway):
    for name in "abc":
        await store.pause(name)
    placet_gateway.approve(store.paused["a"])
    placet_gateway.deny("no", store.paused["b"])
    async with resumer(store):
        await eventually(lambda: len(store.went) == 2)
    assert (sorted(store.went), list(store.paused), store.closed) == (["a", "b"], ["c"], True)


async def test_what_is_decided_while_it_listens_goes_on(store, placet_gateway):
    async with resumer(store):
        await eventually(lambda: store.scans == 1)
        await store.pause("a")
        placet_gateway.approve(store.paused["a"])
        await eventually(lambda: store.went == ["a"])
    assert store.scans == 1


async def test_what_is_decided_before_the_pause_is_stored_goes_on_without_a_scan(store, placet_gateway):
    async with resumer(store):
        await eventually(lambda: store.scans == 1)
        id = await store.pause("a", stored=False)
        placet_gateway.approve(id)
        await eventually(lambda: store.seen["a"] > 0)
        store.paused["a"] = id
        await eventually(lambda: store.went == ["a"])
    assert store.scans == 1


async def test_a_pause_that_is_stored_without_a_word_on_the_stream_is_found_by_a_scan(store, placet_gateway):
    async with resumer(store, scan_every=0.05):
        await eventually(lambda: store.scans > 1)
        body = {"kind": "action", "tool": "other", "arguments": {}, "session": "a"}
        store.paused["a"] = (await store.client.create(body, key="a")).id
        placet_gateway.approve(store.paused["a"])
        await eventually(lambda: store.went == ["a"])


async def test_after_an_outage_the_store_is_scanned_anew(store, placet_gateway):
    async with resumer(store):
        await eventually(lambda: store.scans == 1)
        await store.pause("a")
        placet_gateway.down()
        await eventually(lambda: not placet_gateway._streams)
        placet_gateway.approve(store.paused["a"])
        placet_gateway.up()
        await eventually(lambda: store.went == ["a"])
    assert store.scans == 2


async def test_a_run_that_fails_is_tried_again_and_stops_no_other(store, placet_gateway, caplog):
    store.trouble["bad"] = RuntimeError("the disk is full")
    for name in ("bad", "good"):
        await store.pause(name)
        placet_gateway.approve(store.paused[name])
    async with resumer(store, longest_pause=0.3):
        await eventually(lambda: store.went == ["good"] and store.seen["bad"] > 2)
        store.trouble.clear()
        await eventually(lambda: store.went == ["good", "bad"])
    assert "the disk is full" in caplog.text


async def test_one_run_is_never_gone_on_with_twice_at_once(store, placet_gateway):
    """Two resumers in one program, and news while it goes on: `go_on` itself asserts it."""
    await store.pause("a")
    store.gate.clear()
    placet_gateway.approve(store.paused["a"])
    async with resumer(store), resumer(store):
        await eventually(lambda: store.seen["a"] == 1 and store.scans == 2)
        store.gate.set()
        await eventually(lambda: store.went == ["a"])


async def test_no_more_runs_go_on_at_once_than_was_said(store, placet_gateway):
    store.gate.clear()
    for number in range(9):
        placet_gateway.approve(await store.pause(f"run-{number}"))
    async with resumer(store, concurrency=3):
        await eventually(lambda: sum(store.running.values()) == 3)
        store.gate.set()
        await eventually(lambda: len(store.went) == 9)
    assert store.most == 3


async def test_a_run_that_another_process_took_is_left_to_it(store, placet_gateway, caplog):
    store.trouble["a"] = placet.UnknownOutcome("another process holds the permit")
    placet_gateway.approve(await store.pause("a"))
    placet_gateway.approve(await store.pause("b"))
    caplog.set_level("INFO", "placet.resume")
    async with resumer(store):
        await eventually(lambda: store.went == ["b"] and "in another process" in caplog.text)
    assert store.seen["a"] == 1


async def test_stopped_it_lets_a_run_that_goes_on_come_to_its_end(store, placet_gateway):
    placet_gateway.approve(await store.pause("a"))
    store.gate.clear()
    made = resumer(store, finish_within=WITHIN)
    task = asyncio.create_task(made.run())
    await eventually(lambda: store.seen["a"] == 1)
    made.stop()
    placet_gateway.approve(await store.pause("b"))
    store.gate.set()
    await task
    assert (store.went, store.seen["b"]) == (["a"], 0)


async def test_cancelled_it_abandons_what_does_not_end(store, placet_gateway):
    id = await store.pause("a")
    placet_gateway.approve(id)
    store.gate.clear()
    task = asyncio.create_task(resumer(store, finish_within=0.0).run())
    await eventually(lambda: store.seen["a"] == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (store.went, store.running["a"], placet_gateway.get(id).state) == ([], 0, "approved")


async def test_a_store_that_cannot_be_scanned_is_scanned_again(store, placet_gateway, caplog):
    placet_gateway.approve(await store.pause("a"))
    healthy, failed = store.waiting, []

    async def broken():
        failed.append(1)
        raise OSError("the database is locked")
        yield

    store.waiting = broken
    async with resumer(store, scan_every=0.05):
        await eventually(lambda: len(failed) > 1)
        store.waiting = healthy
        await eventually(lambda: store.went == ["a"])
    assert "the database is locked" in caplog.text


async def test_once_goes_on_with_what_is_decided_and_says_what_it_did(store, placet_gateway):
    store.trouble["bad"] = RuntimeError("no")
    for name in ("a", "bad", "later"):
        await store.pause(name)
    placet_gateway.approve(store.paused["a"])
    placet_gateway.approve(store.paused["bad"])
    done = await resumer(store).once()
    assert isinstance(done, Progress)
    assert [str(run) for run in done.went_on] == ["a"]
    assert [str(run) for run in done.waiting] == ["later"]
    assert {str(run): str(error) for run, error in done.failed.items()} == {"bad": "no"}


async def test_a_key_that_the_server_does_not_know_ends_it_at_once(placet_gateway, store):
    wrong = placet_gateway.async_client()
    wrong = placet.AsyncClient(wrong.url, "plk_agent_wrong", transport=placet_gateway.async_transport)
    with pytest.raises(placet.ProtocolError, match="401"):
        await Resumer(store, wrong).run()


def test_a_source_that_is_none_is_a_clear_error(placet_gateway):
    with pytest.raises(placet.ConfigError, match="it needs `name`, `waiting`"):
        Resumer(object(), placet_gateway.async_client())
    with pytest.raises(placet.ConfigError, match="above 0"):
        Resumer(Store.__new__(Store), placet_gateway.async_client(), concurrency=0)


# --- python -m placet.resume ----------------------------------------------------------------------------------------

PROGRAM = """
import sys
from placet.resume import Resumer, Run, Source

class Store(Source):
    name = "shelf"
    async def waiting(self):
        print("scanned", flush=True)
        yield Run("a")
    async def find(self, record): return None
    async def go_on(self, run):
        if "fail" in sys.argv[1]: raise RuntimeError("the disk is full")
        return True

def resumer(): return Resumer(Store())
async def later(): return resumer()
fail = resumer
number = 7
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with a program, as `python -m` finds it."""
    (tmp_path / "shop.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["shop:resumer", "--once"], 0, "1 went on, 0 wait, 0 failed"),
        (["shop:later", "--once"], 0, "1 went on, 0 wait, 0 failed"),
        (["shop:fail", "--once"], 1, "0 went on, 0 wait, 1 failed"),
        (["shop:number"], 2, "`shop:number` is a int; give a resumer"),
        (["shop:nothing"], 2, "module `shop` has no `nothing`"),
        (["nowhere:runner"], 2, "there is no module `nowhere` here"),
        (["shop"], 2, "give MODULE:NAME"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else None,
)
def test_the_command_says_what_it_did_or_what_is_wrong(shop, placet_gateway, monkeypatch, capsys, words, code, says):
    monkeypatch.setattr(sys, "argv", ["placet.resume", *words])
    assert resume_command.main(words) == code
    shown = capsys.readouterr()
    assert says in shown.out + shown.err


def test_the_command_explains_itself(capsys):
    with pytest.raises(SystemExit) as ended:
        resume_command.main(["--help"])
    assert (ended.value.code, "a function that makes one" in capsys.readouterr().out) == (0, True)


def test_the_command_listens_until_a_signal_stops_it(shop, server):
    path = os.pathsep.join([str(Path(placet.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.Popen(
        [sys.executable, "-m", "placet.resume", "shop:resumer"],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert ran.stdout.readline() == "scanned\n"
    ran.send_signal(signal.SIGTERM)
    _, error = ran.communicate(timeout=WITHIN)
    assert ran.returncode == 0, error
    assert "Traceback" not in error
