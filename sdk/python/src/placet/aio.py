"""`AsyncClient`: the client for asyncio. What to send and how to read it is in `core`; this file does it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from . import questions, reporting, wait
from .background import Background
from .base import CALLS, GONE, Base, Body, UnusableBody, checked_on_denied, checked_report, lost
from .blocking import Client
from .core import hold, steps, wire
from .core.effects import Effect, Flow, Pause, Send, WaitNotice
from .core.listen import Event, Listener
from .core.retry import Outage
from .core.sse import TooLong
from .errors import ConfigError, PlacetError, ProtocolError
from .held import AsyncHeld
from .models import Call, Claim, Page, Record
from .waiting import Callback, OnWaiting, failed, show

if TYPE_CHECKING:
    import os
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    import httpx
    from typing_extensions import Self, Unpack

    from .words import Decision, Input, OnDenied, OnOutage, QuestionOptions, Refusal, Report, Then

T = TypeVar("T")


@dataclass(frozen=True)
class _Line:
    """The connections and waiters of one event loop."""

    http: httpx.AsyncClient
    hub: wait.AsyncHub
    calls: asyncio.Semaphore


class AsyncClient(Base):
    """The client for asyncio. Make one for the whole program; it may be used on several event loops."""

    _transport_kind = "async_transport"

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 5.0,
        outage_budget: float = 30.0,
        on_outage: OnOutage = "deny",
        name: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        on_waiting: Callback | None = show,
        verify: str | os.PathLike[str] | ssl.SSLContext | None = None,
        report: Report = "now",
    ):
        super().__init__(url, token, timeout, outage_budget, on_outage, name, transport, on_waiting, verify)
        self._telling: set[asyncio.Task[None]] = set()
        self._reporter: Client | None = None
        if checked_report(report) == "background":
            if transport is not None:
                raise ConfigError("report='background' cannot use a transport of an event loop: leave one of them out")
            # Its own connections, on its own thread: an event loop that ends takes its tasks with it.
            self._reporter = self.twin(Client)
            self._background = Background(self._reporter._drive)
        self._lines: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = weakref.WeakKeyDictionary()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Sends what is left to report, and closes the connections of this event loop."""
        loop = asyncio.get_running_loop()
        if self._background is not None and self._reporter is not None:
            await asyncio.to_thread(self._background.flush, self.settings.outage_budget)
            self._reporter.close()
        telling = [task for task in self._telling if task.get_loop() is loop]
        if telling:
            await asyncio.wait(telling, timeout=GONE)
        line = self._lines.pop(loop, None)
        if line is not None:
            await line.hub.close()
            await line.http.aclose()

    def _line(self) -> _Line:
        import httpx

        loop = asyncio.get_running_loop()
        line = self._lines.get(loop)
        if line is None:
            # The stream has a connection of its own, so that it never queues behind calls.
            http, streaming = (httpx.AsyncClient(**self._options()) for _ in range(2))
            line = self._lines[loop] = _Line(http, wait.AsyncHub(streaming, self.timeout), asyncio.Semaphore(CALLS))
        return line

    async def _perform(self, effect: Effect) -> Any:
        line = self._line()
        if isinstance(effect, Send):
            if effect.held_for and not effect.look:
                return await self._send(line.http, effect)
            async with line.hub.looks if effect.look else line.calls:
                return await self._send(line.http, effect)
        if isinstance(effect, Pause):
            return await asyncio.sleep(effect.seconds)
        if isinstance(effect, WaitNotice):
            return self.tell(effect)
        return await line.hub.news(effect)

    def tell(self, effect: WaitNotice) -> None:
        """Tells the program why a call waits. For adapters."""
        said = self.teller.tell(effect)
        if inspect.isawaitable(said):
            # In a task of its own, so that the call does not wait for a slow callback.
            task = asyncio.ensure_future(_told(said))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _send(self, http: httpx.AsyncClient, call: Send) -> Any:
        import anyio
        import httpx

        sent = time.monotonic()
        try:
            # Not `wait_for`, which before Python 3.12 may lose the cancellation of who waits here.
            within = self._within(call)
            with anyio.fail_after(within):
                async with http.stream(**self._request(call)) as response:
                    body = Body(response, call, sent, within)
                    async for piece in response.aiter_bytes():
                        body.add(piece)
                    return body.reply()
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, TimeoutError, UnusableBody) as error:
            return lost(error)

    async def _drive(self, flow: Flow[T]) -> T:
        """Runs a flow: does what it asks for until it ends."""
        try:
            effect = next(flow)
            while True:
                effect = flow.send(await self._perform(effect))
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        finally:
            flow.close()

    async def _shielded(self, flow: Flow[T]) -> T:
        """Runs to its end even if the caller is cancelled."""
        return await asyncio.shield(asyncio.ensure_future(self._drive(flow)))

    async def _withdrawn(self, asked: hold.Ticket, flow: Flow[hold.Outcome], keep: bool = False) -> hold.Outcome:
        """Runs a flow. If the caller is cancelled, its request is withdrawn, unless it is to be kept."""
        try:
            return await self._drive(flow)
        except PlacetError:
            raise
        except BaseException:
            if asked.sent:
                farewell = asyncio.ensure_future(self._drive(hold.abandon(asked, self.settings, keep)))
                try:
                    # If it is cancelled again, the withdrawal goes on by itself, within its time.
                    await asyncio.wait({farewell}, timeout=GONE)
                    farewell.cancel()
                except asyncio.CancelledError:
                    pass
            raise

    async def _told(self) -> None:
        """Waits until the server has the coverage report, because policy may ask for it."""
        if (reports := reporting.under_way(self)) is not None:
            await asyncio.to_thread(reports.wait, self.timeout)

    async def hold(
        self,
        call: Call,
        hold_for: float | None = None,
        then: Then = "cancel",
        *,
        on_outage: OnOutage | None = None,
        keep: bool = False,
    ) -> AsyncHeld:
        """Create, wait, claim. Only `held.go` lets the call run, once; report with `held.succeeded` or `.failed`.

        `hold_for` bounds the wait here, in seconds; `then` says what its end does to the request: `cancel` or `leave`.
        `keep`: a caller that is cancelled leaves the request as it is, for another one that goes on with it.
        """
        await self._told()
        asked, flow = self._holding(call, self._terms(hold_for, then, on_outage, call.on_waiting))
        return AsyncHeld(self, await self._withdrawn(asked, flow, keep), call.tool, asked.id)

    @overload
    async def run(
        self,
        call: Call,
        fn: Callable[..., Awaitable[T]],
        *,
        hold_for: float | None = None,
        on_denied: Literal["return"] = "return",
        on_outage: OnOutage | None = None,
    ) -> T | Refusal: ...

    @overload
    async def run(
        self,
        call: Call,
        fn: Callable[..., T],
        *,
        hold_for: float | None = None,
        on_denied: Literal["return"] = "return",
        on_outage: OnOutage | None = None,
    ) -> T | Refusal: ...

    @overload
    async def run(
        self,
        call: Call,
        fn: Callable[..., Awaitable[T]],
        *,
        hold_for: float | None = None,
        on_denied: Literal["raise"],
        on_outage: OnOutage | None = None,
    ) -> T: ...

    @overload
    async def run(
        self,
        call: Call,
        fn: Callable[..., T],
        *,
        hold_for: float | None = None,
        on_denied: Literal["raise"],
        on_outage: OnOutage | None = None,
    ) -> T: ...

    async def run(
        self,
        call: Call,
        fn: Callable[..., Any],
        *,
        hold_for: float | None = None,
        on_denied: OnDenied = "return",
        on_outage: OnOutage | None = None,
    ) -> Any:
        """Holds the call, runs `fn(**arguments)` once if it may, reports, and returns its value or `held.result()`."""
        checked_on_denied(on_denied)
        held = await self.hold(call, hold_for, on_outage=on_outage)
        if not held.go:
            if on_denied == "raise":
                held.raise_for_refusal()
            return held.result()
        try:
            value = fn(**held.arguments)
            if inspect.isawaitable(value):
                value = await value
        except BaseException as error:
            await held.failed(error)
            raise
        await held.succeeded(value)
        return value

    async def _ask(self, body: dict[str, Any], common: QuestionOptions) -> AsyncHeld:
        asked, flow = self._asking(body, common)
        return AsyncHeld(self, await self._withdrawn(asked, flow), None, asked.id)

    async def confirm(
        self,
        message: str,
        *,
        details: str | None = None,
        confirm_label: str | None = None,
        cancel_label: str | None = None,
        **common: Unpack[QuestionOptions],
    ) -> AsyncHeld:
        """Asks for a yes or no. True in a condition only if a person approved."""
        body = questions.confirmation(message, details, confirm_label, cancel_label, **common)
        return await self._ask(body, common)

    async def ask(
        self,
        question: str,
        type: Input = "text",
        *,
        options: Sequence[str] | None = None,
        min: float | None = None,
        max: float | None = None,
        required: bool = True,
        default: Any = None,
        **common: Unpack[QuestionOptions],
    ) -> AsyncHeld:
        """Asks for a `text`, `number`, `choice`, `multi_choice`, `date` or `file`; `held.answer` has the answer."""
        body = questions.question(question, type, options, min, max, required, default, **common)
        return await self._ask(body, common)

    async def propose(
        self,
        title: str,
        steps: Sequence[dict[str, Any]],
        *,
        can_modify: bool = False,
        estimated_duration: str | None = None,
        **common: Unpack[QuestionOptions],
    ) -> AsyncHeld:
        """Proposes a plan. `held.go` when it was approved; `held.steps` has its steps in the approved order."""
        body = questions.plan(title, steps, can_modify, estimated_duration, **common)
        return await self._ask(body, common)

    async def create(
        self,
        body: dict[str, Any],
        *,
        key: str | None = None,
        weak_key: str | None = None,
        wait: float | None = None,
        claimant: str | None = None,
        claim: bool = False,
    ) -> Record:
        """Asks. With `claim` the answer may carry `permit` in its `raw`."""
        await self._told()
        return await self._drive(self._creating(body, key, weak_key, wait, claimant, claim))

    async def get(self, id: str, *, wait: float | None = None, version: int | None = None) -> Record:
        """Reads. With `wait`, once it is no longer pending (with `version`: once that is no longer its version)."""
        return await self._drive(self._about(id, wire.get(id, wait=wait, version=version)))

    async def wait(self, id: str, timeout: float | None = None, *, on_waiting: OnWaiting = "inherit") -> Record:
        """The request once it is no longer pending, or as it stands after `timeout` seconds."""
        return await self._drive(steps.find_and_wait(id, self.settings, timeout, on_waiting))

    async def claim(self, id: str, claimant: str) -> Claim:
        """Claims the permit. The same claimant gets it again; others get `Conflict`."""
        return await self._drive(steps.claim(id, claimant, self.settings))

    async def report(
        self, id: str, permit: str, status: str, *, result_digest: str | None = None, note: str | None = None
    ) -> Record:
        """Reports the outcome: `succeeded` or `failed`."""
        return await self._drive(self._about(id, wire.report(id, permit, status, result_digest, note)))

    async def cancel(self, id: str, reason: str | None = None) -> Record:
        """Withdraws a request that is pending, or approved and not claimed."""
        return await self._drive(self._about(id, wire.cancel(id, reason)))

    async def decide(
        self,
        id: str,
        decision: Decision,
        *,
        digest: str,
        version: int,
        reason: str | None = None,
        arguments: dict[str, Any] | None = None,
        answer: Any = None,
        steps: Sequence[dict[str, Any]] | None = None,
    ) -> Record:
        """For people: decides on exactly what the record with this digest and version showed."""
        return await self._drive(self._deciding(id, decision, digest, version, reason, arguments, answer, steps))

    async def list(self, **query: str | int) -> Page:
        """For people: `state`, `agent`, `tool`, `session`, `risk`, `group`, `q`, `cursor`, `limit`."""
        return await self._drive(self._listing(query))

    async def stream(self, after: str | None = None) -> AsyncIterator[Event]:
        """Everything that happens to the requests this key may see, from now or from the event `after` on.

        Connects again by itself, where it broke off. Raises nothing for an outage; ends never.
        """
        import httpx

        listener = Listener(after, self.url)
        pauses = Outage(float("inf"))
        while True:
            try:
                async with contextlib.aclosing(wait.events(self._line().hub.http, listener, self.timeout)) as arriving:
                    async for event in arriving:
                        pauses.over()
                        if event.type != "heartbeat":
                            yield event
            except (wait.NoStream, TooLong) as error:
                raise ProtocolError(f"there is no stream at {self.url}: {error}") from error
            except (httpx.HTTPError, httpx.StreamError, OSError, wait.ServerBusy):
                pass
            await asyncio.sleep(pauses.pause() or 0.0)


async def _told(said: Awaitable[Any]) -> None:
    try:
        await said
    except Exception:
        failed()
