"""google-adk in processes that die: asked once, run once, whatever was going on when the process was killed."""

from __future__ import annotations

import time

import pytest

from adk.lives import DEADLINE, Agent, line, load
from support.topologies import LONG


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    load()


@pytest.fixture
def bot(tmp_path, server):
    made = Agent(server, tmp_path)
    yield made
    for life in made.lives:
        life.kill()


def asked(reviewer) -> int:
    return len(reviewer.client.list(limit=100))


PATHS = [
    pytest.param("go-on", True, id="resumable-same-invocation"),
    pytest.param("go-on", False, id="same-invocation-new-call-id"),
]


@pytest.mark.topology("killed while held")
@pytest.mark.parametrize(("path", "resumable"), PATHS)
def test_killed_while_the_call_is_held_it_is_asked_once_and_runs_once(bot, reviewer, path, resumable, counted):
    first = bot.start("start", resumable=resumable)
    record = reviewer.next("wire", within=DEADLINE)
    first.kill()
    second = bot.start(path, resumable=resumable)
    second.wait_for("holds")
    # If it asked again, it would not end: nobody answers that.
    reviewer.decide(reviewer.client.get(record.id), "approve")
    second.wait_for("ended")
    assert bot.effect == ["bob 20.0"]
    assert asked(reviewer) == 1
    assert reviewer.client.get(record.id).state == "succeeded"
    counted(bot.effect, by=line)


@pytest.mark.parametrize(("path", "resumable"), PATHS)
def test_approved_while_the_process_was_dead_it_runs_once(bot, reviewer, path, resumable):
    first = bot.start("start", resumable=resumable)
    record = reviewer.next("wire", within=DEADLINE)
    first.kill()
    reviewer.decide(record, "approve")
    bot.start(path, resumable=resumable).wait_for("ended")
    assert bot.effect == ["bob 20.0"]
    assert asked(reviewer) == 1


@pytest.mark.parametrize("resumable", [True, False])
def test_the_same_call_in_another_message_is_another_call(bot, reviewer, resumable):
    first = bot.start("start", resumable=resumable)
    record = reviewer.next("wire", within=DEADLINE)
    first.kill()
    reviewer.decide(record, "approve")
    second = bot.start("say", resumable=resumable)
    other = reviewer.next("wire", within=DEADLINE)
    assert (other.id != record.id, bot.effect) == (True, [])
    reviewer.decide(other, "deny")
    second.wait_for("ended")
    assert bot.effect == []
    assert reviewer.client.get(record.id).state == "approved"


@pytest.mark.topology("killed while held")
def test_denied_while_the_process_was_dead_it_never_runs(bot, reviewer, counted):
    first = bot.start("start", resumable=True)
    record = reviewer.next("wire", within=DEADLINE)
    first.kill()
    reviewer.decide(record, "deny")
    bot.start("go-on", resumable=True).wait_for("ended")
    assert bot.effect == []
    assert asked(reviewer) == 1
    counted(bot.effect, by=line)


def test_killed_in_the_middle_of_the_tool_it_does_not_run_again(bot, reviewer):
    first = bot.start("start", resumable=True, slow=60.0)
    record = reviewer.next("wire", within=DEADLINE)
    reviewer.decide(record, "approve")
    until = time.monotonic() + DEADLINE
    while not bot.effect and time.monotonic() < until:
        time.sleep(0.02)
    first.kill()
    bot.start("go-on", resumable=True).wait_for("ended")
    assert bot.effect == ["bob 20.0"]
    assert reviewer.client.get(record.id).state == "claimed"  # until its time is over; then unknown


@pytest.mark.parametrize("nested", [1, pytest.param(2, marks=[LONG, pytest.mark.topology("nested twice")])])
def test_an_agent_nested_in_agent_tools_is_asked_for_once_across_a_restart(bot, reviewer, nested, counted):
    first = bot.start("start", resumable=True, nested=nested)
    record = reviewer.next("wire", within=DEADLINE)
    first.kill()
    second = bot.start("go-on", resumable=True, nested=nested)
    second.wait_for("holds")
    reviewer.decide(reviewer.client.get(record.id), "approve")
    second.wait_for("ended")
    assert bot.effect == ["bob 20.0"]
    assert asked(reviewer) == 1
    counted(bot.effect, by=line)


def test_paused_in_one_process_and_resumed_in_another(bot, reviewer):
    options = {"resumable": True, "mode": "pause"}
    bot.start("start", **options).wait_for("ended")
    assert bot.effect == []
    reviewer.edit({"to": "eve", "amount": 1.5}, "wire")
    bot.start("resume", **options).wait_for("ended")
    assert bot.effect == ["eve 1.5"]
    bot.start("resume", **options).wait_for("ended")  # nothing is left to resume
    assert bot.effect == ["eve 1.5"]
    assert asked(reviewer) == 1


def test_two_processes_that_resume_the_same_pause_run_it_once(bot, reviewer):
    options = {"resumable": True, "mode": "pause"}
    bot.start("start", **options).wait_for("ended")
    both = [bot.start("resume", **options) for _ in range(2)]
    reviewer.approve("wire")
    for life in both:
        life.process.join(DEADLINE)  # one of them may find the session changed under it, and end with an error
    assert bot.effect == ["bob 20.0"]
