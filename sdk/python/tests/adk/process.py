"""An agent in a process of its own, for tests that kill it: `python -m adk.process DB EFFECTS WHAT [--resumable] …`.

start: a message of the user.   go-on: the last invocation again, without a message.   say: another message.
resume: what was paused goes on when there is a decision.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path

import placet
from adk.scripted import agent, call, run, runner
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.tools.agent_tool import AgentTool

from placet.adapters import adk

WHO = {"user_id": "u1", "session_id": "s1"}


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("db")
    parser.add_argument("effects", type=Path)
    parser.add_argument("what", choices=["start", "go-on", "say", "resume"])
    parser.add_argument("--mode", default="block")
    parser.add_argument("--resumable", action="store_true")
    parser.add_argument("--nested", action="store_true")
    parser.add_argument("--slow", type=float, default=0.0, help="how long the tool takes after its effect")
    return parser.parse_args()


async def main() -> None:
    options = parsed()

    def wire(to: str, amount: float) -> dict:
        """Sends money."""
        with options.effects.open("a") as out:
            out.write(f"{to} {amount}\n")
        time.sleep(options.slow)
        return {"sent": amount}

    client = placet.AsyncClient()
    root = agent([[call("wire", to="bob", amount=20.0)]], [wire], name="cashier", description="pays")
    if options.nested:
        root = agent([[call("cashier", request="pay bob")]], [AgentTool(agent=root)], name="boss")
    plugin = adk.PlacetPlugin(client, mode=options.mode)
    sessions = DatabaseSessionService(f"sqlite+aiosqlite:///{options.db}")
    runs = runner(root, [plugin], resumable=options.resumable, sessions=sessions)
    if options.what == "resume":
        events = await adk.resume(runs, client=client, wait=20.0, **WHO)
    elif options.what == "go-on":
        session = await sessions.get_session(app_name="shop", **WHO)
        events = await run(runs, "", invocation_id=session.events[-1].invocation_id)
    else:
        events = await run(runs, "go" if options.what == "start" else "and now?")
    print(f"ended after {len(events)} events", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
