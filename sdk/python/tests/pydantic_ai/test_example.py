"""The example runs as it stands, and does what it says."""

from __future__ import annotations

from support.overnight import overnight


def test_runs_of_killed_agents_go_on_in_the_example_and_nothing_is_paid_twice():
    overnight("pydantic_ai")
