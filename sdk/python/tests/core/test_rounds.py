"""An agent that is killed and started again runs nothing twice and nothing undecided. The long form is in bench/."""

from __future__ import annotations

import os

from support import rounds


def test_no_call_runs_twice_and_none_undecided_when_the_agent_is_killed(tmp_path, server, reviewer):
    count = 20 if os.environ.get("PLACET_LONG") == "1" else 8
    result = rounds.run(tmp_path, server, reviewer, count)
    assert result.good, result
    # The rounds are worth something only if agents were killed, and calls ran all the same.
    assert result.kills > count // 4
    assert result.ran > count


def test_an_agent_that_claims_nothing_is_caught(tmp_path, server, reviewer):
    result = rounds.run(tmp_path, server, reviewer, 4, sabotage=True)
    assert not result.good
    assert result.undecided
