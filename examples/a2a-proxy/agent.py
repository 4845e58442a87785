"""A refund agent on google-adk, served over A2A with `to_a2a`. It knows nothing of Placet.

    python agent.py

Its tool wants a confirmation, as google-adk's own `require_confirmation` says, and takes it from whoever calls it.
Runs offline: the model is a script that always asks for the refund and then repeats what came of it. Set
ADK_MODEL=gemini-2.5-flash (and its key) for a real one; nothing else changes.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import warnings
from collections.abc import AsyncGenerator

import uvicorn
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import Agent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

warnings.filterwarnings("ignore", category=UserWarning)  # `to_a2a` is called experimental
logging.getLogger("google_adk").setLevel(logging.ERROR)  # a scripted model counts no tokens


def refund(account_id: str, amount: float) -> dict:
    """Refund a customer.

    Args:
        account_id: The customer account to refund.
        amount: The refund in euros.
    """
    with open(os.environ.get("REFUNDS", "refunds.log"), "a") as ledger:  # what a billing system would do
        ledger.write(f"{account_id} {amount:.2f}\n")
    return {"status": "refunded", "account_id": account_id, "amount": amount}


class Scripted(BaseLlm):
    """Stands in for a model: asks for the refund that the customer names, then says what came of it."""

    model: str = "scripted"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        last = llm_request.contents[-1].parts[-1]
        if last.function_response:
            part = types.Part(text=told(last.function_response.response))
        else:
            amount, account = re.search(r"(\d+)\D+(acc-\d+)", last.text).groups()
            asked = {"account_id": account, "amount": float(amount)}
            part = types.Part(function_call=types.FunctionCall(name="refund", args=asked))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def told(result: dict) -> str:
    if result.get("status") == "refunded":
        return f"{result['amount']:.2f} euros were refunded to {result['account_id']}."
    return f"I am sorry, there is no refund. {result.get('error', '')}".strip()


root_agent = Agent(
    name="refunds",
    model=os.environ.get("ADK_MODEL") or Scripted(),
    description="Refunds customers, each refund confirmed by a person.",
    instruction="When a customer asks for a refund, call refund. Say what was refunded, or apologise.",
    tools=[FunctionTool(refund, require_confirmation=True)],
)

if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", int(os.environ.get("PORT", "0"))))
    port = listener.getsockname()[1]
    print(f"agent at http://127.0.0.1:{port}/", flush=True)
    app = to_a2a(root_agent, host="127.0.0.1", port=port)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
