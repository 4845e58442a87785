"""The words that options and answers are made of, and the shapes that gated functions have, as types."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, TypedDict, TypeVar, overload

if TYPE_CHECKING:
    from .aio import AsyncClient
    from .blocking import Client
    from .waiting import OnWaiting

P = ParamSpec("P")
Rest = ParamSpec("Rest")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Risk = Literal["low", "medium", "high", "critical"]
Decision = Literal["approve", "edit", "deny", "respond"]
Mode = Literal["block", "pause"]
OnOutage = Literal["deny", "raise", "pause"]
OnDenied = Literal["return", "raise"]
Then = Literal["cancel", "leave"]
Report = Literal["now", "background"]
Input = Literal["text", "number", "choice", "multi_choice", "date", "file"]
Status = Literal[
    "approved", "denied", "answered", "expired", "cancelled", "revoked", "lapsed",
    "unreachable", "unknown", "pending", "failed",
]  # fmt: skip
"""What came of asking. Only `approved` is a yes."""


class _Refusal(TypedDict):
    status: Status
    tool: str | None
    message: str
    request: str | None


class Refusal(_Refusal, total=False):
    """What `held.result()` returns: what the model is told in place of the tool's own result."""

    reason: str
    answer: Any
    """When `status` is `answered`."""
    url: str | None
    """When `status` is `pending`: where a person decides."""


class CallOptions(TypedDict, total=False):
    """What may be said about a call, in every adapter."""

    risk: Risk | None
    summary: str | Callable[[dict[str, Any]], str] | None
    allowed: Sequence[Decision]
    expires_in: str | float | None
    on_behalf_of: str | None
    idempotent: bool
    on_waiting: OnWaiting


class QuestionStays(TypedDict, total=False):
    """What is said about asking a question, and stays here."""

    key: str | None
    hold_for: float | None
    on_outage: OnOutage | None
    on_waiting: OnWaiting


class QuestionOptions(QuestionStays, total=False):
    """What `confirm`, `ask` and `propose` have in common."""

    session: str | None
    summary: str | None
    risk: Risk | None
    context: dict[str, Any] | None
    expires_in: str | float | None
    on_behalf_of: str | None
    group: str | None


class GateOptions(TypedDict, total=False):
    """The options of `placet.gate`, all but `on_denied`, on which the type of the gated function depends."""

    tool: str | None
    risk: Risk | None
    summary: str | Callable[..., str] | None
    allowed: Sequence[Decision]
    expires_in: str | float | None
    hold_for: float | None
    on_outage: OnOutage | None
    describe: Callable[..., dict[str, Any]] | None
    idempotent: bool
    client: Client | AsyncClient | None
    on_waiting: OnWaiting


class Gated(Protocol[P, R_co]):
    """A gated plain function. `aio` is its form for event loops."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    def aio(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R_co]: ...

    @overload
    def __get__(self, instance: None, owner: type | None = None, /) -> Gated[P, R_co]: ...

    @overload
    def __get__(
        self: Gated[Concatenate[Any, Rest], R], instance: object, owner: type | None = None, /
    ) -> Callable[Rest, R]: ...


class AsyncGated(Protocol[P, R_co]):
    """A gated `async def`."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R_co]: ...

    def aio(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R_co]: ...

    @overload
    def __get__(self, instance: None, owner: type | None = None, /) -> AsyncGated[P, R_co]: ...

    @overload
    def __get__(
        self: AsyncGated[Concatenate[Any, Rest], R], instance: object, owner: type | None = None, /
    ) -> Callable[Rest, Coroutine[Any, Any, R]]: ...


class Gating(Protocol):
    """A decorator: the function may return a `Refusal` in place of its own result."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # an `async def` is a function, too: the first one that fits counts
        self, fn: Callable[P, Coroutine[Any, Any, R]], /
    ) -> AsyncGated[P, R | Refusal]: ...

    @overload
    def __call__(self, fn: Callable[P, R], /) -> Gated[P, R | Refusal]: ...


class Raising(Protocol):
    """A decorator: the function returns what it returned before, or raises `Refused`."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, fn: Callable[P, Coroutine[Any, Any, R]], /
    ) -> AsyncGated[P, R]: ...

    @overload
    def __call__(self, fn: Callable[P, R], /) -> Gated[P, R]: ...
