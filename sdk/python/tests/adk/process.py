"""An agent in a process of its own, for tests that kill it."""

from __future__ import annotations

import asyncio
import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.adk.agents import ParallelAgent, SequentialAgent
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.tool_context import ToolContext

import placet
from adk.scripted import agent, call, model, run, runner, text
from placet.adapters import adk
from placet.adapters._adk_pause import CONFIRMATION

WARM = "PLACET_TEST_WARM"
WHO = {"user_id": "u1", "session_id": "s1"}


@dataclass(frozen=True)
class Task:
    """What the process does.

    `start`: a message of the user. `go-on`: the last invocation again, without a message. `say`: another message.
    `again`: a message, or what is left of it. `resume`: what was paused goes on when there is a decision.
    `resumer`: the same for every session, until it is killed.
    """

    what: str
    url: str
    token: str
    folder: Path
    mode: str = "block"
    resumable: bool = False
    nested: int = 0
    """How many agents are around the one that makes the call, each a tool of the next."""
    slow: float = 0.0
    """How long the tool takes after its effect."""
    grace: float = 0.0
    session: str = "s1"
    branches: int = 0
    """How many agents make the call, in parallel; one agent of its own unless given."""


def main(task: Task, say: Any) -> None:
    try:
        asyncio.run(work(task, say))
    except BaseException as error:
        say.send(("raised", repr(error)))
        raise
    say.send(("ended", None))


async def work(task: Task, say: Any) -> None:
    def wire(to: str, amount: float, tool_context: ToolContext) -> dict:
        """Sends money."""
        # In rounds there are many sessions, and lines say whose call it was.
        line = f"{tool_context.session.id} {to}\n" if task.branches else f"{to} {amount}\n"
        with (task.folder / "effects").open("a") as out:
            out.write(line)
        time.sleep(task.slow)
        return {"sent": amount}

    class Client(placet.AsyncClient):
        async def hold(self, *args: Any, **kwargs: Any) -> Any:
            say.send(("holds", None))
            return await super().hold(*args, **kwargs)

    client = Client(task.url, task.token)
    root = agent([[call("wire", to="bob", amount=20.0)]], [wire], name="cashier", description="pays")
    for name in ("boss", "chief")[: task.nested]:
        turns = [[call(root.name, request="pay bob")]]
        root = agent(turns, [AgentTool(agent=root)], name=name, description="has others pay")
    if task.branches:
        names = [f"cashier_{number}" for number in range(task.branches)]
        root = branches([agent([[call("wire", to=name, amount=1.5)]], [wire], name=name) for name in names])
    plugin = adk.PlacetPlugin(client, mode=task.mode)
    sessions = DatabaseSessionService(f"sqlite+aiosqlite:///{task.folder}/sessions.db")
    runs = runner(root, [plugin], resumable=task.resumable, sessions=sessions)
    if task.what == "resume":
        await adk.resume(runs, client=client, wait=30.0, **WHO)
    elif task.what == "resumer":
        await resumer(runs, client, task, say).run()
    elif task.what == "again":
        await again(runs, task)
    elif task.what == "go-on":
        session = await sessions.get_session(app_name="shop", **WHO)
        await run(runs, "", invocation_id=session.events[-1].invocation_id)
    else:
        await run(runs, "go" if task.what == "start" else "and now?", session=task.session)


async def again(runs: Any, task: Task) -> None:
    """A message, or what a killed process left of it: until all of its calls are paused, or further."""
    whose = {"app_name": "shop", "user_id": "u1", "session_id": task.session}
    session = await runs.session_service.get_session(**whose)
    if session is None or not session.events:
        await run(runs, "go", session=task.session)
        return
    asked = {one.id for event in session.events for one in event.get_function_calls() if one.name == CONFIRMATION}
    if len(asked) < task.branches:
        await run(runs, "", session=task.session, invocation_id=session.events[-1].invocation_id)


def branches(agents: list[Any]) -> Any:
    last = agent(model([text("after")]), [], name="last")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SequentialAgent(name="both", sub_agents=[ParallelAgent(name="all", sub_agents=agents), last])


def resumer(runs: Any, client: placet.AsyncClient, task: Task, say: Any) -> adk.Resumer:
    """A resumer that says when it has scanned the store."""
    made = adk.Resumer(runs, client, grace=task.grace, scan_every=0.3, longest_pause=1.0)
    scan = made.source.waiting

    async def waiting() -> Any:
        async for one in scan():
            yield one
        say.send(("scanned", None))

    made.source.waiting = waiting
    return made


def warm() -> None:
    """Loads what ADK loads only when it runs, so that forked processes need not."""
    import aiosqlite  # noqa: F401
    import httpcore  # noqa: F401
    import sqlalchemy.dialects.sqlite.aiosqlite  # noqa: F401

    asyncio.run(run(runner(agent([[]], []), resumable=True)))


if os.environ.get(WARM):
    warm()
