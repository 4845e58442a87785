"""A refund desk on Pydantic AI: `python pydantic_ai_desk.py carol=500 dave=400` runs until people must decide.

Whatever happens to that process, `python -m placet.resume pydantic_ai_desk:desk` goes on with the runs in ./runs.
The model is a script, so that this runs offline; put yours in its place.
"""

import asyncio
import sys
import time

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from placet.adapters.pydantic_ai import PlacetCapability, Resumer
from placet.kept import FileRuns


def refund(customer: str, amount: int) -> str:
    """Pays money back."""
    print(f"  *** {amount} paid back to {customer} ***", flush=True)
    if amount >= 1000:
        time.sleep(60)  # the bank takes its time
    return f"{amount} paid back"


def script(messages, info):
    """Asks for the refund, then repeats what it was told."""
    parts = [part for one in messages if isinstance(one, ModelRequest) for part in one.parts]
    told = [part.content for part in parts if isinstance(part, ToolReturnPart)]
    if told:
        print(f"  the model was told: {told[-1]}", flush=True)
        return ModelResponse([TextPart(f"I was told: {told[-1]}")])
    customer, _, amount = parts[0].content.partition("=")
    call = {"customer": customer, "amount": int(amount)}
    return ModelResponse([ToolCallPart("refund", call, tool_call_id=f"call_{customer}")])


agent = Agent(
    FunctionModel(script),
    tools=[refund],
    output_type=[str, DeferredToolRequests],
    capabilities=[PlacetCapability(tools=["refund"], mode="pause", risk="high", expires_in="1h")],
    name="desk",
)
desk = Resumer(agent, FileRuns("runs"), on_result=lambda key, result: print(f"  {key}: {result.output}"))


async def main():
    for wish in sys.argv[1:]:
        customer = wish.partition("=")[0]
        await desk.begin(f"refund-{customer}", wish)
    print("paused", flush=True)
    await asyncio.sleep(60)  # other work; it is killed here


if __name__ == "__main__":
    asyncio.run(main())
