"""Python and TypeScript use the same words: statuses, what a model is told, errors and options."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import get_args

import pytest

import placet
from placet import errors, words
from placet.adapters._asking import as_sentence
from placet.held import ERRORS, MESSAGES

ROOT = Path(__file__).parents[4]
TYPESCRIPT = ROOT / "sdk/typescript/src"
ONLY_HERE = {"WrongKey", "Conflict", "Invalid", "BlockingCall"}
"""TypeScript has one `Problem` for what a server refuses, and no blocking calls."""
BEFORE = {"ApiError": "Problem", "UnknownOutcome": "OutcomeUnknown", "NotRun": "NotRunnable"}


def source(name: str) -> str:
    return (TYPESCRIPT / name).read_text()


def the_words(text: str) -> set[str]:
    return set(re.findall(r'"([a-z_]+)"', text))


def test_the_statuses_are_the_same():
    held = source("held.ts")
    theirs = held[held.index("export type Status") : held.index("export interface Refusal")]
    assert the_words(theirs) == set(get_args(words.Status)) == set(MESSAGES)


def test_a_model_is_told_the_same():
    told = source("held.ts")
    told = told[told.index("  message(): string {") : told.index("  raiseForRefusal()")]
    cases = re.findall(r'case "(\w+)":\n\s+return [`"](.*)[`"];', told)
    assert {status: said.removesuffix("${why}") for status, said in cases} == MESSAGES


def test_the_errors_have_the_same_names():
    theirs = set(re.findall(r"^export class (\w+)", source("errors.ts"), re.M))
    ours = {kind.__name__ for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)}
    assert ours - theirs == ONLY_HERE
    assert theirs - ours == set()


def test_a_status_raises_the_same_error():
    held = source("held.ts")
    raising = held[held.index("  raiseForRefusal()") :]
    theirs = dict(re.findall(r'case "(\w+)":\n\s+throw new errors\.(\w+)\(', raising))
    assert {**theirs, "denied": "Denied"} == {status: kind.__name__ for status, kind in ERRORS.items()}


def test_the_names_from_before_still_work():
    for before, now in BEFORE.items():
        assert getattr(placet, before) is getattr(placet, now)


def test_options_take_the_same_words():
    options = source("options.ts")
    for name, ours in (("OUTAGES", words.OnOutage), ("REFUSALS", words.OnDenied)):
        assert the_words(re.search(rf"const {name} = (.*);", options)[1]) == set(get_args(ours))
    for name, ours in (("RISKS", words.Risk), ("DECISIONS", words.Decision)):
        theirs = re.search(rf"const {name} = Object.keys\(\{{(.*?)\}}", options, re.S)[1]
        assert set(re.findall(r"(\w+): true", theirs)) == set(get_args(ours))


def test_the_page_has_every_word():
    page = (ROOT / "docs/sdk/vocabulary.md").read_text()
    for status, said in MESSAGES.items():
        error = ERRORS.get(status)
        raises = f"`{error.__name__}`" if error else ""
        assert f"| `{status}` | {said.replace('|', '')} | {raises} |" in page
    for name in ONLY_HERE | set(BEFORE) | set(BEFORE.values()):
        assert f"`{name}`" in page, name


@pytest.mark.parametrize(
    ("answer", "said"), [("ask on Monday", "ask on Monday"), ({"day": "Monday"}, '{"day": "Monday"}')]
)
def test_where_a_model_gets_one_sentence_it_hears_what_a_person_answered(answer, said):
    result = {"status": "answered", "tool": "pay", "message": "It was answered.", "request": "req_1", "answer": answer}
    assert as_sentence(result) == f"It was answered. The answer: {said} (req_1)"
