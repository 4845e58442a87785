"""Resumers that are killed at random moments: nothing runs twice, nothing undecided, and nothing approved is lost."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
import resumed

from support import Reviewer, Server
from support.processes import Processes
from support.rounds import every

ONE_AT_A_TIME = threading.Lock()
"""`multiprocessing` looks at all children when one is started, and two threads that look at one may miss its end."""
LONG = os.environ.get("PLACET_LONG") == "1"


@dataclass
class Result:
    kills: int = 0
    ran: int = 0
    denied: int = 0
    unknown: int = 0
    twice: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


@pytest.fixture
def quick(tmp_path_factory):
    """A server that does not wait long for the report of a killed process."""
    folder = tmp_path_factory.mktemp("rounds")
    settings = ("requests.report_window=2s",)
    with Server(folder / "data", settings=settings) as server, Reviewer(server.url, server.ann) as ann:
        yield server, ann


def killed(processes, words, moment):
    """Whether the process was killed before it ended by itself. The moment counts from when its resumer begins."""
    up = processes.folder / f"{words[2]}.up"
    up.unlink(missing_ok=True)
    with ONE_AT_A_TIME:
        made = processes(*words)
    until, code, waits = time.monotonic() + 120, None, moment is not None
    while code is None and time.monotonic() < until:
        time.sleep(0.005)
        if waits and up.exists():
            until, waits = time.monotonic() + moment, False
        with ONE_AT_A_TIME:
            code = made.exitcode
    if code is None:
        with ONE_AT_A_TIME:
            made.kill()
            made.join()
        return True
    assert code == 0, f"{words} failed"
    return False


def run(processes, server, reviewer, rounds, seed=1) -> Result:
    # How long a resumer takes that is left alone, as far as is known: moments are chosen within that.
    result, chance, alone = Result(), random.Random(seed), [0.5]

    def one(number: int) -> int:
        words = (("blocking", "async")[number % 2], f"round-{number}")
        moments = random.Random(f"{seed}/{number}")
        assert not killed(processes, ("start", *words), None)
        for attempt in range(10):
            # The fourth is left to finish.
            moment = moments.uniform(0.02, 1.0) * alone[-1] if attempt < 3 else None
            if not killed(processes, ("go-on", *words), moment):
                ended = time.time() - (processes.folder / f"{words[1]}.up").stat().st_mtime
                alone.append((alone[-1] + min(5.0, ended)) / 2)
                return attempt
        raise AssertionError(f"{words} did not end")

    def word(record):
        return ("deny", {"reason": "no"}) if chance.random() < 0.2 else ("approve", {})

    with reviewer.always(word), ThreadPoolExecutor(2) as pool:
        result.kills = sum(pool.map(one, range(rounds)))
    judge(result, server, processes.folder / "effects")
    return result


def judge(result: Result, server, effects) -> None:
    happened = Counter(effects.read_text().split())
    result.ran = sum(happened.values())
    result.twice = [one for one, times in happened.items() if times > 1]
    with server.http(server.ann) as http:
        records = list(every(http))
    allowed = set()
    for record in records:
        call, state = f"{record['session']}/{record['arguments']['file']}", record["state"]
        result.denied += state == "denied"
        result.unknown += state in {"claimed", "unknown"}
        if record["claim"]:
            allowed.add(call)
        # The thread has ended, so each call was used or refused; what ran and was reported left its line.
        if state in {"pending", "approved", "lapsed"} or (state == "succeeded" and not happened[call]):
            result.lost.append(f"{call} ({state})")
    result.undecided = [one for one in happened if one not in allowed]


def test_threads_go_on_however_often_their_resumer_is_killed(tmp_path, quick):
    server, ann = quick
    rounds = 150 if LONG else 3
    result = run(Processes(resumed.main, server, tmp_path), server, ann, rounds)
    print(f"{rounds} rounds: {result}")
    assert (result.twice, result.undecided, result.lost) == ([], [], [])
    # The rounds are worth something only if resumers were killed, and calls ran all the same. Whether a moment meets
    # one is chance: in a few rounds it may meet none.
    assert result.ran > 0
    assert (result.kills > rounds // 2 and result.ran > rounds) or not LONG


def test_an_agent_without_a_gate_is_caught(tmp_path, quick):
    server, _ = quick
    processes = Processes(resumed.main, server, tmp_path)
    for _ in range(2):
        assert not killed(processes, ("start", "blocking", "round-0", "careless"), None)
        (tmp_path / "round-0.db").unlink()  # it knows nothing of what it did
    result = Result()
    judge(result, server, tmp_path / "effects")
    assert (sorted(result.twice), len(result.undecided)) == (["round-0/a", "round-0/b", "round-0/c"], 3)
