"""Kill rounds for the resumer of google-adk: agents and resumers are killed at random moments.

Every round is one session. Its agents pause for their calls; a reviewer decides at once, sometimes with a no; resumers
go on. A call's side effect is one line in a file. Afterwards the server's records say what may have happened, the file
what did, and the sessions what the models were told.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.adk.sessions.database_session_service import DatabaseSessionService

from placet.adapters import adk
from support import Reviewer, Server, eventually
from support.rounds import every

from .lives import Agent

CALLS = 2
OPEN = {"pending", "approved"}


@dataclass
class Result:
    """What was found after all rounds."""

    rounds: int = 0
    agents_killed: int = 0
    resumers_killed: int = 0
    ran: int = 0
    denied: int = 0
    begun: int = 0
    """Calls that were claimed, and never reported: their process was killed."""
    twice: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Approved, and not used."""
    unheard: list[str] = field(default_factory=list)
    """Decided, and the session does not say so."""

    @property
    def good(self) -> bool:
        return not (self.twice or self.undecided or self.lost or self.unheard)


class Lane:
    """One database, one resumer at a time, and one session after the other."""

    def __init__(self, folder: Path, server: Server, chance: random.Random):
        folder.mkdir()
        # ADK cannot read a database whose tables were being made when its process was killed.
        asyncio.run(waiting(folder))
        self.bot = Agent(server, folder)
        self.server = server
        self.chance = chance
        self.kills = Counter()
        self._stop = threading.Event()
        self._options = {"mode": "pause", "resumable": True, "branches": CALLS, "grace": 1.0, "slow": 0.02}
        self._moments = random.Random(chance.random())
        self._number = 0

    def __enter__(self) -> Lane:
        self._thread = threading.Thread(target=self._resumers)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for life in self.bot.lives:
            life.kill()

    def _resumers(self) -> None:
        while not self._stop.is_set():
            number, self._killed = self._number, 0
            while number == self._number and self._killed < 3 and not self._stop.is_set():
                self._kill_one()
            # The fourth is left to finish.
            life = self.bot.start("resumer", **self._options)
            while number == self._number and not self._stop.wait(0.05):
                pass
            life.kill()

    def _kill_one(self) -> None:
        life = self.bot.start("resumer", **self._options)
        if self._moments.random() < 0.8:
            # Most kills should meet work, not a process that is about to begin.
            life.wait_for("scanned")
        killed = not self._stop.wait(self._moments.uniform(0.0, 1.2))
        self.kills["resumers"] += killed
        self._killed += 1
        life.kill()

    def round(self, session: str) -> None:
        self._number += 1
        for attempt in range(20):
            life = self.bot.start("again", session=session, **self._options)
            # The third is left to finish.
            life.process.join(self.chance.uniform(0.0, 1.0) if attempt < 2 else 60)
            killed = life.process.exitcode is None
            self.kills["agents"] += killed
            life.kill()
            # An agent whose session a resumer has changed meanwhile ends with an error, and is started again; unless a
            # resumer was killed in the middle of the call, whose permit is then taken for as long as the server waits.
            if not killed and (life.process.exitcode == 0 or self._over(session)):
                break
        else:
            raise AssertionError(f"{session} did not end: {life.said}")
        try:
            eventually(lambda: self._over(session))
        except AssertionError as error:
            raise AssertionError(f"{session} is not over: {self._requests(session)}") from error

    def _requests(self, session: str) -> dict[str, str]:
        with self.server.http(self.server.ann) as http:
            found = http.get("/v1/requests", params={"session": session, "limit": 50}).json()["items"]
        return {f"{one['arguments']['to']} {one['id']}": one["state"] for one in found}

    def _over(self, session: str) -> bool:
        states = self._requests(session).values()
        return len(states) >= CALLS and not any(state in OPEN for state in states)


def run(folder: Path, server: Server, reviewer: Reviewer, rounds: int, seed: int = 1, lanes: int = 2) -> Result:
    result = Result(rounds)
    words = random.Random(seed)

    def word(record: Any) -> tuple[str, dict[str, Any]]:
        return ("deny", {"reason": "no"}) if words.random() < 0.2 else ("approve", {})

    def one_lane(number: int) -> Lane:
        with Lane(folder / f"lane-{number}", server, random.Random(f"{seed}/{number}")) as lane:
            for one in range(number, rounds, lanes):
                lane.round(f"round-{seed}-{one}")
            until = time.monotonic() + 60
            while unheard(lane, server) and time.monotonic() < until:
                time.sleep(0.2)
        return lane

    with reviewer.always(word), ThreadPoolExecutor(lanes) as pool:
        done = list(pool.map(one_lane, range(lanes)))
    for lane in done:
        result.agents_killed += lane.kills["agents"]
        result.resumers_killed += lane.kills["resumers"]
        result.unheard += unheard(lane, server)
    _judge(result, server, [line for lane in done for line in lane.bot.effect])
    return result


def unheard(lane: Lane, server: Server) -> list[str]:
    """Requests whose decision the session does not show, other than those whose process was killed in the tool."""
    with server.http(server.ann) as http:
        ids = asyncio.run(waiting(lane.bot.folder))
        return [id for id in ids if http.get(f"/v1/requests/{id}").json()["state"] != "claimed"]


async def waiting(folder: Path) -> list[str]:
    """The requests that wait, as the sessions say."""
    async with DatabaseSessionService(f"sqlite+aiosqlite:///{folder}/sessions.db") as sessions:
        listed = await sessions.list_sessions(app_name="shop")
        found: list[str] = []
        for one in listed.sessions:
            whole = await sessions.get_session(app_name="shop", user_id=one.user_id, session_id=one.id)
            found += [paused.request_id for paused in adk.paused(whole.events)]
    return found


def _judge(result: Result, server: Server, lines: list[str]) -> None:
    """An effect's line names its session and its call, and so does a request."""
    calls = Counter(lines)
    result.ran = len(lines)
    result.twice = [call for call, times in calls.items() if times > 1]
    used = set()
    with server.http(server.ann) as http:
        for record in every(http):
            call = f"{record['session']} {record['arguments']['to']}"
            decision = (record["decision"] or {}).get("decision")
            result.denied += decision == "deny"
            result.begun += record["state"] == "claimed"
            if record["state"] in {"pending", "approved", "lapsed", "expired"}:
                result.lost.append(record["id"])
            if decision == "approve" and record["claim"]:
                used.add(call)
    result.undecided = [call for call in calls if call not in used]
