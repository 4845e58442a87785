"""The governing proxy between real clients and a real agent: what the scenarios stand on."""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import placet

from .peers import Peer, Seen
from .proxy import Proxy
from .reviewer import Reviewer
from .server import Server
from .upstream import Upstream

FINAL = {"completed", "failed", "canceled", "rejected"}

POLICY = """\
version = 1

[[rule]]
name = "small-change"
effect = "allow"
tool = "pay"
source = "a2a/demo/*"
[rule.args]
amount = { max = 10 }

[[rule]]
name = "never-mallory"
effect = "deny"
tool = "pay"
reason = "nobody pays mallory"
[rule.args]
to = { equals = "mallory" }
"""

NAMES = itertools.count(1)


def agents(url: str, more: str = "") -> str:
    """One agent behind several addresses, so that one server serves every scenario; `more` is set for all of them."""
    tables = {
        "ops": 'mode = "hold"',
        "quick": 'mode = "hold"\nexpires_in = "3s"',
        "shared": 'mode = "mirror"',
        "private": 'mode = "hold"\ncallers = ["nobody-else"]',
        "known": 'mode = "hold"\nidentify = "x-user-id"',
    }
    begin = f'[[doors.a2a]]\nnamespace = "demo"\nurl = "{url}/"\nresend_after = "2s"\n{more}\n'
    return "\n".join(f'{begin}agent = "{name}"\n{rest}\n' for name, rest in tables.items())


@contextmanager
def serving(folder: Path, url: str, more: str = "") -> Iterator[Server]:
    """A server with the agent at this address behind it."""
    config, policy = folder / "placet.toml", folder / "policy.toml"
    config.write_text(agents(url, more))
    policy.write_text(POLICY)
    with Server(folder / "placet-data", config=config, policy=str(policy)) as server:
        yield server


class Middleman(Proxy):
    """Somebody between Placet and the agent who meddles with the answers that go to it."""

    def __init__(self, upstream: str):
        super().__init__(upstream)
        self.answers = 0
        self.fate: list[object] = []
        """What happens to the next answers: None forwards one, and so on as for every proxy of ours."""
        self.change: Callable[[bytes], bytes] = lambda body: body
        """What is made of an answer before it is forwarded."""

    def judged(self, method: str, path: str, body: bytes) -> tuple[object, bytes]:
        if b"function_response" not in body and b"decision_type" not in body:
            return None, body
        self.answers += 1
        return (self.fate.pop(0) if self.fate else None), self.change(body)


@dataclass
class Bench:
    """One test's view of it: a caller of its own, so that nothing of another test is seen."""

    server: Server
    upstream: Upstream
    connect: Callable[[str, str], Peer]
    """Makes a client, from the address of an agent and a key."""
    caller: str
    key: str
    ann: Reviewer

    @classmethod
    def new(cls, server: Server, upstream: Upstream, connect: Callable[[str, str], Peer]) -> Bench:
        upstream.forget_effects()
        caller = f"caller-{next(NAMES)}"
        return cls(server, upstream, connect, caller, server.key("agent", caller), Reviewer(server.url, server.ann))

    def peer(self, agent: str = "ops", key: str | None = None) -> Peer:
        return self.connect(f"{self.server.url}/a2a/demo/{agent}", key or self.key)

    def pending(self, count: int = 1, within: float = 60.0) -> list[placet.Record]:
        """What this caller's agent waits for, oldest first; waits until there are so many."""
        found = self.ann.wait_for(count, within, agent=self.caller)
        assert len(found) == count, [one.tool for one in found]
        return sorted(found, key=lambda one: (one.context or {}).get("a2a", {}).get("item", 0))

    def none_pending(self) -> bool:
        return self.ann.pending(agent=self.caller) == []

    def record(self, id: str) -> dict[str, Any]:
        with self.server.http(self.server.ann) as http:
            return http.get(f"/v1/requests/{id}").json()

    def records(self) -> list[dict[str, Any]]:
        with self.server.http(self.server.ann) as http:
            return http.get("/v1/requests", params={"agent": self.caller}).json()["items"]

    def failed_answers(self) -> int:
        """How often the server could not give an answer to its agents."""
        with self.server.http(self.server.admin) as http:
            metrics = http.get("/metrics").text
        found = re.search(r'placet_deliveries_total{channel="a2a",outcome="failed"} (\d+)', metrics)
        return int(found.group(1)) if found else 0

    def approve(self, record: placet.Record) -> placet.Record:
        return self.ann.decide(record, "approve")

    def deny(self, record: placet.Record, reason: str = "not today") -> placet.Record:
        return self.ann.decide(record, "deny", reason=reason)

    def outcome(self, peer: Peer, task: str, within: float = 60.0) -> Seen:
        """The task when it has ended."""
        until = time.monotonic() + within
        while True:
            seen = peer.get(task)
            if seen.state in FINAL:
                return seen
            assert time.monotonic() < until, f"the task is still {seen.state}: {seen.raw}"
            time.sleep(0.05)


class Listening:
    """A stream that is read on a thread, as a client reads it while people decide."""

    def __init__(self, events: Iterator[Seen]):
        self.seen: list[Seen] = []
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._read, args=(events,), daemon=True)
        self._thread.start()

    def _read(self, events: Iterator[Seen]) -> None:
        try:
            for event in events:
                self.seen.append(event)
        except BaseException as error:
            self.error = error

    @property
    def open(self) -> bool:
        return self._thread.is_alive()

    @property
    def states(self) -> list[str]:
        return [one.state for one in list(self.seen) if one.state]

    def end(self, within: float = 60.0) -> list[Seen]:
        """Everything it got, when it has been closed by the other side."""
        self._thread.join(within)
        assert not self.open, f"the stream is still open after {self.states}"
        if self.error:
            raise self.error
        return self.seen
