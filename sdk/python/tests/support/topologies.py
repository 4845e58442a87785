"""Which shapes of agents ran with which framework, and what happened in each: the table of docs/sdk/topologies.md.

A test with `@pytest.mark.topology("loop")` shows one shape, and gives its side effects to `counted`. If
PLACET_TOPOLOGIES names a file, each such test adds a line of JSON to it. `python -m support.topologies FILE` prints the
table of these lines.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from placet import digest

from .effects import Effects
from .reviewer import Reviewer

TESTS = Path(__file__).parents[1]
FRAMEWORKS = {
    "adk": "google-adk",
    "langchain": "LangChain, LangGraph",
    "openai_agents": "OpenAI Agents",
    "pydantic_ai": "Pydantic AI",
}
TOPOLOGIES = (
    "parallel", "sequential", "loop", "nested twice", "handoff", "streaming", "workflow", "killed while held",
    "killed while resuming", "two users with one session id",
)  # fmt: skip
NONE = "the framework has none"
LONG = pytest.mark.skipif(os.environ.get("PLACET_LONG") != "1", reason="kills processes; PLACET_LONG=1 runs it")

COUNTED = pytest.StashKey[dict[str, int]]()
By = str | Callable[[dict[str, Any]], Any]


@pytest.fixture
def counted(request: pytest.FixtureRequest, reviewer: Reviewer) -> Callable[..., None]:
    """`counted(effects, by="to")`: each approved call ran once, with the approved arguments, and nothing else ran.

    `by` makes of arguments what the tool leaves as its effect: the name of one of them, or a function. `tool` counts
    the calls of one tool, where agents used as tools are held as well.
    """

    def count(effects: Effects | Iterable[Any], by: By, tool: str | None = None) -> None:
        records = [one for one in reviewer.client.list(limit=500) if tool in (None, one.tool)]
        words = Counter(one.decision_word for one in records)
        assert set(words) <= {"approve", "edit", "deny"}, words
        approved = [one.approved_arguments or {} for one in records if one.decision_word != "deny"]
        happened = list(effects.happened if isinstance(effects, Effects) else effects)
        assert as_texts(happened) == as_texts(one[by] if isinstance(by, str) else by(one) for one in approved)
        request.node.stash[COUNTED] = {
            "asked": len(records),
            "approved": words["approve"] + words["edit"],
            "edited": words["edit"],
            "denied": words["deny"],
            "ran": len(happened),
        }

    return count


def as_texts(values: Iterable[Any]) -> list[str]:
    return sorted(digest.canonical_bytes(one).decode() for one in values)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    """Adds the line of a test that shows a topology, and fails one that counted nothing."""
    report = yield
    shown = [one.args[0] for one in item.iter_markers("topology")]
    if not shown or report.when != "call" or report.skipped:
        return report
    numbers = item.stash.get(COUNTED, None)
    if report.passed and numbers is None:
        report.outcome, report.longrepr = "failed", "it shows a topology, and did not call `counted`"
    if file := os.environ.get("PLACET_TOPOLOGIES"):
        test = item.nodeid.rpartition("/")[2]
        line = {"framework": item.path.parent.name, "test": test, "outcome": report.outcome, **(numbers or {})}
        with open(file, "a", encoding="utf-8") as out:
            out.writelines(json.dumps({"topology": topology, **line}) + "\n" for topology in shown)
    return report


# --- the table -------------------------------------------------------------------------------------------------------


def table(lines: Iterable[str]) -> str:
    """The lines of all frameworks as a table. A test that ran more than once counts as it ran last."""
    tests = {(one["framework"], one["topology"], one["test"]): one for one in map(json.loads, lines)}
    rows = [["topology", *FRAMEWORKS.values()], ["---"] * (len(FRAMEWORKS) + 1)]
    for topology in TOPOLOGIES:
        rows.append([topology])
        for framework in FRAMEWORKS:
            found = [one for (*where, _), one in tests.items() if where == [framework, topology]]
            rows[-1].append(cell(found))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def cell(tests: list[dict[str, Any]]) -> str:
    if not tests:
        return NONE
    if any(one["outcome"] != "passed" for one in tests):
        return "FAILED"
    return " / ".join(str(sum(one[name] for one in tests)) for name in ("asked", "approved", "ran"))


# --- the markers, read without the frameworks ------------------------------------------------------------------------


def marked() -> dict[tuple[str, str], list[str]]:
    """The tests that show a topology, by framework and topology; those of classes in `support` count where they run."""
    shared = {name: one for file in sorted(TESTS.glob("support/*.py")) for name, one in _classes(file).items()}
    found: dict[tuple[str, str], list[str]] = {}
    for framework in FRAMEWORKS:
        for file in sorted((TESTS / framework).glob("test_*.py")):
            own = ast.parse(file.read_text())
            bases = {ast.unparse(base) for one in _classes(file).values() for base in one.bases}
            for tree in (own, *(shared[base] for base in sorted(bases & set(shared)))):
                for test, topology in _markers(tree):
                    found.setdefault((framework, topology), []).append(test)
    return found


def _classes(file: Path) -> dict[str, ast.ClassDef]:
    return {one.name: one for one in ast.parse(file.read_text()).body if isinstance(one, ast.ClassDef)}


def _markers(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for one in ast.walk(tree):
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for mark in one.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.topology":
                    yield one.name, ast.literal_eval(mark.args[0])


if __name__ == "__main__":
    print(table(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()))
