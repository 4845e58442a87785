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
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from models import Scripted, calls

import placet
from placet.adapters.langchain import InterruptBridge
from placet.adapters.langgraph import MARK

THREAD = {"configurable": {"thread_id": "t1"}}
CONFIG = {"allow_accept": True, "allow_ignore": True, "allow_edit": False, "allow_respond": True}


class State(TypedDict, total=False):
    said: str


class Behind(SqliteSaver):
    """Checkpoints that are still being written when the next step runs, as LangGraph does it unless told otherwise."""

    def put(self, config, checkpoint, metadata, new_versions):
        if MARK in config.get("metadata", {}):
            time.sleep(60)
        return super().put(config, checkpoint, metadata, new_versions)


def as_a_node(agent, saver):
    """A graph that has this agent for its only node."""
    builder = StateGraph(MessagesState)
    builder.add_node("helper", agent)
    builder.add_edge(START, "helper")
    return builder.compile(checkpointer=saver)


def main(folder: str, url: str, token: str, dialect: str, how: str, *rest: str) -> None:
    """`dialect`: inbox, batched or per_call; also within a node or a tool of another graph (`batched node`). `how`:
    start or go-on; also slow, and behind. Exits with 3 for an unknown outcome.
    """
    saves = Behind if "behind" in rest else SqliteSaver
    saver = saves(sqlite3.connect(Path(folder) / "threads.db", check_same_thread=False))
    dialect, *within = dialect.split()

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
            checkpointer=None if within else saver,
        )
        ask = {"messages": [{"role": "user", "content": "clean up"}]}
        if within == ["node"]:
            graph = as_a_node(graph, saver)
        elif within == ["tool"]:
            helper = graph

            @tool
            def delegate(task: str) -> str:
                """Lets a helper do it."""
                return helper.invoke({"messages": [{"role": "user", "content": task}]})["messages"][-1].text

            graph = create_agent(
                Scripted(turns=[calls(("delegate", {"task": "clean up"}))]), tools=[delegate], checkpointer=saver
            )
    try:
        InterruptBridge(placet.Client(url, token)).run(graph, ask if how == "start" else None, THREAD)
    except placet.UnknownOutcome:
        sys.exit(3)
