"""Names and words that a program gives: a misspelt one is an error, and never a call that nobody is asked about."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from typing import Any

from ..covered import Coverage
from ..errors import ConfigError
from ..models import checked_allowed, checked_risk

__all__ = [
    "ToolNames",
    "Uncovered",
    "checked_allowed",
    "checked_risk",
    "checked_uncovered",
    "misspelt",
    "refuse_uncovered",
]

SHOWN = 10
"""How many of the real names an error lists."""

Uncovered = str | Collection[str]
"""`refuse`, `allow`, or the names of the parts that may run where Placet does not see them."""


class ToolNames:
    """The tool names in the options of a gate. Each must turn out to be the name of a real tool."""

    def __init__(self, **options: Any):
        self._options = {option: _names(option, given) for option, given in options.items() if given is not None}
        self._real: set[str] = set()

    def missing(self, known: Iterable[str]) -> list[tuple[str, str]]:
        """The options and their names that no tool has had yet. What was seen once is known for good."""
        self._real.update(known)
        return [(option, name) for option, names in self._options.items() for name in sorted(names - self._real)]

    def check(self, known: Iterable[str], of: str) -> None:
        """An error for the first name that no tool has. `of` says whose tools they are."""
        real = sorted(set(known))
        for option, name in self.missing(real):
            raise misspelt(option, name, real, of)


def _names(option: str, given: Any) -> set[str]:
    names = set(given)
    for name in names:
        if not isinstance(name, str) or not name:
            raise ConfigError(f"{option}: {name!r} is no name of a tool")
    return names


def misspelt(option: str, name: str, real: Collection[str], of: str) -> ConfigError:
    """The error about a name that nothing has."""
    return ConfigError(f"{option} names `{name}`, and no tool of {of} has that name; {_nearest(name, real)}")


def _nearest(name: str, real: Collection[str]) -> str:
    near = difflib.get_close_matches(name, sorted(real), n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(f'`{one}`' for one in near)}?"
    if not real:
        return "it has no tools"
    more = f" and {len(real) - SHOWN} more" if len(real) > SHOWN else ""
    return f"its tools are {', '.join(f'`{one}`' for one in sorted(real)[:SHOWN])}{more}"


def checked_uncovered(given: Any) -> frozenset[str] | None:
    """The names of what may run unseen; None for everything."""
    if given == "allow":
        return None
    if given == "refuse":
        return frozenset()
    if isinstance(given, str) or not isinstance(given, Collection):
        raise ConfigError(f"uncovered={given!r}: use refuse, allow, or a list of names that may run unasked")
    return frozenset(_names("uncovered", given))


def refuse_uncovered(found: Coverage, allowed: frozenset[str] | None) -> None:
    """An error if something of the agent runs where Placet does not see it, unless the program said that it may."""
    if allowed is None:
        return
    left = [part for part in found.uncovered if part.name not in allowed]
    if left:
        what = "; ".join(f"`{part.name}` ({part.kind} of {part.agent}): {part.why}" for part in left)
        names = ", ".join(sorted({repr(part.name) for part in left}))
        raise ConfigError(
            f"`{found.agent}` can do things that Placet does not see, so it does not start. {what}. "
            f'Take it out, or say uncovered="allow" (or uncovered=[{names}]) to let it run unasked'
        )
