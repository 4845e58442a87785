"""A graph under the bridge, for a process of its own that tests may kill."""

from __future__ import annotations

import sqlite3
import sys
import time
from pathlib import Path
from typing import TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from models import Scripted, calls

import placet
from placet.adapters.langchain import InterruptBridge

THREAD = {"configurable": {"thread_id": "t1"}}
CONFIG = {"allow_accept": True, "allow_ignore": True, "allow_edit": False, "allow_respond": True}


class State(TypedDict, total=False):
    said: str


def main(folder: str, url: str, token: str, dialect: str, how: str, *rest: str) -> None:
    """`dialect`: inbox, batched or per_call. `how`: start or go-on; also slow. Exits with 3 for an unknown outcome."""
    saver = SqliteSaver(sqlite3.connect(Path(folder) / "threads.db", check_same_thread=False))

    def effect(name: str) -> str:
        with (Path(folder) / "effects.txt").open("a") as file:
            file.write(name + "\n")
        if "slow" in rest:
            time.sleep(60)
        return "gone"

    def node(state):
        said = interrupt([{"action_request": {"action": "delete", "args": {"file": "a"}}, "config": CONFIG}])[0]
        return {"said": effect("a") if said["type"] == "accept" else said["type"]}

    @tool
    def delete(file: str) -> str:
        """Deletes."""
        return effect(file)

    if dialect == "inbox":
        builder = StateGraph(State)
        builder.add_node("node", node)
        builder.add_edge(START, "node")
        graph, ask = builder.compile(checkpointer=saver), {}
    else:
        graph = create_agent(
            Scripted(turns=[calls(("delete", {"file": "a"}))]),
            tools=[delete],
            middleware=[HumanInTheLoopMiddleware({"delete": True}, interrupt_mode=dialect)],
            checkpointer=saver,
        )
        ask = {"messages": [{"role": "user", "content": "clean up"}]}
    try:
        InterruptBridge(placet.Client(url, token)).run(graph, ask if how == "start" else None, THREAD)
    except placet.UnknownOutcome:
        sys.exit(3)
