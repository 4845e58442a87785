"""`examples/overnight`: agents that are killed while a person decides."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import placet

EXAMPLE = Path(__file__).parents[4] / "examples" / "overnight" / "try.sh"


def overnight(framework: str) -> None:
    """Runs the example as it stands, and checks what it said."""
    path = os.pathsep.join([str(Path(placet.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [str(EXAMPLE), framework],
        env={**os.environ, "PYTHON": sys.executable, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("*** 50 paid back to carol ***") == 1
    assert "400 paid back" not in done.stdout
    assert "ask again on Monday" in done.stdout
    assert "not run again" in done.stdout
