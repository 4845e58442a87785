"""Plays the scenarios that clients of every language are held to; tests/contract/README.md says what the words mean."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import placet
from placet import AsyncClient, Call, Client, Keys, digest

from .proxy import Proxy

FIELDS = {
    "hold": "as call keys fails outage_budget on_outage token at",
    "ask": "as call keys refused",
    "claim": "of claimant as refused",
    "cancel": "reason",
    "pending": "count",
    "decide": "decision reason arguments answer tool first refused",
    "revoke": "",
    "kill": "",
    "start": "",
    "stub": "routes otherwise",
    "expect": "of status ran edited reason answer",
    "not_yet": "of",
    "record": "is",
    "requests": "count",
    "same": "of",
    "calls": "method path count",
}
PYTHON = {"as": "as_", "is": "is_"}
"""Words that are Python's own."""
CALL = {"tool", "arguments", "session", "allowed", "expires_in", "arguments_schema"}


class Hold:
    """A call that goes on in the background."""

    def __init__(self) -> None:
        self.ran: list[dict[str, Any]] = []
        self.end: Future[dict[str, Any]] = Future()


class Play:
    """One scenario on one server: `machine` has the keys `agent` and `ann`, `connect`, `revoke`, `kill` and `start`."""

    def __init__(self, machine: Any, blocking: bool):
        self.machine = machine
        self.blocking = blocking
        self.holds: dict[str, Hold] = {}
        self.asked: dict[str, str] = {}
        self.permits: dict[str, str] = {}
        self.stack = ExitStack()
        self.ann: Client = self.stack.enter_context(machine.connect(Client, machine.ann))
        self.stub: Proxy | None = None
        self.pool = ThreadPoolExecutor(8)

    def play(self, steps: list[dict[str, Any]]) -> None:
        with self.stack:
            try:
                for step in steps:
                    rest = {name: value for name, value in step.items() if name != "do"}
                    unknown = set(rest) - set(FIELDS[step["do"]].split())
                    assert not unknown, f"unknown fields of {step['do']}: {unknown}"
                    getattr(self, f"do_{step['do']}")(**{PYTHON.get(name, name): rest[name] for name in rest})
            except AssertionError as error:
                raise AssertionError(f"at {json.dumps(step)}: {error}") from error
            finally:
                self.pool.shutdown(wait=False)

    # The agent

    def call(self, call: dict[str, Any], keys: dict[str, str] | None = None) -> Call:
        assert set(call) <= CALL, f"unknown fields of a call: {set(call) - CALL}"
        rest = {name: value for name, value in call.items() if name not in {"tool", "arguments", "session"}}
        return Call(call["tool"], call["arguments"], call["session"], keys=Keys(**(keys or {})), **rest)

    def do_hold(self, as_, call, keys=None, fails=None, outage_budget=20.0, on_outage="deny", token=None, at=None):
        hold = self.holds[as_] = Hold()
        asked = self.call(call, keys)
        key = {"ann": self.machine.ann, None: self.machine.agent}.get(token, token)
        options = {"outage_budget": outage_budget, "on_outage": on_outage}
        if at == "stub":
            options["url"] = self.stub.url
        self.pool.submit(self._hold, hold, asked, key, options, fails)

    def _hold(self, hold: Hold, call: Call, token: str, options: dict[str, Any], fails: str | None) -> None:
        def tool(**arguments: Any) -> Any:
            hold.ran.append(arguments)
            if fails:
                raise OSError(fails)
            return {"ok": True}

        async def asynchronous() -> placet.Held:
            async with self.machine.connect(AsyncClient, token, **options) as client:
                held = await client.hold(call)
                if held.go:
                    async with held:
                        tool(**held.arguments)
                return held

        def blocking() -> placet.Held:
            with self.machine.connect(Client, token, **options) as client:
                held = client.hold(call)
                if held.go:
                    with held:
                        tool(**held.arguments)
                return held

        try:
            held = blocking() if self.blocking else asyncio.run(asynchronous())
            answer = held.answer if held.status == "answered" else None
            hold.end.set_result({"status": held.status, "edited": held.edited, "reason": held.reason, "answer": answer})
        except Exception as error:
            hold.end.set_result({"status": "error", "error": repr(error)})

    def refusable(self, refused: str | None, fn: Any) -> Any:
        """What a step gives, or nothing if it must be refused, and was."""
        try:
            found = fn()
        except placet.ApiError as error:
            if error.code != refused:
                raise AssertionError(f"refused with {error.code}") from error
            return None
        assert refused is None, "it was not refused"
        return found

    def agent(self) -> Client:
        return self.stack.enter_context(self.machine.connect(Client, self.machine.agent))

    def do_ask(self, as_, call, keys=None, refused=None):
        given = keys or {}
        body = self.call(call).body()
        made = self.refusable(
            refused, lambda: self.agent().create(body, key=given.get("strong"), weak_key=given.get("weak"))
        )
        if made is not None:
            self.asked[as_] = made.id

    def do_claim(self, of, claimant, as_=None, refused=None):
        claimed = self.refusable(refused, lambda: self.agent().claim(self.asked[of], claimant))
        if claimed is not None and as_ is not None:
            self.permits[as_] = claimed.permit

    def do_cancel(self, reason=None):
        self.agent().cancel(self.newest().id, reason)

    # The person

    def all(self) -> list[placet.Record]:
        return sorted(self.ann.list(limit=500), key=lambda one: one.created_at)

    def newest(self) -> placet.Record:
        return self.all()[-1]

    def waiting(self, tool: str | None = None) -> list[placet.Record]:
        return [one for one in self.all() if one.state == "pending" and tool in (None, one.tool)]

    def do_pending(self, count=1):
        soon(lambda: len(self.waiting()) == count, lambda: f"{len(self.waiting())} are pending")

    def do_decide(self, decision, reason=None, arguments=None, answer=None, tool=None, first=False, refused=None):
        soon(lambda: bool(self.waiting(tool)), lambda: "nothing is pending")
        found = self.waiting(tool)
        assert first or len(found) == 1, "more than one is pending"
        one = found[0]
        self.refusable(
            refused,
            lambda: self.ann.decide(
                one.id,
                decision,
                digest=one.digest,
                version=one.version,
                reason=reason,
                arguments=arguments,
                answer=answer,
            ),
        )

    def do_revoke(self):
        self.machine.revoke(self.newest().id)

    # The machines

    def do_kill(self):
        self.machine.kill()

    def do_start(self):
        self.machine.start()

    def do_stub(self, routes, otherwise=None):
        def answer(route: dict[str, Any]) -> tuple[int, str, str]:
            body = route.get("body", "")
            return route["status"], route.get("type", ""), body if isinstance(body, str) else json.dumps(body)

        def rule(method: str, path: str) -> object:
            for route in routes:
                if (route["method"], route["path"]) == (method, path):
                    return answer(route)
            return answer(otherwise) if otherwise else (404, "text/html", "")

        self.stub = self.stack.enter_context(Proxy("http://127.0.0.1:9", rule))

    # What must come of it

    def do_expect(self, of, status, ran, **more):
        names = of if isinstance(of, list) else [of]
        ends = [self.holds[name].end.result(60) for name in names]
        found = [end["status"] for end in ends]
        if isinstance(status, dict):
            assert found[0] in status["one_of"], f"it is {ends}"
        else:
            assert sorted(found) == sorted(status if isinstance(status, list) else [status]), f"it is {ends}"
        happened = [one for name in names for one in self.holds[name].ran]
        assert sorted(map(digest.canonical, happened)) == sorted(map(digest.canonical, ran)), f"it ran {happened}"
        for name, value in more.items():
            assert ends[0][name] == value, f"{name} is {ends[0][name]!r}"

    def do_not_yet(self, of):
        assert not self.holds[of].end.done()
        assert self.holds[of].ran == []

    def do_record(self, is_):
        soon(lambda: looks_like(self.newest().raw, is_), lambda: f"it is {self.newest().raw}")

    def do_requests(self, count):
        assert len(self.all()) == count, f"there are {len(self.all())}"

    def do_same(self, of):
        for known in (self.asked, self.permits):
            if all(name in known for name in of):
                assert len({known[name] for name in of}) == 1
                return
        raise AssertionError(f"{of} are neither asks nor claims")

    def do_calls(self, method, path, count):
        assert self.stub.count(method, path) == count, f"there were {self.stub.seen}"


def looks_like(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(looks_like(found.get(name), wanted[name]) for name in wanted)
    return bool(found == wanted)


def soon(condition: Any, otherwise: Any) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, otherwise()
        time.sleep(0.03)
