"""Type checkers see what is true: of a file of user code, and of nothing else, each marked line is an error."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SDK = Path(__file__).parents[2]
CODE = Path(__file__).parent / "typed/user_code.py"
LINES = CODE.read_text().splitlines()
MARKED = [number for number, line in enumerate(LINES, 1) if line.endswith("  # error")]


def run(*command: str, cwd: Path) -> str:
    environ = {**os.environ, "MYPYPATH": str(SDK / "src")}
    ran = subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, env=environ, check=False
    )
    return ran.stdout or ran.stderr


def test_the_errors_that_mypy_finds_are_those_that_are_marked(tmp_path):
    # Frameworks are not there in this folder of tests: what of them is unknown is no error of the program.
    options = ("--strict", "--follow-imports=silent", "--python-version", "3.10", "--cache-dir", str(tmp_path))
    said = run("mypy", *options, CODE.name, cwd=CODE.parent)
    assert sorted({int(line) for line in re.findall(r"^user_code\.py:(\d+): error", said, re.M)}) == MARKED, said


def test_the_errors_that_pyright_finds_are_those_that_are_marked(tmp_path):
    pytest.importorskip("pyright", reason="pyright is pinned in requirements.txt")
    shutil.copy(CODE, tmp_path)
    settings = {"include": [CODE.name], "extraPaths": [str(SDK / "src")], "typeCheckingMode": "strict"}
    # A line that must be an error stands by itself.
    settings |= {"pythonVersion": "3.10", "reportUnusedExpression": False}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    said = run("pyright", "-p", str(tmp_path), "--pythonpath", sys.executable, "--outputjson", cwd=tmp_path)
    found = json.loads(said)["generalDiagnostics"]
    assert sorted({one["range"]["start"]["line"] + 1 for one in found}) == MARKED, said
