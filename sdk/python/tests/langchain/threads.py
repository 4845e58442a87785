"""Agents whose threads pause over any checkpointer, and what resumers do about them."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import asynccontextmanager

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from models import Scripted, calls, results

from placet.adapters.langchain import PlacetMiddleware
from placet.adapters.langgraph import Resumer

ASK = {"messages": [{"role": "user", "content": "clean up"}]}
WITHIN = 60.0
TWO = calls(("delete", {"file": "a"}), ("delete", {"file": "b"}))


def thread(name="t1"):
    return {"configurable": {"thread_id": name}}


async def eventually(condition) -> None:
    for _ in range(int(WITHIN / 0.01)):
        found = condition()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come true in time")


def agent(tools, saver, *turns, gate=None, **more):
    turns = turns or (calls(("delete", {"file": "a"})),)
    gate = gate or PlacetMiddleware(mode="pause", **more)
    return create_agent(Scripted(turns=list(turns)), tools=tools, middleware=[gate], checkpointer=saver)


@asynccontextmanager
async def saving(kind, folder):
    if kind == "async":
        async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
            yield saver
    elif kind == "blocking":
        yield SqliteSaver(sqlite3.connect(folder / "threads.db", check_same_thread=False))
    else:
        yield InMemorySaver()


class Shop:
    """Threads over one checkpointer, blocking or not."""

    def __init__(self, kind, saver, tools, *turns, **more):
        self.blocking = kind == "blocking"
        self.make = lambda: agent(tools, saver, *turns, **more)
        self.graph = self.make()

    async def start(self, name):
        if self.blocking:
            return await asyncio.to_thread(self.graph.invoke, ASK, thread(name))
        return await self.graph.ainvoke(ASK, thread(name))

    async def state(self, name):
        return self.graph.get_state(thread(name)) if self.blocking else await self.graph.aget_state(thread(name))

    async def _ended(self, name):
        return not (await self.state(name)).tasks

    async def ends(self, name):
        """What the model was told, once the thread has come to its end."""
        await eventually(lambda: self._ended(name))
        return [one.content for one in results((await self.state(name)).values)]


async def once(shop, **more):
    resumer = Resumer(shop.make(), **{"abandoned_after": 0.0, **more})
    try:
        return await resumer.once()
    finally:
        await resumer.aclose()
