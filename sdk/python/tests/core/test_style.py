"""Types are checked strictly, and the style is the one of pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SDK = Path(__file__).parents[2]


def passes(*command: str) -> None:
    ran = subprocess.run([sys.executable, "-m", *command], cwd=SDK, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_types_are_checked_strictly(tmp_path):
    passes("mypy", "--cache-dir", str(tmp_path))


def test_the_style_is_kept():
    # The hostile server has no project of its own.
    places = ("--config", "pyproject.toml", "--no-cache", ".", "../hostile")
    passes("ruff", "check", *places)
    passes("ruff", "format", "--check", *places)
