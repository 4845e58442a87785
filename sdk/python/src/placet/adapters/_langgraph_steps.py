"""LangGraph: what one step asked in a row, and what it was told so far.

A step runs from its first line after each answer: that is LangGraph's rule. What it did after an earlier yes would
happen again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from langgraph import types  # isort: skip (langgraph.py says what is missing)
from langgraph.checkpoint.serde.types import INTERRUPT, RESUME  # isort: skip

IN_A_ROW = 100
"""How many interrupts of one step are told from those of a graph within it."""
YES = frozenset({"accept", "approve", "edit"})
"""The words for yes, in all dialects that need a permit."""


def number(task: Any, interrupt: str) -> int | None:
    """How many interrupts of its step came before this one. None if a graph within the task raised it."""
    return _number(f"{task.name}:{task.id}", interrupt)


def _number(place: str, interrupt: str) -> int | None:
    """LangGraph says it by the id alone."""
    names = (place, *(f"{place}|{answered}" for answered in range(1, IN_A_ROW)))
    return next((i for i, name in enumerate(names) if types.Interrupt.from_ns(None, name).id == interrupt), None)


def own_ids() -> bool:
    """Whether the interrupts that one step raises in a row have ids of their own: from LangGraph 1.2.20 on."""
    named = getattr(types, "_interrupt_id", None)
    return named is not None and named("", 0) != named("", 1)


def answers(writes: Iterable[Any] | None, task: str) -> list[Any]:
    """What a task was told so far."""
    found = [value for id, channel, value in writes or () if (id, channel) == (task, RESUME)]
    return found[0] if found and isinstance(found[0], list) else found


def answers_within(checkpoints: Iterable[Any], interrupt: str) -> Iterator[Any]:
    """What the step was told before it raised this interrupt, in a graph within the graph."""
    for one in checkpoints:
        for task, channel, value in one.pending_writes or ():
            if channel == INTERRUPT and any(raised.id == interrupt for raised in value):
                yield from answers(one.pending_writes, task)[: _number_within(one, task, interrupt)]


def _number_within(checkpoint: Any, task: str, interrupt: str) -> int | None:
    """The same as `number`, where only the checkpoint is there: it does not say what the task's node is called."""
    if not own_ids():
        return None
    above = str(checkpoint.config["configurable"].get("checkpoint_ns") or "")
    channels = (*checkpoint.checkpoint["channel_versions"], *checkpoint.checkpoint["versions_seen"])
    places = (f"{above}|{name.removeprefix('branch:to:')}:{task}" for name in channels)
    found = (_number(place, interrupt) for place in places)
    return next((number for number in found if number is not None), None)


def says_yes(answer: Any) -> bool:
    if isinstance(answer, Mapping):
        answer = answer.get("decisions", [answer])
    items = answer if isinstance(answer, list) else ()
    return any(isinstance(item, Mapping) and item.get("type") in YES for item in items)
