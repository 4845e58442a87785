"""A model that says what a script says, and the few lines every ADK test needs around it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from placet.adapters import adk

try:
    from google.adk.apps.app import ResumabilityConfig
except ImportError:
    from google.adk.apps import ResumabilityConfig

Say = Callable[[list[types.Content]], list[types.Part]]


class Scripted(BaseLlm):
    """The only stand-in here: everything else is the real framework and the real server."""

    model: str = "scripted"
    say: Any = None
    heard: list[Any]
    """What the model was given, one list of contents for each time it was called."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        self.heard.append(list(llm_request.contents))
        # A copy: ADK writes the ids of calls into the parts it is given.
        parts = [part.model_copy(deep=True) for part in self.say(llm_request.contents)]
        yield LlmResponse(content=types.Content(role="model", parts=parts))

    @property
    def results(self) -> list[dict[str, Any]]:
        """The tool results that the model saw when it was last called."""
        parts = [part for content in self.heard[-1] for part in content.parts or []]
        return [part.function_response.response for part in parts if part.function_response]


def call(name: str, /, *, _id: str | None = None, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=_id, name=name, args=args))


def text(words: str) -> types.Part:
    return types.Part(text=words)


def script(*turns: list[types.Part]) -> Say:
    """The first turn, then the next for each round of tool results since the user last spoke; at the end `done`.

    It goes by what stands in the history, so a new process goes on where the old one was.
    """

    def say(contents: list[types.Content]) -> list[types.Part]:
        rounds = 0
        for content in contents:
            parts = content.parts or []
            if content.role == "user" and any(part.text and not part.text.startswith("For context") for part in parts):
                rounds = 0
            if any(part.function_response for part in parts):
                rounds += 1
        return turns[rounds] if rounds < len(turns) else [text("done")]

    return say


def model(*turns: list[types.Part]) -> Scripted:
    return Scripted(say=script(*turns), heard=[])


def agent(turns: Any, tools: list[Any], name: str = "root", **options: Any) -> LlmAgent:
    llm = turns if isinstance(turns, BaseLlm) else model(*turns)
    return LlmAgent(name=name, model=llm, tools=tools, **options)


def runner(
    root: Any, plugins: list[Any] | None = None, *, resumable: bool = False, sessions: Any = None, app: str = "shop"
) -> Runner:
    config = ResumabilityConfig(is_resumable=True) if resumable else None
    made = App(name=app, root_agent=root, plugins=plugins or [], resumability_config=config)
    return Runner(app=made, session_service=sessions or InMemorySessionService())


async def run(runs: Runner, words: str = "go", session: str = "s1", user: str = "u1", **options: Any) -> list[Any]:
    """One message of the user, read to the end."""
    service = runs.session_service
    if await service.get_session(app_name=runs.app_name, user_id=user, session_id=session) is None:
        await service.create_session(app_name=runs.app_name, user_id=user, session_id=session)
    message = types.Content(role="user", parts=[text(words)]) if words else None
    return await adk.drain(runs.run_async(user_id=user, session_id=session, new_message=message, **options))


def results(events: list[Any], tool: str) -> list[dict[str, Any]]:
    """What the tool's calls came to, as the session has it."""
    return [one.response for event in events for one in event.get_function_responses() if one.name == tool]


def said(events: list[Any]) -> str:
    parts = [part for event in events if event.content for part in event.content.parts or []]
    return " ".join(part.text for part in parts if part.text)


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
