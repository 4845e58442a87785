"""What each adapter needs: the framework, and since which version it has what the adapter uses."""

from __future__ import annotations

import re
from importlib import metadata

NEEDS: dict[str, tuple[tuple[str, str], ...]] = {
    "adk": (("google-adk", "1.25"),),
    "adk-deepagents": (("adk-deepagents", "0.2"),),
    "langchain": (("langchain", "1.3"), ("langgraph", "1.2.13")),
    # Before it a thread does not tell which of its interrupts were answered.
    "langgraph": (("langgraph", "1.2.13"),),
    "openai-agents": (("openai-agents", "0.19"),),
    "pydantic-ai": (("pydantic-ai-slim", "1.107"),),
    "claude": (("claude-agent-sdk", "0.2.180"),),
    "agent-framework": (("agent-framework-core", "1.15"),),
    "crewai": (("crewai", "1.15.15"),),
    "mcp": (("mcp", "1.23"),),
}
"""By extra: its packages and their oldest versions. The extras in pyproject.toml say the same."""


def check(adapter: str, extra: str) -> None:
    """Before a framework is imported: an `ImportError` that names the version to install, if it is too old."""
    for package, oldest in NEEDS[extra]:
        installed = _installed(package)
        if installed is not None and _numbers(installed) < _numbers(oldest):
            raise ImportError(
                f"placet.adapters.{adapter} needs {package} {oldest} or newer, and {installed} is installed: "
                f"pip install '{package}>={oldest}'"
            )


def unmet(adapter: str, extra: str, error: ImportError) -> ImportError:
    """What to raise when a framework could not be imported."""
    found = [(package, _installed(package)) for package, _ in NEEDS[extra]]
    missing = [package for package, installed in found if installed is None]
    if missing:
        return ImportError(f"placet.adapters.{adapter} needs {' and '.join(missing)}: pip install 'placet[{extra}]'")
    have = " and ".join(f"{package} {installed}" for package, installed in found)
    return ImportError(f"placet.adapters.{adapter} cannot use {have}: {error}; pip install 'placet[{extra}]'")


def version(package: str) -> tuple[int, ...]:
    """The version that is installed; nothing is older than everything."""
    return _numbers(_installed(package) or "0")


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        # It may still be there, without the description of an installed package: the import says so.
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """`1.2.13` and `1.2.13rc1` as numbers: a release candidate has what its release has."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
