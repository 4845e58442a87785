"""Kill-and-restart rounds: an agent is killed at random moments and started again until its work is done.

Every round is one session with a few gated calls. A call's side effect is one line in a file: the request it ran
under, and which call it was. Afterwards the server's records say what may have happened, and the file what did.

In every other round calls have ids of their own that survive the restart (strong keys): then no call may run under two
requests either. In the others a restarted agent only knows its session (weak keys): it finds what is open again, and
asks a person anew about what was begun.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

import placet

from .nursery import Nursery
from .reviewer import Reviewer
from .server import Server

CALLS = 3


def agent(url: str, token: str, folder: str, session: str, strong: bool, sabotage: bool) -> None:
    """What runs in the process that is killed."""
    effects = os.open(f"{folder}/effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    progress = Path(folder) / f"progress-{session}"
    done = set(progress.read_text().split()) if progress.exists() else set()
    client = placet.Client(url, token, outage_budget=20)
    with placet.session(session) as around:
        for number in range(CALLS):
            if str(number) in done:
                continue
            arguments = {"number": number}
            key = placet.keys.strong("rounds", None, session, str(number)) if strong else None
            call = placet.Call("pay", arguments, session, keys=around.keys("pay", arguments, key))
            if sabotage:
                # What a careless client does: it sees the approval, and runs without claiming it.
                record = client.create(call.body(), key=key or placet.keys.random(), weak_key=call.keys.weak)
                record = client.wait(record.id)
                if record.state == "approved":
                    os.write(effects, f"{record.id} {session}/{number}\n".encode())
            else:
                held = client.hold(call)
                if held.go:
                    os.write(effects, f"{held.request_id} {session}/{number}\n".encode())
                    held.succeeded()
            with progress.open("a") as file:
                file.write(f"{number}\n")


@dataclass
class Result:
    """What was found after all rounds."""

    rounds: int = 0
    kills: int = 0
    ran: int = 0
    begun: int = 0
    unreported: int = 0
    twice: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not self.twice and not self.undecided


def run(
    folder: Path,
    server: Server,
    reviewer: Reviewer,
    rounds: int,
    *,
    sabotage: bool = False,
    seed: int = 1,
    lanes: int = 2,
    told: Callable[[int, int], None] = lambda done, kills: None,
) -> Result:
    """Kills agents again and again in so many rounds, a few at the same time, and judges what they did."""
    (folder / "effects").touch()
    result = Result(rounds)
    chance = random.Random(seed)
    nurseries = threading.local()
    # How long an agent takes that is left alone, as far as is known: moments are chosen within that, so that they fall
    # everywhere between its first call and its last report, however busy the machine is.
    alone = [0.5]

    def one(number: int) -> int:
        if not hasattr(nurseries, "mine"):
            nurseries.mine = stack.enter_context(Nursery())
        session = f"round-{seed}-{number}"
        arguments = [server.url, server.agent, str(folder), session, number % 2 == 0, sabotage]
        moments = random.Random(f"{seed}/{number}")
        for attempt in range(10):
            began = time.monotonic()
            # The fourth is left to finish.
            code = nurseries.mine.run(arguments, moments.uniform(0.01, 1.0) * alone[-1] if attempt < 3 else 60)
            if code == 0:
                alone.append((alone[-1] + time.monotonic() - began) / 2)
                return attempt
            assert code is None, f"the agent failed in {session}"
        raise AssertionError(f"{session} did not end")

    def word(record):
        return ("deny", {"reason": "no"}) if chance.random() < 0.2 else ("approve", {})

    with ExitStack() as stack, reviewer.always(word), ThreadPoolExecutor(lanes) as pool:
        for done, kills in enumerate(pool.map(one, range(rounds)), 1):
            result.kills += kills
            told(done, result.kills)
    _judge(result, server, folder / "effects")
    return result


def _judge(result: Result, server: Server, effects: Path) -> None:
    lines = [line.split() for line in effects.read_text().splitlines()]
    result.ran = len(lines)
    requests = Counter(request for request, _ in lines)
    calls = Counter(call for _, call in lines if int(call.partition("/")[0].rpartition("-")[2]) % 2 == 0)
    result.twice = [one for one, times in (*requests.items(), *calls.items()) if times > 1]
    with server.http(server.ann) as http:
        for record in every(http):
            begun = record["state"] == "claimed"
            result.begun += begun
            result.unreported += begun and record["id"] in requests
            # Whatever ran must have been approved, and its permit taken.
            decided = record["decision"] is not None and record["decision"]["decision"] in {"approve", "edit"}
            if record["id"] in requests and not (decided and record["claim"]):
                result.undecided.append(record["id"])


def every(http: httpx.Client) -> Iterator[dict[str, Any]]:
    """Every request on the server."""
    cursor = None
    while True:
        page = http.get("/v1/requests", params={"limit": 500, **({"cursor": cursor} if cursor else {})}).json()
        yield from page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return
