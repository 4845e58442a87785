"""The examples end to end, as a reader runs them: real server, real framework, scripted model, scripted reviewer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[4] / "examples"


def played(example: str, script: str = "try.sh") -> str:
    environ = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(
        [str(EXAMPLES / example / script)], capture_output=True, text=True, env=environ, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_credit_agent_credits_what_was_approved_and_nothing_else():
    told = played("adk-credit")
    assert "dashboard: http://127.0.0.1:" in told
    assert "agent: 500.00 dollars were credited to acc-7." in told
    assert "agent: 450.00 dollars were credited to acc-8." in told
    assert "agent: I am sorry, the credit was not made: above the limit" in told
    assert told.split("== what was really credited\n")[1].startswith("acc-7 500.00\nacc-8 450.00\n")


@pytest.mark.skipif(os.environ.get("PLACET_LONG") != "1", reason="starts ten processes; PLACET_LONG=1 runs it")
def test_the_credit_agent_that_is_resumed_by_processes_that_are_killed_credits_once():
    told = played("adk-credit", "later.sh")
    assert "agent: 500.00 dollars were credited to acc-7." in told
    assert "agent: I am sorry, the credit was not made: above the limit" in told
    assert told.split("== what was really credited\n")[1].startswith("acc-7 500.00\nacc-8 900.00\n")


def test_the_coder_writes_what_was_approved_and_nothing_else():
    told = played("deepagents-coder")
    assert "task: completed" in told
    assert 'print("hello, world")' in told
