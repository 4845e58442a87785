"""The server that lies meets the command line and the hook program: no permit is printed, and nothing is allowed."""

from __future__ import annotations

import json
import os

import pytest

from support.hostile import CONTROLS, LARGEST, LIES, Ending, Hostile, Mode, everywhere, process

BINARY = os.environ.get("PLACET_BIN", "placet")
LONG = bool(os.environ.get("PLACET_LONG"))
CALL = {
    "session_id": "s1",
    "transcript_path": "/tmp/none",
    "cwd": "/tmp",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "rm -r build", "description": "clean up"},
    "tool_use_id": "toolu_1",
}
ALL = [*CONTROLS, *LIES]


@pytest.fixture(scope="module")
def hostile():
    server = Hostile()
    yield server
    server.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The hook program keeps notes of its calls at home."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def hooked(hostile, home):
    """`placet hook claude-code` in every mode."""

    def play(mode: Mode, ending: Ending) -> None:
        own = home / mode.name
        own.mkdir()
        wait, give_up = ("60s", "10s") if mode.runs else ("2s", "2s")
        command = [BINARY, "hook", "claude-code", "--wait", wait, "--give-up", give_up]
        process(
            [*command, "--url", hostile.at(mode, "hook")],
            ending,
            json.dumps(CALL),
            PLACET_TOKEN="plk_agent_x",
            HOME=str(own),
        )

    return everywhere(ALL, play)


def commands() -> list[Mode]:
    """What the command line meets. Where no answer comes at all, it tries for half a minute: only in the long form."""
    slow = {"transport", "slow"}
    return [mode for mode in ALL if LONG or not mode.traits & slow]


@pytest.fixture(scope="module")
def commanded(hostile, home):
    """`placet request --claim` in every mode."""

    def play(mode: Mode, ending: Ending) -> None:
        words = ["request", "--tool", "delete_files", "--args", '{"files":["a"],"force":7}', "--session", "s1"]
        more = ["--wait", "60s" if mode.runs else "2s", "--claim", "--json", "--url", hostile.at(mode, "command")]
        process([BINARY, *words, *more], ending, PLACET_TOKEN="plk_agent_x", HOME=str(home))

    # Asking has half a minute, and claiming a whole one.
    return everywhere(commands(), play, at_once=48, bound=150 if LONG else 60)


def named(modes: list[Mode]) -> list[str]:
    return [mode.name for mode in modes]


@pytest.mark.parametrize("mode", named(CONTROLS))
def test_the_hook_allows_what_is_honest(hooked, mode):
    answer = json.loads(hooked[mode].said)["hookSpecificOutput"]
    # This session was never seen to run what its hook hands it, so edited arguments are not handed over.
    edited = mode == "honest_edit"
    assert answer["permissionDecision"] == ("deny" if edited else "allow")
    assert not edited or "approved with changes" in answer["permissionDecisionReason"]


@pytest.mark.parametrize("mode", named(LIES))
def test_the_hook_never_allows_a_lie(hooked, mode):
    ending = hooked[mode]
    assert ending.ended
    # Claude Code lets a call pass when its hook says nothing and ends well.
    assert ending.code == 2 or json.loads(ending.said)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert '"allow"' not in ending.said
    assert ending.resident < LARGEST


@pytest.mark.parametrize("mode", named([mode for mode in CONTROLS if mode in commands()]))
def test_the_command_line_prints_a_permit_for_what_is_honest(commanded, mode):
    assert commanded[mode].code == 0
    assert json.loads(commanded[mode].said)["permit"].startswith("prm_")


@pytest.mark.parametrize("mode", named([mode for mode in LIES if mode in commands()]))
def test_the_command_line_never_prints_a_permit_on_a_lie(commanded, mode):
    ending = commanded[mode]
    assert ending.ended
    assert ending.code != 0
    assert not ending.said.strip() or json.loads(ending.said).get("permit") is None
    assert ending.resident < LARGEST
