"""A refund desk on LangGraph whose runs end while a person decides: `desk.py CUSTOMER "what they want"`, then `desk.py CUSTOMER`.

Nothing waits in between. The thread is in desk.db, the question is in Placet, and any process can go on with both.
The model is a script, so that this runs offline; put yours in its place.
"""

import sqlite3
import sys

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from placet.adapters.langchain import PlacetMiddleware


@tool
def refund(customer: str, amount: int) -> str:
    """Pays money back."""
    print(f"  *** {amount} paid back to {customer} ***")
    return f"{amount} paid back"


class Script(BaseChatModel):
    """Asks for one refund, then repeats what it was told."""

    customer: str

    @property
    def _llm_type(self):
        return "script"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, *_, **__):
        told = [one.content for one in messages if isinstance(one, ToolMessage)]
        call = {"name": "refund", "args": {"customer": self.customer, "amount": 500}, "id": f"call_{self.customer}"}
        said = AIMessage(f"I was told: {told[-1]}") if told else AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


customer, *wish = sys.argv[1:]
desk = create_agent(
    Script(customer=customer),
    tools=[refund],
    middleware=[PlacetMiddleware(tools={"refund": {"risk": "high", "expires_in": "1h"}}, mode="pause")],
    checkpointer=SqliteSaver(sqlite3.connect("desk.db", check_same_thread=False)),
)
thread = {"configurable": {"thread_id": f"refund-{customer}"}}
# What the resume value says does not matter: the middleware asks Placet what was decided.
given = {"messages": [{"role": "user", "content": wish[0]}]} if wish else Command(resume="go on")
answer = desk.invoke(given, thread)
for pause in answer.get("__interrupt__", []):
    print(f"paused: {pause.value['request']}")
if "__interrupt__" not in answer:
    print(f"  {answer['messages'][-1].content}")
