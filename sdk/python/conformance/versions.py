"""Runs a few tests of each adapter with given versions of its framework, each in an environment of its own.

    python sdk/python/conformance/versions.py                       the oldest ones that pyproject.toml declares
    python sdk/python/conformance/versions.py crewai==1.15.0 …      these versions
    PLACET_BIN names the server; uv makes the environments, below --venvs FOLDER

A version is good when its adapter can be imported, and an approved, a denied and an edited call end as they should.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SDK = Path(__file__).parent.parent
THREE = " or ".join(
    (
        "(approved_c and runs_once)",
        "(denied_c and (model_hears or model_learns))",
        "((edited_c or an_edit_runs) and told)",
        "says_so",
        "says_why",
    )
)
TESTED: dict[str, tuple[str, str, list[str]]] = {
    "google-adk": ("adk/test_block.py", THREE, ["sqlalchemy", "aiosqlite", "greenlet"]),
    "adk-deepagents": ("adk/test_deepagents.py", "", ["sqlalchemy", "aiosqlite", "greenlet"]),
    "langchain": ("langchain/test_middleware.py", THREE, ["langgraph-checkpoint-sqlite"]),
    "langgraph": ("langchain/test_bridge.py", "inbox or resume", ["langchain", "langgraph-checkpoint-sqlite"]),
    "openai-agents": ("openai_agents/test_smoke.py", "", []),
    "pydantic-ai-slim": ("pydantic_ai/test_block.py", THREE, []),
    "claude-agent-sdk": ("claude/test_claude.py", THREE, []),
    "agent-framework-core": ("agent_framework/test_agent_framework.py", THREE, []),
    "crewai": ("crewai/test_crewai.py", THREE, []),
    "mcp": ("mcp/test_mcp.py", THREE, ["fastmcp"]),
    "mcp 1": ("crewai/test_mcp_v1.py", "", []),
}
"""The package (or its first version, where that has other names): its tests, which of them, and what they need."""


def tested(package: str, version: str) -> tuple[str, str, list[str]]:
    return TESTED.get(f"{package} {version.split('.', maxsplit=1)[0]}") or TESTED[package]


def declared() -> dict[str, str]:
    """The oldest version of each package, as the extras say it."""
    text = (SDK / "pyproject.toml").read_text()
    return dict(re.findall(r'"([a-z-]+)>=([\d.]+),', text[text.index("[project.optional-dependencies]") :]))


def prepared(package: str, version: str, folder: Path) -> Path:
    home = folder / f"{package}-{version}"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, str(home)], check=True)
        more = ["pytest", "pytest-asyncio", "httpx", *tested(package, version)[2]]
        subprocess.run(
            ["uv", "pip", "install", "--quiet", "--python", str(python), f"{package}=={version}", *more], check=True
        )
    return python


def good(package: str, version: str, folder: Path) -> bool:
    try:
        python = prepared(package, version, folder)
    except subprocess.CalledProcessError:
        print(f"{package} {version}: cannot be installed", flush=True)
        return False
    tests, which, _ = tested(package, version)
    command = [str(python), "-m", "pytest", "-q", "--tb=line", "-W", "ignore", "-p", "no:cacheprovider"]
    command += [str(SDK / "tests" / tests), *(["-k", which] if which else [])]
    paths = f"{SDK / 'src'}{os.pathsep}{SDK / 'tests'}"
    ran = subprocess.run(
        command, cwd=SDK, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}, check=False
    )
    last = (ran.stdout.strip() or ran.stderr.strip()).splitlines()[-1:]
    print(f"{package} {version}: {'good' if ran.returncode == 0 else 'BAD'}; {''.join(last)}", flush=True)
    if ran.returncode != 0:
        print("\n".join(ran.stdout.splitlines()[-12:]), flush=True)
    return ran.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", metavar="PACKAGE==VERSION")
    parser.add_argument("--venvs", type=Path, default=None)
    given = parser.parse_args()
    asked = [tuple(one.split("==")) for one in given.versions] or list(declared().items())
    with tempfile.TemporaryDirectory() as temporary:
        results = [good(package, version, given.venvs or Path(temporary)) for package, version in asked]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
