"""The example runs as it stands, and refunds exactly what was approved."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[4] / "examples/a2a-proxy/try.sh"


def test_an_agent_behind_the_proxy_refunds_what_was_approved_and_nothing_else():
    environ = {**os.environ, "PYTHON": sys.executable}
    ran = subprocess.run([EXAMPLE], env=environ, capture_output=True, text=True, timeout=180, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    said = ran.stdout.splitlines()
    assert "agent: 40.00 euros were refunded to acc-7." in said
    assert any(line.startswith('the caller says "approve": approval pending') for line in said)
    assert said[said.index("== what was really refunded") + 1] == "acc-7 40.00"
    assert said[-1].startswith("good: ")
