"""Agents and resumers of google-adk that are killed at random run nothing twice, and lose no approval."""

from __future__ import annotations

import os

import pytest

from adk import rounds
from adk.lives import load


@pytest.mark.filterwarnings("ignore")
def test_no_approval_is_lost_and_none_is_used_twice_when_agents_and_resumers_are_killed(tmp_path, server, reviewer):
    load()
    long = os.environ.get("PLACET_LONG") == "1"
    count = 150 if long else 4
    result = rounds.run(tmp_path, server, reviewer, count)
    print(result)
    assert result.good, result
    # The rounds are worth something only if processes were killed, and calls ran all the same. Whether a moment meets
    # an agent is chance: in a few rounds it may meet none.
    assert result.agents_killed > count // 4 or not long
    assert result.resumers_killed > count // 4
    assert result.ran > count // 2
