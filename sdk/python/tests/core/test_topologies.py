"""docs/sdk/topologies.md says which shapes of agents were run: each of its numbers comes from tests that are there."""

from __future__ import annotations

import json
from pathlib import Path

from support.topologies import FRAMEWORKS, NONE, TOPOLOGIES, marked, table

PAGE = Path(__file__).parents[4] / "docs/sdk/topologies.md"


def cells() -> dict[tuple[str, str], str]:
    """What the page says, by framework and topology."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    head, _, *rows = rows[: len(TOPOLOGIES) + 2]
    assert head == ["topology", *FRAMEWORKS.values()]
    return {(framework, row[0]): said for row in rows for framework, said in zip(FRAMEWORKS, row[1:], strict=True)}


def test_every_number_of_the_page_has_a_test_and_every_test_is_in_the_page():
    said = cells()
    assert [topology for framework, topology in said if framework == "adk"] == list(TOPOLOGIES)
    assert {where for where, words in said.items() if words != NONE} == set(marked())


def test_every_number_of_the_page_is_asked_approved_and_ran():
    for where, words in cells().items():
        if words == NONE:
            continue
        asked, approved, ran = map(int, words.split(" / "))
        # At least one was denied, and what was approved is what ran.
        assert asked > approved == ran > 0, where


def test_the_table_is_made_of_what_tests_counted_last():
    def line(test, outcome="passed", **numbers):
        return json.dumps({"framework": "adk", "topology": "loop", "test": test, "outcome": outcome, **numbers})

    numbers = {"asked": 3, "approved": 2, "ran": 2}
    lines = [line("one", "failed"), line("one", **numbers), line("two", asked=2, approved=1, ran=1)]
    assert f"| loop | 5 / 3 / 3 | {NONE} | {NONE} | {NONE} |" in table(lines)
    assert "| loop | FAILED |" in table([*lines, line("one", "failed", **numbers)])
