"""A customer-support agent on google-adk that may credit accounts, once a supervisor has approved the credit.

    python agent.py "I was charged twice, please credit 500 dollars to acc-7" …

Runs offline: the model is a script that always asks for the credit and then repeats what came of it. Set
ADK_MODEL=gemini-2.5-flash (and its key) for a real one; nothing else changes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import sys
import time
import warnings
from collections.abc import AsyncGenerator

from google.adk.agents import Agent
from google.adk.apps.app import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from placet.adapters.adk import PlacetPlugin, drain

warnings.filterwarnings("ignore", category=UserWarning, module="google.adk")
logging.getLogger("google_adk").setLevel(logging.ERROR)  # a scripted model counts no tokens


def apply_account_credit(account_id: str, amount: float, reason: str) -> dict:
    """Apply a credit to a customer account. A supervisor must approve it.

    Args:
        account_id: The customer account to credit.
        amount: The credit in US dollars.
        reason: The business justification.
    """
    with open(os.environ.get("CREDITS", "credits.log"), "a") as ledger:  # what a billing system would do
        ledger.write(f"{account_id} {amount:.2f}\n")
    time.sleep(float(os.environ.get("SLOW", "0")))
    return {"status": "credited", "account_id": account_id, "amount_credited": amount}


class Scripted(BaseLlm):
    """Stands in for a model: asks for the credit that the customer names, then says what came of it."""

    model: str = "scripted"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        last = llm_request.contents[-1].parts[-1]
        if last.function_response:
            part = types.Part(text=told(last.function_response.response))
        else:
            amount, account = re.search(r"(\d+)\D+(acc-\d+)", last.text).groups()
            asked = {"account_id": account, "amount": float(amount), "reason": "charged twice"}
            part = types.Part(function_call=types.FunctionCall(name="apply_account_credit", args=asked))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def told(result: dict) -> str:
    if result.get("status") == "credited":
        return f"{result['amount_credited']:.2f} dollars were credited to {result['account_id']}."
    return f"I am sorry, the credit was not made: {result.get('reason') or result['message']}"


root_agent = Agent(
    name="credit_agent",
    model=os.environ.get("ADK_MODEL") or Scripted(),
    description="Customer support agent that can apply account credits, each approved by a supervisor.",
    instruction=(
        "When a customer asks for a credit, call apply_account_credit. If it was approved, confirm what was credited, "
        "which may be less than asked. If not, apologise and give the reason."
    ),
    tools=[apply_account_credit],
)

app = App(
    name="credit",
    root_agent=root_agent,
    plugins=[PlacetPlugin(tools={"apply_account_credit"}, risk="high", expires_in="30m")],
)


def show(event) -> None:
    for part in event.content.parts if event.content else []:
        if part.function_call:
            print(f"agent calls {part.function_call.name}({json.dumps(part.function_call.args)})", flush=True)
        elif part.text:
            print(f"agent: {part.text}", flush=True)


async def main(messages: list[str]) -> None:
    runner = InMemoryRunner(app=app)
    for words in messages:
        print(f"\ncustomer: {words}", flush=True)
        session = await runner.session_service.create_session(app_name="credit", user_id="customer-1")
        message = types.Content(role="user", parts=[types.Part(text=words)])
        await drain(runner.run_async(user_id="customer-1", session_id=session.id, new_message=message), show)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:] or ["I was charged twice, please credit 500 dollars to acc-7"]))
