"""Runs adk-deepagents' own tests of human approval with Placet's functions in the place of the framework's.

    python sdk/python/conformance/deepagents.py CHECKOUT        a checkout of manojlds/adk-deepagents

In those tests the person's word stands in the confirmation. In Placet it is said to the gateway; so an in-memory
gateway is told by a reviewer what the confirmation says, and Placet's callback asks that gateway, as it always does.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

SUITES = [
    ("tests/unit_tests/callbacks/test_before_tool.py", None),
    ("tests/integration_tests/test_hitl_pipeline.py", None),
    ("tests/unit_tests/tools/test_task.py", "interrupt"),
    ("tests/unit_tests/test_graph.py", "interrupt or before_tool"),
]


def swap() -> None:
    from placet.adapters import adk_deepagents as ours
    from placet.testing import Gateway

    def make_before_tool_callback(*, interrupt_on=None):
        gateway = Gateway()
        callback = ours.make_before_tool_callback(interrupt_on=interrupt_on, client=gateway.client())
        if callback is None:
            return None

        def with_a_reviewer(tool, args, tool_context):
            tool_context.session.id = "a-session"  # as ADK's own context has
            confirmation = tool_context.tool_confirmation
            if confirmation is not None:
                # The framework's first call, then the person, then the call again.
                tool_context.tool_confirmation = None
                callback(tool, dict(args), tool_context)
                for request in gateway.pending:
                    ours.decide(Reviewing(gateway), request.id, confirmation)
                tool_context.tool_confirmation = confirmation
            return callback(tool, args, tool_context)

        return with_a_reviewer

    for name in ours.HOMES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        for function in (make_before_tool_callback, ours.resume_approval):
            if hasattr(module, function.__name__):
                setattr(module, function.__name__, function)


class Reviewing:
    """The two calls of a reviewer's client that `decide` makes, straight at the gateway."""

    def __init__(self, gateway):
        self.gateway = gateway

    def get(self, id):
        return self.gateway.get(id)

    def decide(self, id, decision, *, digest, version, reason=None, **fields):
        return self.gateway.decide(self.gateway.get(id), decision, reason=reason, **fields)


class Count:
    """What became of the tests of one file."""

    def __init__(self) -> None:
        self.of = {"passed": 0, "failed": 0, "skipped": 0}

    def pytest_runtest_logreport(self, report) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.of[report.outcome] += 1


def main(checkout: Path) -> int:
    if not (checkout / SUITES[0][0]).is_file():
        print(f"{checkout} is no checkout of adk-deepagents: {SUITES[0][0]} is not there", file=sys.stderr)
        return 2
    sys.path.insert(0, str(checkout))
    swap()
    total = Count()
    for path, only in SUITES:
        count = Count()
        # Their conftest loads models and servers that these tests do not use.
        options = ["-qq", "--noconftest", "-c", "/dev/null", "-p", "no:cacheprovider", "-W", "ignore"]
        selected = ["-k", only] if only else []
        pytest.main([*options, f"--rootdir={checkout}", *selected, str(checkout / path)], plugins=[count])
        print(f"{path}: {count.of['passed']} passed, {count.of['failed']} failed, {count.of['skipped']} skipped")
        for outcome, number in count.of.items():
            total.of[outcome] += number
    print(f"adk-deepagents: {total.of['passed']} passed, {total.of['failed']} failed, {total.of['skipped']} skipped")
    return 1 if total.of["failed"] or not total.of["passed"] else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(Path(sys.argv[1]).resolve()))
