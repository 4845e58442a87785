"""A model of google-adk that does what the message says, and then repeats what its tools answered. No network.

The message is JSON: `{"ops": [[["delete_file", {"path": "/a"}], ["read_file", {"path": "/b"}]], …]}`, for each agent a
list of turns, each a list of calls. Any other text is only answered.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types


class Told(BaseLlm):
    """The only stand-in: everything around it is the real framework."""

    model: str = "told"
    who: str

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=types.Content(role="model", parts=self.say(llm_request.contents)))

    def say(self, contents: list[types.Content]) -> list[types.Part]:
        turns: list[list[Any]] = []
        rounds, answers, words = 0, [], ""
        for content in contents:
            for part in content.parts or []:
                if part.function_response and part.function_response.name != "adk_request_confirmation":
                    answers.append([part.function_response.name, part.function_response.response])
                elif content.role == "user" and part.text and not part.text.startswith("For context"):
                    words = part.text
                    told = script(part.text)
                    if told is not None:
                        turns, rounds, answers = told.get(self.who, []), 0, []
            if any(part.function_response for part in content.parts or []):
                rounds += 1
        if rounds < len(turns):
            return [types.Part(function_call=types.FunctionCall(name=name, args=args)) for name, args in turns[rounds]]
        return [types.Part(text="done: " + json.dumps({"answers": answers, "heard": words}, sort_keys=True))]


def script(text: str) -> dict[str, Any] | None:
    try:
        told = json.loads(text)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None
