"""What each adapter needs is declared, and what is missing or too old is named as such."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from placet.adapters import _needs

SDK = Path(__file__).parents[2]
ADAPTERS = {
    "adk": "adk",
    "langchain": "langchain",
    "langgraph": "langgraph",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai",
    "claude": "claude",
    "agent_framework": "agent-framework",
    "crewai": "crewai",
    "mcp": "mcp",
}


def said_of(adapter: str) -> str:
    with pytest.raises(ImportError) as error:
        importlib.import_module(f"placet.adapters.{adapter}")
    return str(error.value)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_framework_that_is_too_old_is_named_with_the_version_to_install(adapter, monkeypatch):
    [(package, oldest), *_] = _needs.NEEDS[ADAPTERS[adapter]]
    monkeypatch.setattr(metadata, "version", lambda _: "0.0.1")
    assert said_of(adapter) == (
        f"placet.adapters.{adapter} needs {package} {oldest} or newer, and 0.0.1 is installed: "
        f"pip install '{package}>={oldest}'"
    )


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_framework_that_is_not_there_is_named_with_the_extra(adapter):
    extra = ADAPTERS[adapter]
    packages = " and ".join(package for package, _ in _needs.NEEDS[extra])
    assert said_of(adapter) == f"placet.adapters.{adapter} needs {packages}: pip install 'placet[{extra}]'"


def test_a_framework_that_changed_its_names_is_not_said_to_be_missing(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda _: "99.0")
    assert said_of("crewai").startswith("placet.adapters.crewai cannot use crewai 99.0: No module named 'crewai")


def test_a_release_candidate_has_what_its_release_has(monkeypatch):
    [(_, oldest)] = _needs.NEEDS["crewai"]
    monkeypatch.setattr(metadata, "version", lambda _: f"{oldest}rc1")
    _needs.check("crewai", "crewai")


def test_the_extras_declare_what_the_adapters_need_and_what_was_tested():
    text = (SDK / "pyproject.toml").read_text()
    extras = text[text.index("[project.optional-dependencies]") :].split("\n\n")[0]
    declared = {
        extra: re.findall(r'"([a-z-]+)>=([\d.]+),<[\d.]+"', packages)
        for extra, packages in re.findall(r"^([a-z-]+) = \[(.*)\]$", extras, re.M)
    }
    assert declared == {extra: list(packages) for extra, packages in _needs.NEEDS.items()}


def test_what_is_tested_lies_within_what_is_declared():
    text = (SDK / "pyproject.toml").read_text()
    for package, oldest, beyond in re.findall(r'"([a-z-]+)>=([\d.]+),<([\d.]+)"', text):
        pinned = [
            found[1]
            for file in (SDK / "tests").glob("*/requirements.txt")
            if (found := re.search(rf"^{package}==([\d.]+)$", file.read_text(), re.M))
        ]
        assert pinned, package
        for version in pinned:
            assert _needs._numbers(oldest) <= _needs._numbers(version) < _needs._numbers(beyond), package


@pytest.mark.skipif(not os.environ.get("PLACET_LONG"), reason="installs an old framework")
def test_a_real_old_framework_is_said_to_be_old(tmp_path):
    python = tmp_path / "bin/python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "openai-agents==0.10.0", "httpx"], check=True)
    ran = subprocess.run(
        [str(python), "-c", "import placet.adapters.openai_agents"],
        env={**os.environ, "PYTHONPATH": str(SDK / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    wanted = _needs.NEEDS["openai-agents"][0][1]
    assert f"needs openai-agents {wanted} or newer, and 0.10.0 is installed" in ran.stderr
