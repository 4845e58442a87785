"""A thread that pauses, and a resumer for it that tests may kill, each in a process of its own."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from contextlib import asynccontextmanager
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from models import Scripted, calls

import placet
from placet.adapters.langchain import PlacetMiddleware, Resumer

TURNS = [calls(("delete", {"file": "a"}), ("delete", {"file": "b"})), calls(("delete", {"file": "c"}))]


@asynccontextmanager
async def saving(kind: str, path: Path):
    if kind == "async":
        async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
            yield saver
    else:
        yield SqliteSaver(sqlite3.connect(path, check_same_thread=False))


def main(folder: str, url: str, token: str, how: str, kind: str, thread: str, careless: str = "") -> None:
    """`how`: start pauses the thread, go-on goes on with it until it ends. `kind`: blocking or async checkpoints."""
    asyncio.run(work(Path(folder), placet.AsyncClient(url, token, outage_budget=20), how, kind, thread, careless))


async def work(folder: Path, client: placet.AsyncClient, how: str, kind: str, thread: str, careless: str) -> None:
    effects = os.open(folder / "effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @tool
    def delete(file: str) -> str:
        """Deletes."""
        time.sleep(0.03)  # kills shall also hit what lies between claim, effect and report
        os.write(effects, f"{thread}/{file}\n".encode())
        time.sleep(0.03)
        return f"{file} is gone"

    async def ended() -> bool:
        state = graph.get_state(at) if kind == "blocking" else await graph.aget_state(at)
        return not state.tasks

    at = {"configurable": {"thread_id": thread}}
    # The careless agent has no gate, and its tools run again whenever its process was killed.
    gates = [] if careless else [PlacetMiddleware(client, mode="pause", expires_in="1h")]
    async with saving(kind, folder / f"{thread}.db") as saver:
        graph = create_agent(Scripted(turns=TURNS), tools=[delete], middleware=gates, checkpointer=saver)
        ask = {"messages": [{"role": "user", "content": "clean up"}]}
        if careless:
            await asyncio.to_thread(graph.invoke, ask, at)
        elif how == "start":
            await (asyncio.to_thread(graph.invoke, ask, at) if kind == "blocking" else graph.ainvoke(ask, at))
        else:
            (folder / f"{thread}.up").touch()
            async with Resumer(graph, client, scan_every=0.2, abandoned_after=0.0):
                while not await ended():  # noqa: ASYNC110 (what it waits for is in a database)
                    await asyncio.sleep(0.02)
    await client.aclose()
