"""A person who decides: waits for what is pending, and says what the test wants them to say."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import placet
from placet import Client, Record

PATIENCE = 60.0


class Reviewer:
    """`reviewer.approve(tool="x")` waits for the next matching request and approves it; `await reviewer.aapprove()`."""

    def __init__(self, url: str, token: str):
        self.client = Client(url, token)
        self.seen: list[Record] = []
        self._decided: set[str] = set()

    def __enter__(self) -> Reviewer:
        return self

    def __exit__(self, *_) -> None:
        self.client.close()

    def pending(self, tool: str | None = None, **query: str) -> list[Record]:
        """What waits for a decision, oldest first."""
        found = [one for one in self.client.list(state="pending", limit=500, **query) if tool in (None, one.tool)]
        return sorted(found, key=lambda one: one.created_at)

    def next(self, tool: str | None = None, within: float = PATIENCE, **query: str) -> Record:
        """The next pending request that this reviewer has not decided."""
        until = time.monotonic() + within
        while time.monotonic() < until:
            for one in self.pending(tool, **query):
                if one.id not in self._decided:
                    return one
            time.sleep(0.02)
        raise AssertionError(f"nothing is pending (tool={tool}) after {within} s")

    def wait_for(self, count: int, within: float = PATIENCE, **query: str) -> list[Record]:
        """Waits until so many are pending at once."""
        until = time.monotonic() + within
        while time.monotonic() < until:
            found = self.pending(**query)
            if len(found) >= count:
                return found
            time.sleep(0.02)
        raise AssertionError(f"not {count} pending after {within} s, but {len(self.pending(**query))}")

    def decide(self, record: Record, decision: str, **fields: Any) -> Record:
        """Decides on what this record shows."""
        self._decided.add(record.id)
        after = self.client.decide(record.id, decision, digest=record.digest, version=record.version, **fields)
        self.seen.append(after)
        return after

    def approve(self, tool: str | None = None, **query: str) -> Record:
        return self.decide(self.next(tool, **query), "approve")

    def edit(self, arguments: dict[str, Any], tool: str | None = None, **query: str) -> Record:
        return self.decide(self.next(tool, **query), "edit", arguments=arguments)

    def deny(self, reason: str = "not today", tool: str | None = None, **query: str) -> Record:
        return self.decide(self.next(tool, **query), "deny", reason=reason)

    def respond(self, answer: Any, tool: str | None = None, **query: str) -> Record:
        return self.decide(self.next(tool, **query), "respond", answer=answer)

    async def anext(self, *args: Any, **kwargs: Any) -> Record:
        return await asyncio.to_thread(self.next, *args, **kwargs)

    async def aapprove(self, *args: Any, **kwargs: Any) -> Record:
        return await asyncio.to_thread(self.approve, *args, **kwargs)

    async def aedit(self, *args: Any, **kwargs: Any) -> Record:
        return await asyncio.to_thread(self.edit, *args, **kwargs)

    async def adeny(self, *args: Any, **kwargs: Any) -> Record:
        return await asyncio.to_thread(self.deny, *args, **kwargs)

    async def arespond(self, *args: Any, **kwargs: Any) -> Record:
        return await asyncio.to_thread(self.respond, *args, **kwargs)

    @contextlib.contextmanager
    def always(
        self, decision: str | Callable[[Record], tuple[str, dict[str, Any]]] = "approve", **fields: Any
    ) -> Iterator[Reviewer]:
        """Decides everything that comes in, on a thread, until the block ends.

        `decision` is a word, or a function of the record that returns a word and the fields that go with it.
        """
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                with contextlib.suppress(placet.PlacetError):
                    for one in self.pending():
                        if one.id not in self._decided:
                            word, rest = decision(one) if callable(decision) else (decision, fields)
                            # Withdrawn or decided meanwhile: that is not the reviewer's business.
                            with contextlib.suppress(placet.Conflict):
                                self.decide(one, word, **rest)
                stop.wait(0.02)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            stop.set()
            thread.join()
