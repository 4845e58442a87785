"""Everything that can be raised. Nothing here ever means yes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .held import Held
    from .models import Record


class PlacetError(Exception):
    """The base of all errors of this package."""


class ConfigError(PlacetError, ValueError):
    """The program is set up wrongly: a missing key, a URL that is none, a word that does not exist."""


class NotJson(PlacetError, TypeError):
    """An argument that JSON cannot carry. A person would approve something other than what runs."""


class BlockingCall(PlacetError, RuntimeError):
    """A sync gated function was called on the thread of a running event loop, which it would stop."""


class Problem(PlacetError):
    """The server understood the call and refused it. `code` is stable; `detail` is for people."""

    def __init__(
        self, status: int, code: str, detail: str, *, pointer: str | None = None, record: Record | None = None
    ):
        where = f" (at {pointer})" if pointer else ""
        super().__init__(f"{detail}{where} [{status} {code}]")
        self.status = status
        self.code = code
        self.detail = detail
        self.pointer = pointer
        self.record = record


class WrongKey(Problem, ConfigError):
    """401 or 403: the key is unknown, was revoked, or belongs to another role."""


class Conflict(Problem):
    """409: too late, somebody else was first, or a key was used with another body. `record` is how it stands."""


class Invalid(Problem):
    """422: a field does not fit; `pointer` says which."""


class Refused(PlacetError):
    """The call may not run. `held` has the details when there was a request."""

    def __init__(self, message: str, held: Held | None = None):
        super().__init__(message)
        self.held = held


class Denied(Refused):
    """A person, or policy, said no."""


class Answered(Refused):
    """A person answered in place of the run. `held.answer` has it."""


class Expired(Refused):
    """Nobody decided in time."""


class Cancelled(Refused):
    """It was withdrawn."""


class Revoked(Refused):
    """The approval was taken back before it was used."""


class Lapsed(Refused):
    """The approval was not used in time."""


class StillPending(Refused):
    """Nobody has decided yet, and the caller does not wait any longer."""


class OutcomeUnknown(Refused):
    """Another process claimed this call. Whether it ran is not known here, so it does not run again."""


class NotRunnable(Refused):
    """Approved, but not run: the edited arguments do not fit the function, or the permit is for something else."""


class Unreachable(Refused):
    """The server could not be reached, or could not answer, for as long as the outage budget allowed."""


class ProtocolError(Unreachable):
    """Something answers at this URL, but it does not speak as a Placet server does."""


class WrongAnswer(ProtocolError):
    """The server answered about another call than the one that was asked for, or without an end. Nothing was run."""


# Their names before both SDKs had the same.
ApiError = Problem
UnknownOutcome = OutcomeUnknown
NotRun = NotRunnable
