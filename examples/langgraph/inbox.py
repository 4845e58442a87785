"""A graph written for Agent Inbox, which knows nothing of Placet, served by the bridge."""

from typing import TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from placet.adapters.langgraph import InterruptBridge


class State(TypedDict, total=False):
    done: str


def publish(state: State) -> State:
    answer = interrupt(
        [
            {
                "action_request": {"action": "publish", "args": {"version": "2.0", "to": "everybody"}},
                "config": {"allow_accept": True, "allow_edit": True, "allow_respond": True, "allow_ignore": True},
                "description": "The new version is ready.",
            }
        ]
    )[0]
    if answer["type"] == "accept":
        return {"done": "published to everybody"}
    if answer["type"] == "edit":
        return {"done": f"published to {answer['args']['args']['to']}"}
    return {"done": f"not published ({answer['type']}: {answer['args']})"}


builder = StateGraph(State)
builder.add_node("publish", publish)
builder.add_edge(START, "publish")
graph = builder.compile(checkpointer=InMemorySaver())

result = InterruptBridge().run(graph, {}, {"configurable": {"thread_id": "release-2.0"}})
print(f"  the graph says: {result['done']}")
