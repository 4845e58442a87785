"""A graph under the bridge, in a process of its own that tests may kill: `killed.py FOLDER DIALECT start|go-on [slow]`."""

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

folder, dialect, how, *rest = sys.argv[1:]
saver = SqliteSaver(sqlite3.connect(Path(folder) / "threads.db", check_same_thread=False))


def effect(name: str) -> str:
    with (Path(folder) / "effects.txt").open("a") as file:
        file.write(name + "\n")
    if "slow" in rest:
        time.sleep(60)
    return "gone"


class State(TypedDict, total=False):
    said: str


if dialect == "inbox":

    def node(state):
        config = {"allow_accept": True, "allow_ignore": True, "allow_edit": False, "allow_respond": True}
        said = interrupt([{"action_request": {"action": "delete", "args": {"file": "a"}}, "config": config}])[0]
        return {"said": effect("a") if said["type"] == "accept" else said["type"]}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph, ask = builder.compile(checkpointer=saver), {}
else:

    @tool
    def delete(file: str) -> str:
        """Deletes."""
        return effect(file)

    graph = create_agent(
        Scripted(turns=[calls(("delete", {"file": "a"}))]),
        tools=[delete],
        middleware=[HumanInTheLoopMiddleware({"delete": True}, interrupt_mode=dialect)],
        checkpointer=saver,
    )
    ask = {"messages": [{"role": "user", "content": "clean up"}]}

try:
    InterruptBridge().run(graph, ask if how == "start" else None, {"configurable": {"thread_id": "t1"}})
except placet.UnknownOutcome as error:
    print(error)
    sys.exit(3)
