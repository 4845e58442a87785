"""A coder on adk-deepagents whose sub-agent may write files, each once a person has approved it.

    python coder.py FOLDER

Runs offline: the models are scripts. The boss hands the work to a dynamic sub-agent, which is where adk-deepagents
itself loses approvals; with `install()` they are kept.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import warnings
from collections.abc import AsyncGenerator
from typing import Any

from adk_deepagents import create_deep_agent
from adk_deepagents.backends.filesystem import FilesystemBackend
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from placet.adapters.adk import drain
from placet.adapters.adk_deepagents import install

warnings.filterwarnings("ignore", category=UserWarning, module="google.adk")
logging.getLogger("google_adk").setLevel(logging.ERROR)  # a scripted model counts no tokens


class Scripted(BaseLlm):
    """Stands in for a model: makes its calls one after the other, then says what came of them."""

    model: str = "scripted"
    calls: list[tuple[str, dict[str, Any]]]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        results = [part.function_response.response for part in parts if part.function_response]
        if len(results) < len(self.calls):
            name, args = self.calls[len(results)]
            part = types.Part(function_call=types.FunctionCall(name=name, args=args))
        else:
            part = types.Part(text="; ".join(str(one.get("status") or one) for one in results))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main(folder: str) -> None:
    install()  # before any agent is made
    coder = {
        "name": "coder",
        "description": "Writes code.",
        "model": Scripted(
            calls=[
                ("write_file", {"file_path": "/hello.py", "content": "print('hello')\n"}),
                ("write_file", {"file_path": "/secrets.env", "content": "TOKEN=1\n"}),
            ]
        ),
        "interrupt_on": {"write_file": True, "edit_file": True},
    }
    boss = create_deep_agent(
        model=Scripted(calls=[("task", {"description": "write", "prompt": "say hello", "subagent_type": "coder"})]),
        subagents=[coder],
        delegation_mode="dynamic",
        backend=FilesystemBackend(root_dir=folder, virtual_mode=True),
    )
    runner = InMemoryRunner(agent=boss, app_name="coder")
    session = await runner.session_service.create_session(app_name="coder", user_id="me")
    message = types.Content(role="user", parts=[types.Part(text="Write a program that says hello.")])
    events = await drain(runner.run_async(user_id="me", session_id=session.id, new_message=message))
    for event in events:
        for result in event.get_function_responses():
            print(f"{result.name}: {result.response.get('status')}: {result.response.get('result')}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
