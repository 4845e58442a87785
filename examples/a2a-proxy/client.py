"""An ordinary client of A2A. It has an address and a key, and does not know that people are asked.

    AGENT_URL=http://127.0.0.1:4000/a2a/shop/refunds PLACET_TOKEN=plk_agent_… python client.py "refund 40 to acc-7"
"""

from __future__ import annotations

import asyncio
import os
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest, TaskState


def words(parts) -> str:
    return " ".join(part.text for part in parts if part.text)


async def main(messages: list[str]) -> None:
    headers = {"Authorization": f"Bearer {os.environ['PLACET_TOKEN']}"}
    async with httpx.AsyncClient(headers=headers, timeout=600) as http:
        card = await A2ACardResolver(http, os.environ["AGENT_URL"]).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http)).create(card)
        for text in messages:
            print(f"\ncustomer: {text}", flush=True)
            message = Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=[Part(text=text)])
            last = ""
            # One stream, from the question to the answer, however long people think in between.
            async for event in client.send_message(SendMessageRequest(message=message)):
                line = told(event)
                if line and line != last:
                    print(line, flush=True)
                last = line or last


def told(event) -> str:
    if event.HasField("artifact_update"):
        return f"agent: {words(event.artifact_update.artifact.parts)}"
    if event.HasField("status_update"):
        status = event.status_update.status
        said = words(status.message.parts)
        return f"  {TaskState.Name(status.state).removeprefix('TASK_STATE_').lower()}{said and f': {said}'}"
    return ""


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:] or ["please refund 40 euros to acc-7"]))
