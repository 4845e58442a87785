"""An agent that is killed and started again runs nothing twice and nothing undecided. The long form is in bench/."""

from __future__ import annotations

import os

from support import rounds


def test_no_call_runs_twice_and_none_undecided_when_the_agent_is_killed(tmp_path, server, reviewer):
    count = 20 if os.environ.get("PLACET_LONG") == "1" else 8
    kills = 0
    # The rounds are worth something only if agents were killed, and calls ran all the same. Whether a moment meets an
    # agent at work is chance, so there are more rounds until enough of them did.
    for seed in range(1, 10):
        (tmp_path / str(seed)).mkdir()
        result = rounds.run(tmp_path / str(seed), server, reviewer, count, seed=seed)
        assert result.good, result
        assert result.ran > count
        kills += result.kills
        if kills > count // 4:
            return
    raise AssertionError(f"{kills} kills in {9 * count} rounds")


def test_an_agent_that_claims_nothing_is_caught(tmp_path, server, reviewer):
    result = rounds.run(tmp_path, server, reviewer, 4, sabotage=True)
    assert not result.good
    assert result.undecided
