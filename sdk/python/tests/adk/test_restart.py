"""google-adk in processes that die: asked once, run once, whatever was going on when the process was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
DEADLINE = 60


class Agent:
    """One agent with its session database, started as often as the test likes."""

    def __init__(self, folder: Path):
        self.db = folder / "sessions.db"
        self.effects = folder / "effects"
        self.running: list[subprocess.Popen] = []

    def start(self, what: str, *options: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "adk.process", str(self.db), str(self.effects), what, *options]
        environ = {**os.environ, "PYTHONPATH": str(TESTS)}
        process = subprocess.Popen(command, cwd=TESTS, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.running.append(process)
        return process

    def finish(self, process: subprocess.Popen) -> str:
        out, err = process.communicate(timeout=DEADLINE)
        assert process.returncode == 0, err
        return out

    @property
    def effect(self) -> list[str]:
        return self.effects.read_text().splitlines() if self.effects.exists() else []


@pytest.fixture
def bot(tmp_path, server):
    made = Agent(tmp_path)
    yield made
    for process in made.running:
        process.kill()
        process.wait()


def asked(reviewer) -> int:
    return len(reviewer.client.list(limit=100))


def kill(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()


PATHS = [
    pytest.param("go-on", ("--resumable",), id="resumable-same-invocation"),
    pytest.param("go-on", (), id="same-invocation-new-call-id"),
    pytest.param("say", ("--resumable",), id="resumable-new-message"),
    pytest.param("say", (), id="new-message"),
]


@pytest.mark.parametrize(("path", "options"), PATHS)
def test_killed_while_the_call_is_held_it_is_asked_once_and_runs_once(bot, reviewer, path, options):
    first = bot.start("start", *options)
    record = reviewer.next("wire", within=DEADLINE)
    kill(first)
    second = bot.start(path, *options)
    time.sleep(3)  # long enough to ask again, if it did
    assert second.poll() is None  # it waits for the same decision
    reviewer.decide(reviewer.client.get(record.id), "approve")
    bot.finish(second)
    assert bot.effect == ["bob 20.0"]
    assert asked(reviewer) == 1
    assert reviewer.client.get(record.id).state == "succeeded"


@pytest.mark.parametrize(("path", "options"), PATHS[:2])
def test_approved_while_the_process_was_dead_it_runs_once(bot, reviewer, path, options):
    first = bot.start("start", *options)
    record = reviewer.next("wire", within=DEADLINE)
    kill(first)
    reviewer.decide(record, "approve")
    bot.finish(bot.start(path, *options))
    assert bot.effect == ["bob 20.0"]
    assert asked(reviewer) == 1


def test_denied_while_the_process_was_dead_it_never_runs(bot, reviewer):
    first = bot.start("start", "--resumable")
    record = reviewer.next("wire", within=DEADLINE)
    kill(first)
    reviewer.decide(record, "deny")
    bot.finish(bot.start("go-on", "--resumable"))
    assert bot.effect == []
    assert asked(reviewer) == 1


def test_killed_in_the_middle_of_the_tool_it_does_not_run_again(bot, reviewer):
    first = bot.start("start", "--resumable", "--slow", "30")
    record = reviewer.next("wire", within=DEADLINE)
    reviewer.decide(record, "approve")
    until = time.monotonic() + DEADLINE
    while not bot.effect and time.monotonic() < until:
        time.sleep(0.05)
    kill(first)
    bot.finish(bot.start("go-on", "--resumable"))
    assert bot.effect == ["bob 20.0"]
    assert reviewer.client.get(record.id).state == "claimed"  # until its time is over; then unknown


def test_an_agent_nested_in_an_agent_tool_is_asked_for_once_across_a_restart(bot, reviewer):
    options = ("--resumable", "--nested")
    first = bot.start("start", *options)
    record = reviewer.next("wire", within=DEADLINE)
    kill(first)
    second = bot.start("go-on", *options)
    time.sleep(3)
    reviewer.decide(reviewer.client.get(record.id), "approve")
    bot.finish(second)
    assert bot.effect == ["bob 20.0"]
    assert asked(reviewer) == 1


def test_paused_in_one_process_and_resumed_in_another(bot, reviewer):
    options = ("--resumable", "--mode", "pause")
    bot.finish(bot.start("start", *options))
    assert bot.effect == []
    reviewer.edit({"to": "eve", "amount": 1.5}, "wire")
    bot.finish(bot.start("resume", *options))
    assert bot.effect == ["eve 1.5"]
    bot.finish(bot.start("resume", *options))  # nothing is left to resume
    assert bot.effect == ["eve 1.5"]
    assert asked(reviewer) == 1


def test_two_processes_that_resume_the_same_pause_run_it_once(bot, reviewer):
    options = ("--resumable", "--mode", "pause")
    bot.finish(bot.start("start", *options))
    both = [bot.start("resume", *options) for _ in range(2)]
    reviewer.approve("wire")
    for process in both:
        process.communicate(timeout=DEADLINE)  # one of them may find the session changed under it
    assert bot.effect == ["bob 20.0"]
