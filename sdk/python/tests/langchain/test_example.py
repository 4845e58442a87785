"""The example runs as it stands, and does what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.overnight import overnight

EXAMPLE = Path(__file__).parents[4] / "examples" / "langgraph" / "try.sh"


def test_the_langgraph_example_pays_what_was_decided_and_nothing_else():
    done = subprocess.run(
        [str(EXAMPLE)],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "*** 50 paid back to carol ***" in done.stdout
    assert "500 paid back" not in done.stdout
    assert "the graph says: not published (ignore: None)" in done.stdout


def test_threads_of_killed_agents_go_on_in_the_example_and_nothing_is_paid_twice():
    overnight("langgraph")
