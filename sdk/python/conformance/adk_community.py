"""Runs google-adk-community's own tests of `hitl_tool` with Placet's in its place.

    python sdk/python/conformance/adk_community.py CHECKOUT     a checkout of google/adk-python-community

Their tests fake the HTTP client and let it answer with a status. Placet's decorator speaks another wire; so the status
that the fake would give is what a reviewer says to an in-memory gateway. One of the six is expected to fail: it wants
arguments that are not JSON turned into text, and a person would then approve something other than what runs.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

import httpx
import pytest

SUITE = "tests/unittests/tools/test_hitl_gateway.py"
MODULE = "google.adk_community.tools.hitl.gateway"
REFUSED_ON_PURPOSE = "test_serialise_args_non_serialisable_falls_back_to_str"
DECISIONS = {
    "approved": ("approve", {}),
    "rejected": ("deny", {}),
    # Escalation is no decision in Placet. What the caller may rely on is the same: it does not run.
    "escalated": ("deny", {"reason": "escalated to somebody else"}),
}


def swap() -> None:
    from placet.adapters import adk_community as ours
    from placet.testing import Gateway

    fake = types.ModuleType(MODULE)
    fake.httpx = types.SimpleNamespace(AsyncClient=httpx.AsyncClient)
    fake._serialise_args = ours._serialise_args

    def hitl_tool(agent_name, **options):
        gateway = Gateway()

        def says(record):
            return DECISIONS[fake.httpx.AsyncClient().get.return_value.json()["status"]]

        gateway.always(says)
        return ours.hitl_tool(agent_name, client=gateway.async_client(), raise_on_denied=True, **options)

    fake.hitl_tool = hitl_tool
    parts = MODULE.split(".")
    for depth in range(2, len(parts)):
        name = ".".join(parts[:depth])
        package = types.ModuleType(name)
        package.__path__ = []
        sys.modules[name] = package
    sys.modules[MODULE] = fake
    for depth in range(2, len(parts) + 1):
        setattr(sys.modules[".".join(parts[: depth - 1])], parts[depth - 1], sys.modules[".".join(parts[:depth])])


class Count:
    def __init__(self) -> None:
        self.passed: list[str] = []
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report) -> None:
        if report.failed:
            self.failed.append(report.nodeid.split("::")[-1])
        elif report.when == "call":
            self.passed.append(report.nodeid.split("::")[-1])


def main(checkout: Path) -> int:
    if not (checkout / SUITE).is_file():
        print(f"{checkout} is no checkout of adk-python-community: {SUITE} is not there", file=sys.stderr)
        return 2
    import google  # noqa: F401 (the namespace package that theirs is hung into)

    swap()
    count = Count()
    options = ["-qq", "--tb=line", "--noconftest", "--import-mode=importlib", "-c", "/dev/null", "-W", "ignore"]
    pytest.main([*options, "-p", "no:cacheprovider", f"--rootdir={checkout}", str(checkout / SUITE)], plugins=[count])
    unexpected = [name for name in count.failed if name != REFUSED_ON_PURPOSE]
    intended = len(count.failed) - len(unexpected)
    print(f"adk-python-community: {len(count.passed)} passed, {len(unexpected)} failed, {intended} refused on purpose")
    return 1 if unexpected or not count.passed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(Path(sys.argv[1]).resolve()))
