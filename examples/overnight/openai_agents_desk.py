"""A refund desk on the OpenAI Agents SDK: `python openai_agents_desk.py carol=500 dave=400` runs until people must decide.

Whatever happens to that process, `python -m placet.resume openai_agents_desk:desk` goes on with the runs in ./runs.
The model is a script, so that this runs offline; put yours in its place.
"""

import asyncio
import sys
import time

from agents import Agent, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from placet.adapters.openai_agents import Resumer, gate_tool
from placet.kept import FileRuns

set_tracing_disabled(True)


@function_tool
def refund(customer: str, amount: int) -> str:
    """Pays money back."""
    print(f"  *** {amount} paid back to {customer} ***", flush=True)
    if amount >= 1000:
        time.sleep(60)  # the bank takes its time
    return f"{amount} paid back"


class Script(ScriptedModel):
    """Asks for the refund, then repeats what it was told."""

    async def get_response(self, system_instructions, input, *args, **more):
        told = [one["output"] for one in input if one.get("type") == "function_call_output"]
        if told:
            print(f"  the model was told: {told[-1]}", flush=True)
            self.enqueue([assistant_message(f"I was told: {told[-1]}")])
        else:
            customer, _, amount = input[0]["content"].partition("=")
            call = {"customer": customer, "amount": int(amount)}
            self.enqueue([function_call("refund", call, call_id=f"call_{customer}")])
        return await super().get_response(system_instructions, input, *args, **more)


agent = Agent(name="desk", model=Script(), tools=[gate_tool(refund, mode="pause", risk="high", expires_in="1h")])
desk = Resumer(agent, FileRuns("runs"), on_result=lambda key, result: print(f"  {key}: {result.final_output}"))


async def main():
    for wish in sys.argv[1:]:
        customer = wish.partition("=")[0]
        await desk.begin(f"refund-{customer}", wish)
    print("paused", flush=True)
    await asyncio.sleep(60)  # other work; it is killed here


if __name__ == "__main__":
    asyncio.run(main())
