"""`Client`: the blocking client. What to send and how to read it is in `core`; this file does it."""

from __future__ import annotations

import contextlib
import inspect
import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from . import questions, reporting, wait
from .background import Background
from .base import GONE, Base, Body, UnusableBody, checked_on_denied, checked_report, lost
from .core import hold, steps, wire
from .core.effects import Effect, Flow, Pause, Send, WaitNotice
from .core.listen import Event, Listener
from .core.retry import Outage
from .core.sse import TooLong
from .errors import PlacetError, ProtocolError
from .held import SyncHeld
from .models import Call, Claim, Page, Record
from .waiting import Callback, OnWaiting, log, show

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Sequence

    import httpx
    from typing_extensions import Self, Unpack

    from .words import Decision, Input, OnDenied, OnOutage, QuestionOptions, Refusal, Report, Then

T = TypeVar("T")


@dataclass(frozen=True)
class _Line:
    """The connections and waiters of one process."""

    http: httpx.Client
    hub: wait.Hub
    pid: int


class Client(Base):
    """The blocking client. Safe to use from several threads; all calls that wait share one stream."""

    _transport_kind = "transport"

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 5.0,
        outage_budget: float = 30.0,
        on_outage: OnOutage = "deny",
        name: str | None = None,
        transport: httpx.BaseTransport | None = None,
        on_waiting: Callback | None = show,
        verify: str | os.PathLike[str] | ssl.SSLContext | None = None,
        report: Report = "now",
    ):
        super().__init__(url, token, timeout, outage_budget, on_outage, name, transport, on_waiting, verify)
        if checked_report(report) == "background":
            self._background = Background(self._drive)
        self._lock = threading.Lock()
        self._open: _Line | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Sends what is left to report, and closes the connections."""
        if self._background is not None:
            self._background.flush(self.settings.outage_budget)
        with self._lock:
            line, self._open = self._open, None
        if line is not None and line.pid == os.getpid():
            line.hub.close()
            line.http.close()

    def _line(self) -> _Line:
        import httpx

        from . import deadline

        with self._lock:
            # A forked child must not talk on its parent's connections, nor wait on a thread it does not have.
            if self._open is None or self._open.pid != os.getpid():
                # The stream has a connection of its own, so that it never queues behind calls.
                http, streaming = (deadline.bound(httpx.Client(**self._options())) for _ in range(2))
                self._open = _Line(http, wait.Hub(streaming, self.timeout), os.getpid())
            return self._open

    def _perform(self, effect: Effect) -> Any:
        line = self._line()
        if isinstance(effect, Send):
            if effect.look:
                with line.hub.looks:
                    return self._send(line.http, effect)
            return self._send(line.http, effect)
        if isinstance(effect, Pause):
            return time.sleep(effect.seconds)
        if isinstance(effect, WaitNotice):
            return self.tell(effect)
        return line.hub.news(effect)

    def tell(self, effect: WaitNotice) -> None:
        """Tells the program why a call waits. For adapters."""
        said = self.teller.tell(effect)
        if inspect.iscoroutine(said):
            said.close()
            log.error("on_waiting is a coroutine function, which a blocking call cannot await; give a plain function")

    def _send(self, http: httpx.Client, call: Send) -> Any:
        import httpx

        from . import deadline

        sent = time.monotonic()
        try:
            within = self._within(call)
            with deadline.within(within), http.stream(**self._request(call)) as response:
                body = Body(response, call, sent, within)
                for piece in response.iter_bytes():
                    body.add(piece)
                return body.reply()
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, UnusableBody) as error:
            return lost(error)

    def _drive(self, flow: Flow[T]) -> T:
        """Runs a flow: does what it asks for until it ends."""
        try:
            effect = next(flow)
            while True:
                effect = flow.send(self._perform(effect))
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        finally:
            flow.close()

    def _withdrawn(self, asked: hold.Ticket, flow: Flow[hold.Outcome]) -> hold.Outcome:
        """Runs a flow. If the caller is interrupted, its request is withdrawn."""
        try:
            return self._drive(flow)
        except PlacetError:
            raise
        except BaseException:
            if asked.sent:
                farewell = threading.Thread(target=self._drive, args=(hold.abandon(asked, self.settings),), daemon=True)
                farewell.start()
                farewell.join(GONE)
            raise

    def _told(self) -> None:
        """Waits until the server has the coverage report, because policy may ask for it."""
        if (reports := reporting.under_way(self)) is not None:
            reports.wait(self.timeout)

    def hold(
        self, call: Call, hold_for: float | None = None, then: Then = "cancel", *, on_outage: OnOutage | None = None
    ) -> SyncHeld:
        """Create, wait, claim. Only `held.go` lets the call run, once; report with `held.succeeded` or `.failed`.

        `hold_for` bounds the wait here, in seconds; `then` says what its end does to the request: `cancel` or `leave`.
        """
        self._told()
        asked, flow = self._holding(call, self._terms(hold_for, then, on_outage, call.on_waiting))
        return SyncHeld(self, self._withdrawn(asked, flow), call.tool, asked.id)

    @overload
    def run(
        self,
        call: Call,
        fn: Callable[..., T],
        *,
        hold_for: float | None = None,
        on_denied: Literal["return"] = "return",
        on_outage: OnOutage | None = None,
    ) -> T | Refusal: ...

    @overload
    def run(
        self,
        call: Call,
        fn: Callable[..., T],
        *,
        hold_for: float | None = None,
        on_denied: Literal["raise"],
        on_outage: OnOutage | None = None,
    ) -> T: ...

    def run(
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
        held = self.hold(call, hold_for, on_outage=on_outage)
        if not held.go:
            if on_denied == "raise":
                held.raise_for_refusal()
            return held.result()
        try:
            value = fn(**held.arguments)
        except BaseException as error:
            held.failed(error)
            raise
        held.succeeded(value)
        return value

    def _ask(self, body: dict[str, Any], common: QuestionOptions) -> SyncHeld:
        asked, flow = self._asking(body, common)
        return SyncHeld(self, self._withdrawn(asked, flow), None, asked.id)

    def confirm(
        self,
        message: str,
        *,
        details: str | None = None,
        confirm_label: str | None = None,
        cancel_label: str | None = None,
        **common: Unpack[QuestionOptions],
    ) -> SyncHeld:
        """Asks for a yes or no. True in a condition only if a person approved."""
        body = questions.confirmation(message, details, confirm_label, cancel_label, **common)
        return self._ask(body, common)

    def ask(
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
    ) -> SyncHeld:
        """Asks for a `text`, `number`, `choice`, `multi_choice`, `date` or `file`; `held.answer` has the answer."""
        body = questions.question(question, type, options, min, max, required, default, **common)
        return self._ask(body, common)

    def propose(
        self,
        title: str,
        steps: Sequence[dict[str, Any]],
        *,
        can_modify: bool = False,
        estimated_duration: str | None = None,
        **common: Unpack[QuestionOptions],
    ) -> SyncHeld:
        """Proposes a plan. `held.go` when it was approved; `held.steps` has its steps in the approved order."""
        body = questions.plan(title, steps, can_modify, estimated_duration, **common)
        return self._ask(body, common)

    def create(
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
        self._told()
        return self._drive(self._creating(body, key, weak_key, wait, claimant, claim))

    def get(self, id: str, *, wait: float | None = None, version: int | None = None) -> Record:
        """Reads. With `wait`, once it is no longer pending (with `version`: once that is no longer its version)."""
        return self._drive(self._about(id, wire.get(id, wait=wait, version=version)))

    def wait(self, id: str, timeout: float | None = None, *, on_waiting: OnWaiting = "inherit") -> Record:
        """The request once it is no longer pending, or as it stands after `timeout` seconds."""
        return self._drive(steps.find_and_wait(id, self.settings, timeout, on_waiting))

    def claim(self, id: str, claimant: str) -> Claim:
        """Claims the permit. The same claimant gets it again; others get `Conflict`."""
        return self._drive(steps.claim(id, claimant, self.settings))

    def report(
        self, id: str, permit: str, status: str, *, result_digest: str | None = None, note: str | None = None
    ) -> Record:
        """Reports the outcome: `succeeded` or `failed`."""
        return self._drive(self._about(id, wire.report(id, permit, status, result_digest, note)))

    def cancel(self, id: str, reason: str | None = None) -> Record:
        """Withdraws a request that is pending, or approved and not claimed."""
        return self._drive(self._about(id, wire.cancel(id, reason)))

    def decide(
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
        return self._drive(self._deciding(id, decision, digest, version, reason, arguments, answer, steps))

    def list(self, **query: str | int) -> Page:
        """For people: `state`, `agent`, `tool`, `session`, `risk`, `group`, `q`, `cursor`, `limit`."""
        return self._drive(self._listing(query))

    def stream(self, after: str | None = None) -> Iterator[Event]:
        """Everything that happens to the requests this key may see, from now or from the event `after` on.

        Connects again by itself, where it broke off. Raises nothing for an outage; ends never.
        """
        import httpx

        listener = Listener(after, self.url)
        pauses = Outage(float("inf"))
        while True:
            try:
                with contextlib.closing(
                    wait.blocking_events(self._line().hub.http, listener, self.timeout)
                ) as arriving:
                    for event in arriving:
                        pauses.over()
                        if event.type != "heartbeat":
                            yield event
            except (wait.NoStream, TooLong) as error:
                raise ProtocolError(f"there is no stream at {self.url}: {error}") from error
            except (httpx.HTTPError, httpx.StreamError, OSError, wait.ServerBusy):
                pass
            time.sleep(pauses.pause() or 0.0)
