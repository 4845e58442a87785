"""What came of asking: go or not, with which arguments, and the report afterwards."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from . import args, digest, errors
from .core import hold, steps, wire

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from .aio import AsyncClient
    from .blocking import Client
    from .core.effects import Flow
    from .models import Record
    from .words import Refusal, Status

log = logging.getLogger("placet")

NOTE = 2_000
"""How much of an error message goes into a report."""

MESSAGES: dict[Status, str] = {
    "approved": "This call was approved.",
    "denied": "This call was denied, and nothing was run. Do not repeat it unchanged.",
    "answered": "Nothing was run: a person answered in place of the tool, see `answer`.",
    "expired": "Nobody decided in time, so nothing was run. This is not a refusal by a person.",
    "cancelled": "The request for approval was withdrawn, and nothing was run.",
    "revoked": "The approval was taken back before it was used, and nothing was run.",
    "lapsed": "The approval was not used in time, and nothing was run.",
    "unreachable": "The approval service cannot be reached; nobody said no, and nothing was run.",
    "unknown": "This call was approved and started before, and its outcome is not known here. It was not run again.",
    "pending": "Nobody has decided yet, and nothing was run. The request for approval stays open.",
    "failed": "The call was approved but could not be run as approved, and nothing was run.",
}
"""The TypeScript SDK says the same. A test compares them."""
ERRORS: dict[Status, type[errors.Refused]] = {
    "denied": errors.Denied,
    "answered": errors.Answered,
    "expired": errors.Expired,
    "cancelled": errors.Cancelled,
    "revoked": errors.Revoked,
    "lapsed": errors.Lapsed,
    "unreachable": errors.Unreachable,
    "unknown": errors.OutcomeUnknown,
    "pending": errors.StillPending,
    "failed": errors.NotRunnable,
}


class Held:
    """A call that was held. `go` is True only when a person or policy said yes, and the permit is ours."""

    def __init__(self, outcome: hold.Outcome, tool: str | None, request_id: str | None):
        self._outcome = outcome
        self.tool = tool
        self.status: Status = outcome.status
        self.record: Record | None = outcome.record
        self.request_id = outcome.record.id if outcome.record else request_id
        self.edited = outcome.edited
        self.reason = outcome.reason
        self.reported = False

    @property
    def go(self) -> bool:
        """Whether the call may run, once."""
        return self.status == "approved"

    def __bool__(self) -> bool:
        return self.go

    def __repr__(self) -> str:
        return f"Held({self.status}, {self.tool or ''}, {self.request_id})"

    @property
    def url(self) -> str | None:
        """Where a person decides, or sees what was decided: an absolute URL. None when there is no request."""
        return self.record.url if self.record else None

    @property
    def arguments(self) -> dict[str, Any]:
        """What to run. Raises unless the call may run."""
        self.raise_for_refusal()
        return self._outcome.arguments or {}

    def _decision(self, name: str) -> Any:
        decision = self.record.decision if self.record else None
        return decision.get(name) if isinstance(decision, dict) else None

    @property
    def answer(self) -> Any:
        """What a person answered, when the status is `answered`."""
        return self._decision("answer")

    @property
    def steps(self) -> list[dict[str, Any]] | None:
        """Of a plan: the decisions on its steps in the approved order; None when all stand as proposed."""
        found = self._decision("steps")
        return found if isinstance(found, list) else None

    @property
    def by(self) -> list[str]:
        """Who decided; empty when policy did, or nobody."""
        found = self._decision("by")
        return [str(one) for one in found] if isinstance(found, list) else []

    @property
    def message(self) -> str:
        """One sentence that a model understands."""
        return MESSAGES.get(self.status, MESSAGES["denied"])

    def result(self) -> Refusal:
        """The structured result for the model, in place of the tool's own."""
        result: Refusal = {
            "status": self.status,
            "tool": self.tool,
            "message": self.message,
            "request": self.request_id,
        }
        if self.status == "answered":
            result["answer"] = self.answer
        if self.reason:
            result["reason"] = self.reason
        if self.status == "pending":
            result["url"] = self.url
        return result

    def raise_for_refusal(self) -> None:
        """Raises `Denied`, `Expired`, `Unreachable`, …, all of them `Refused`; nothing when the call may run."""
        if self.go:
            return
        reason = f" ({self.reason})" if self.reason else ""
        raise ERRORS.get(self.status, errors.Denied)(f"{self.tool or 'request'}: {self.message}{reason}", self)

    def note(self) -> dict[str, Any]:
        """After an edit: what was run instead, for the model, whose history still shows its own call. Else empty."""
        if not self.edited:
            return {}
        return {"placet": {"edited": True, "executed_arguments": self._outcome.arguments}}

    def _report(
        self, status: str, value: Any = None, note: str | None = None
    ) -> tuple[str, str, str, str | None, str | None]:
        claimed = self._outcome.claim
        if not self.go or claimed is None or self.request_id is None:
            raise errors.ConfigError("there is nothing to report: the call had no permit")
        result_digest = None
        if status == "succeeded" and value is not None:
            try:
                args.check_json(value)
                result_digest = digest.of_json(value)
            except errors.NotJson:
                note = note or "the result is not JSON"
        return self.request_id, claimed.permit, status, result_digest, shortened(note)

    def _handed_over(self, client: Client | AsyncClient, report: tuple[str, str, str, str | None, str | None]) -> bool:
        """Whether the report is sent in the background."""
        later = client._background
        if later is not None and later.put(reporting(report, client.settings), self._unreported):
            self.reported = True
            return True
        return False

    def _unreported(self, error: errors.PlacetError) -> None:
        # It ran. Whoever hears an error here might run it again; so this is said, not raised.
        log.error("%s ran, but its outcome could not be reported, and %s will end `unknown`: %s",
                  self.tool, self.request_id, error)  # fmt: skip


def shortened(note: str | None) -> str | None:
    """A note has a bound on the server; an error message has none, and may have lone surrogates."""
    if note is None:
        return None
    return note.encode("utf-8", "replace")[:NOTE].decode("utf-8", "ignore")


def described(error: BaseException | str) -> str:
    return error if isinstance(error, str) else f"{type(error).__name__}: {error}"


class SyncHeld(Held):
    """What `Client.hold` returns."""

    def __init__(self, client: Client, outcome: hold.Outcome, tool: str | None, request_id: str | None):
        super().__init__(outcome, tool, request_id)
        self._client = client

    def succeeded(self, value: Any = None, note: str | None = None) -> bool:
        """Reports that it ran. False, and an error in the log, if the report did not arrive."""
        return self._send("succeeded", value, note)

    def failed(self, error: BaseException | str) -> bool:
        """Reports that it ran and failed."""
        return self._send("failed", None, described(error))

    def _send(self, status: str, value: Any, note: str | None) -> bool:
        report = self._report(status, value, note)
        if self._handed_over(self._client, report):
            return True
        try:
            self._client._drive(reporting(report, self._client.settings))
            self.reported = True
        except errors.PlacetError as error:
            self._unreported(error)
        return self.reported

    def __enter__(self) -> Self:
        self.raise_for_refusal()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if not self.reported:
            self.failed(error) if error is not None else self.succeeded()


class AsyncHeld(Held):
    """What `AsyncClient.hold` returns."""

    def __init__(self, client: AsyncClient, outcome: hold.Outcome, tool: str | None, request_id: str | None):
        super().__init__(outcome, tool, request_id)
        self._client = client

    async def succeeded(self, value: Any = None, note: str | None = None) -> bool:
        """Reports that it ran. False, and an error in the log, if the report did not arrive."""
        return await self._send("succeeded", value, note)

    async def failed(self, error: BaseException | str) -> bool:
        """Reports that it ran and failed."""
        return await self._send("failed", None, described(error))

    async def _send(self, status: str, value: Any, note: str | None) -> bool:
        report = self._report(status, value, note)
        if self._handed_over(self._client, report):
            return True
        try:
            # A cancelled caller still ran the tool: the report goes out all the same.
            await self._client._shielded(reporting(report, self._client.settings))
            self.reported = True
        except errors.PlacetError as error:
            self._unreported(error)
        return self.reported

    async def __aenter__(self) -> Self:
        self.raise_for_refusal()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if not self.reported:
            await (self.failed(error) if error is not None else self.succeeded())


def reporting(report: tuple[str, str, str, str | None, str | None], settings: steps.Settings) -> Flow[Record]:
    return steps.send(wire.report(*report), settings, steps.a_record(report[0]))
