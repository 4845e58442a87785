"""google-adk: the options of the plugin and of the callbacks, and what a gated function is, as types."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict, overload

from ..waiting import OnWaiting
from ..words import Decision, OnDenied, P, R, Refusal, Risk
from . import _names

Tools = Iterable[str] | Callable[[Any], bool] | None
BeforeTool = Callable[..., Coroutine[Any, Any, dict[str, Any] | None]]
"""A `before_tool_callback` of google-adk."""
Mode = Literal["block", "pause", "hybrid"]


class GateOptions(TypedDict, total=False):
    """What `PlacetPlugin` and `before_tool` take."""

    mode: Mode
    hold_for: float | None
    tools: Tools
    risk: Risk | Mapping[str, Risk] | None
    summary: Callable[[Any, dict[str, Any]], str | None] | None
    allowed: Sequence[Decision]
    expires_in: str | float | None
    refused: Callable[[Any], dict[str, Any]] | None
    uncovered: _names.Uncovered
    on_waiting: OnWaiting
    on_denied: OnDenied | None


class ToolOptions(TypedDict, total=False):
    """What `tool` says about a function, beside its client."""

    risk: Risk | None
    summary: Callable[[Any, dict[str, Any]], str | None] | None
    allowed: Sequence[Decision]
    expires_in: str | float | None
    hold_for: float | None
    on_denied: OnDenied | None


class Gating(Protocol):
    """The decorator. After an edit the function returns a dict, which says what ran."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # as in `words.Gating`
        self, fn: Callable[P, Coroutine[Any, Any, R]], /
    ) -> Callable[P, Coroutine[Any, Any, R | Refusal | dict[str, Any]]]: ...

    @overload
    def __call__(self, fn: Callable[P, R], /) -> Callable[P, Coroutine[Any, Any, R | Refusal | dict[str, Any]]]: ...
