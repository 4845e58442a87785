"""500 rounds in which the agent is killed and started again: nothing runs twice, nothing runs undecided."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from common import server

from support import Reviewer, rounds

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 500


def main() -> int:
    began = time.monotonic()

    def told(done: int, kills: int) -> None:
        if done % 25 == 0:
            print(f"  {done} rounds, {kills} kills, {time.monotonic() - began:.0f} s", flush=True)

    with tempfile.TemporaryDirectory() as folder, server() as running, Reviewer(running.url, running.ann) as ann:
        seed = time.time_ns() % 1_000_000
        print(f"{ROUNDS} rounds, seed {seed}", flush=True)
        result = rounds.run(Path(folder), running, ann, ROUNDS, seed=seed, lanes=4, told=told)
    print(
        f"{result.rounds} rounds, {result.kills} kills; {result.ran} calls ran; {result.begun} permits were taken and "
        f"never reported, {result.unreported} of them after the call ran; "
        f"run twice: {len(result.twice)}, run undecided: {len(result.undecided)}"
    )
    return 0 if result.good else 1


if __name__ == "__main__":
    sys.exit(main())
