"""Clients of A2A as the scenarios need them: the real SDKs, and the bare wire, behind the same few calls."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from .wire import Refused, Wire, texts

T = TypeVar("T")


@dataclass(frozen=True)
class Seen:
    """What a client was told: a task, or an event of its stream. `state` is None where there is none in it."""

    id: str | None
    context: str | None
    state: str | None
    text: str
    raw: dict[str, Any]

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Seen:
        told = next((raw[name] for name in ("task", "statusUpdate", "artifactUpdate", "message") if name in raw), raw)
        status = told.get("status") or {}
        word = status.get("state")
        return cls(
            told.get("taskId") or (told.get("id") if "status" in told else None),
            told.get("contextId"),
            word and word.removeprefix("TASK_STATE_").lower().replace("_", "-"),
            texts(
                {"status": status, "artifacts": [*(told.get("artifacts") or []), told.get("artifact") or {"parts": []}]}
            ),
            raw,
        )


class Peer(Protocol):
    """Text becomes a text part, a dict a data part. What is refused raises `Refused`."""

    def send(self, *parts: Any, task: str | None = None, context: str | None = None) -> Seen: ...
    def stream(self, *parts: Any, task: str | None = None, context: str | None = None) -> Iterator[Seen]: ...
    def get(self, task: str) -> Seen: ...
    def cancel(self, task: str) -> Seen: ...
    def subscribe(self, task: str) -> Iterator[Seen]: ...


class Bare:
    """The wire."""

    def __init__(self, url: str, token: str, version: str, headers: dict[str, str] | None = None):
        self.wire = Wire(url, token, version, headers=headers)

    def send(self, *parts: Any, **message: Any) -> Seen:
        return Seen.of(self.wire.send(*parts, **message))

    def stream(self, *parts: Any, **message: Any) -> Iterator[Seen]:
        for event in self.wire.stream(*parts, **message):
            yield Seen.of(event)

    def get(self, task: str) -> Seen:
        return Seen.of(self.wire.get(task))

    def cancel(self, task: str) -> Seen:
        return Seen.of(self.wire.call("cancel", {"id": task}))

    def subscribe(self, task: str) -> Iterator[Seen]:
        for event in self.wire.subscribe(task):
            yield Seen.of(event)


class Loop:
    """An event loop on a thread, for SDKs that only have asyncio."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, work: Coroutine[Any, Any, T], within: float = 60.0) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(within)

    def iterate(self, make: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
        """What an asynchronous iterator gives. Closing this closes that, and with it the socket."""

        async def begin() -> AsyncIterator[T]:
            return aiter(make())

        async def following() -> tuple[bool, T | None]:
            try:
                return True, await anext(events)
            except StopAsyncIteration:
                return False, None

        events = self.run(begin())
        try:
            while True:
                there, event = self.run(following())
                if not there:
                    return
                yield event
        finally:
            close = getattr(events, "aclose", None)
            if close:
                self.run(close())


class Asynchronous(ABC):
    """A real SDK behind these calls. What is left to each is what the versions of A2A name differently."""

    errors: type[Exception]
    """What the SDK raises where it is refused."""

    _plain: Any
    _streaming: Any
    """Its clients: one that waits for the whole answer, and one that follows it."""

    def __init__(self, *words: str):
        self._loop = Loop()
        self._loop.run(self._open(*words))

    @abstractmethod
    async def _open(self, *words: str) -> None:
        """Makes the clients."""

    @abstractmethod
    def _asking(self, parts: tuple[Any, ...], task: str | None, context: str | None) -> Any: ...

    @abstractmethod
    def _seen(self, told: Any) -> Seen:
        """What the SDK says, be it the answer to a call or an event of a stream."""

    @abstractmethod
    def _refused(self, error: Any) -> Refused: ...

    def _one(self, call: Coroutine[Any, Any, Any]) -> Seen:
        try:
            return self._seen(self._loop.run(call))
        except self.errors as error:
            raise self._refused(error) from error

    def _events(self, make: Callable[[], AsyncIterator[Any]]) -> Iterator[Seen]:
        try:
            for event in self._loop.iterate(make):
                yield self._seen(event)
        except self.errors as error:
            raise self._refused(error) from error

    def send(self, *parts: Any, task: str | None = None, context: str | None = None) -> Seen:
        asking = self._asking(parts, task, context)
        (told,) = self._events(lambda: self._plain.send_message(asking))
        return told

    def stream(self, *parts: Any, task: str | None = None, context: str | None = None) -> Iterator[Seen]:
        asking = self._asking(parts, task, context)
        yield from self._events(lambda: self._streaming.send_message(asking))
