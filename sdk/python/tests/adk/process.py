"""An agent in a process of its own, for tests that kill it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.tools.agent_tool import AgentTool

import placet
from adk.scripted import agent, call, run, runner
from placet.adapters import adk

WHO = {"user_id": "u1", "session_id": "s1"}


@dataclass(frozen=True)
class Task:
    """What the process does. `start`: a message of the user. `go-on`: the last invocation again, without a message.
    `say`: another message. `resume`: what was paused goes on when there is a decision."""

    what: str
    url: str
    token: str
    folder: Path
    mode: str = "block"
    resumable: bool = False
    nested: bool = False
    slow: float = 0.0
    """How long the tool takes after its effect."""


def main(task: Task, say: Any) -> None:
    try:
        asyncio.run(work(task, say))
    except BaseException as error:
        say.send(("raised", repr(error)))
        raise
    say.send(("ended", None))


async def work(task: Task, say: Any) -> None:
    def wire(to: str, amount: float) -> dict:
        """Sends money."""
        with (task.folder / "effects").open("a") as out:
            out.write(f"{to} {amount}\n")
        time.sleep(task.slow)
        return {"sent": amount}

    class Client(placet.AsyncClient):
        async def hold(self, *args: Any, **kwargs: Any) -> Any:
            say.send(("holds", None))
            return await super().hold(*args, **kwargs)

    client = Client(task.url, task.token)
    root = agent([[call("wire", to="bob", amount=20.0)]], [wire], name="cashier", description="pays")
    if task.nested:
        root = agent([[call("cashier", request="pay bob")]], [AgentTool(agent=root)], name="boss")
    plugin = adk.PlacetPlugin(client, mode=task.mode)
    sessions = DatabaseSessionService(f"sqlite+aiosqlite:///{task.folder}/sessions.db")
    runs = runner(root, [plugin], resumable=task.resumable, sessions=sessions)
    if task.what == "resume":
        await adk.resume(runs, client=client, wait=30.0, **WHO)
    elif task.what == "go-on":
        session = await sessions.get_session(app_name="shop", **WHO)
        await run(runs, "", invocation_id=session.events[-1].invocation_id)
    else:
        await run(runs, "go" if task.what == "start" else "and now?")
