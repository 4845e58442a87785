"""Runs the google-adk tests with older versions of it, each in an environment of its own.

    python sdk/python/conformance/adk_versions.py [VERSION …] [--venvs FOLDER]      PLACET_BIN names the server

What a version cannot do is listed below with the reason; such a test is expected to fail, and is told apart from one
that fails unexpectedly.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

SDK = Path(__file__).parent.parent
TESTS = ["test_block.py", "test_pause.py", "test_restart.py", "test_live.py", "test_community.py", "test_kagent.py"]
VERSIONS = ["1.25.0", "1.38.0", "2.0.0"]
EXTRA = ["pytest", "pytest-asyncio", "sqlalchemy", "aiosqlite", "greenlet"]

NOT_RESUMABLE = "this version does not go on with an invocation of an app that is not resumable; nothing runs"
MADE_UP = "this version ends the run when the model makes up a tool; nobody is asked"
ASKS_ANEW = "this version calls the model again instead of the call that was open; a person is asked anew, nothing runs"
CANNOT: dict[str, dict[str, str]] = {
    "1.25.0": {"same-invocation-new-call-id": NOT_RESUMABLE, "that_the_model_made_up": MADE_UP},
    "1.38.0": {"same-invocation-new-call-id": NOT_RESUMABLE, "that_the_model_made_up": MADE_UP},
    "2.0.0": {
        "that_the_model_made_up": MADE_UP,
        "denied_while_the_process_was_dead": ASKS_ANEW,
        "killed_in_the_middle_of_the_tool": ASKS_ANEW,
    },
}
"""By version: a part of a test's id, and why that version cannot pass it."""


def reason(version: str, test: str) -> str | None:
    return next((why for part, why in CANNOT.get(version, {}).items() if part in test), None)


def prepared(version: str, folder: Path) -> Path:
    """A python that has this version and the SDK."""
    home = folder / f"adk-{version}"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, f"google-adk=={version}", *EXTRA, "-e", str(SDK)], check=True)
    return python


def run(version: str, python: Path) -> bool:
    tests = [str(SDK / "tests" / "adk" / name) for name in TESTS]
    command = [str(python), "-m", "pytest", "-q", "-rA", "--tb=no", "-W", "ignore", "-p", "no:cacheprovider", *tests]
    told = subprocess.run(command, cwd=SDK, capture_output=True, text=True, env=os.environ, check=False).stdout
    outcomes = dict(reversed(found) for found in re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED) (\S+)", told, re.M))
    failed = sorted(test for test, outcome in outcomes.items() if outcome in {"FAILED", "ERROR"})
    unexpected = [test for test in failed if reason(version, test) is None]
    passed = sum(outcome == "PASSED" for outcome in outcomes.values())
    print(f"google-adk {version}: {passed} passed, {len(failed)} failed, {len(unexpected)} of them unexpectedly")
    for test in failed:
        print(f"  {test.split('/')[-1]}: {reason(version, test) or 'UNEXPECTED'}")
    sys.stdout.flush()
    if not passed:
        print(told[-2000:], file=sys.stderr)
    return passed > 0 and not unexpected


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=VERSIONS, metavar="VERSION")
    parser.add_argument("--venvs", type=Path, help="where environments are kept; made anew unless given")
    options = parser.parse_args()
    if "PLACET_BIN" not in os.environ:
        print("set PLACET_BIN to the placet binary: the tests run against the real server", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.venvs or Path(scratch)
        good = [run(version, prepared(version, folder)) for version in options.versions]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
