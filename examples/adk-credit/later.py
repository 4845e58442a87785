"""The credit agent for decisions that take hours: its run ends while it waits, and a resumer goes on with it.

    python later.py s1 "I was charged twice, please credit 500 dollars to acc-7"      # ends when it waits
    python -m placet.resume later:runner                                              # goes on, whenever that is

Nothing but the database is shared between the two. Both may be killed at any moment, and started again.
"""

from __future__ import annotations

import asyncio
import os
import sys

from google.adk.apps.app import App, ResumabilityConfig
from google.adk.runners import Runner
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.genai import types

from agent import root_agent, show
from placet.adapters import adk


def runner() -> Runner:
    plugin = adk.PlacetPlugin(mode="pause", tools={"apply_account_credit"}, risk="high", expires_in="12h")
    app = App(
        name="credit",
        root_agent=root_agent,
        plugins=[plugin],
        resumability_config=ResumabilityConfig(is_resumable=True),
    )
    database = os.environ.get("SESSIONS", "sessions.db")
    return Runner(app=app, session_service=DatabaseSessionService(f"sqlite+aiosqlite:///{database}"))


async def main(session: str, words: str) -> None:
    made = runner()
    print(f"customer: {words}", flush=True)
    await made.session_service.create_session(app_name="credit", user_id="customer-1", session_id=session)
    message = types.Content(role="user", parts=[types.Part(text=words)])
    events = await adk.drain(made.run_async(user_id="customer-1", session_id=session, new_message=message))
    for one in adk.paused(events):
        print(f"waits for a supervisor: {one.tool}({one.arguments['account_id']}, {one.arguments['amount']:.0f})")


async def told(session: str) -> None:
    """What the customer was told in the end."""
    whose = {"app_name": "credit", "user_id": "customer-1", "session_id": session}
    stored = await runner().session_service.get_session(**whose)
    show(stored.events[-1] if stored.events[-1].content else stored.events[-2])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]) if len(sys.argv) > 2 else told(sys.argv[1]))
