"""A refund desk on LangGraph: `python langgraph_desk.py carol=500 dave=400` runs until people must decide.

Whatever happens to that process, `python -m placet.resume langgraph_desk:desk` goes on with the threads in desk.db.
The model is a script, so that this runs offline; put yours in its place.
"""

import sqlite3
import sys
import time

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver

from placet.adapters.langchain import PlacetMiddleware


@tool
def refund(customer: str, amount: int) -> str:
    """Pays money back."""
    print(f"  *** {amount} paid back to {customer} ***", flush=True)
    if amount >= 1000:
        time.sleep(60)  # the bank takes its time
    return f"{amount} paid back"


class Script(BaseChatModel):
    """Asks for the refund, then repeats what it was told."""

    @property
    def _llm_type(self):
        return "script"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, *_, **__):
        told = [one.content for one in messages if isinstance(one, ToolMessage)]
        customer, _, amount = messages[0].content.partition("=")
        call = {"name": "refund", "args": {"customer": customer, "amount": int(amount)}, "id": f"call_{customer}"}
        if told:
            print(f"  the model was told: {told[-1]}", flush=True)
        said = AIMessage(f"I was told: {told[-1]}") if told else AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


desk = create_agent(
    Script(),
    tools=[refund],
    middleware=[PlacetMiddleware(tools={"refund": {"risk": "high", "expires_in": "1h"}}, mode="pause")],
    checkpointer=SqliteSaver(sqlite3.connect("desk.db", check_same_thread=False)),
)

if __name__ == "__main__":
    for wish in sys.argv[1:]:
        customer = wish.partition("=")[0]
        message = {"messages": [{"role": "user", "content": wish}]}
        desk.invoke(message, {"configurable": {"thread_id": f"refund-{customer}"}})
    print("paused", flush=True)
    time.sleep(60)  # other work; it is killed here
