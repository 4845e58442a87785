"""A chat model that says what the test wrote down, in order. The only stand-in in these tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field


def calls(*wanted: tuple[str, dict[str, Any]], ids: Sequence[str] | None = None) -> AIMessage:
    """A turn of the model that calls these tools, all at once."""
    names = ids or [f"call_{number}" for number in range(1, len(wanted) + 1)]
    return AIMessage("", tool_calls=[{"name": n, "args": a, "id": i} for (n, a), i in zip(wanted, names, strict=True)])


class Scripted(BaseChatModel):
    """Answers by how many turns it already had in this conversation, so that it is the same in every process."""

    turns: list[AIMessage]
    seen: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.seen.append(list(messages))
        turn = sum(isinstance(one, AIMessage) for one in messages)
        said = self.turns[turn] if turn < len(self.turns) else AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=said.model_copy(deep=True))])


class Again(Scripted):
    """Says its only turn whenever it is called, unless it was just told about a call: the same in every round."""

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.seen.append(list(messages))
        said = AIMessage("done") if isinstance(messages[-1], ToolMessage) else self.turns[0]
        return ChatResult(generations=[ChatGeneration(message=said.model_copy(deep=True))])


def results(answer: dict[str, Any]) -> list[ToolMessage]:
    """What the model was told about its calls."""
    return [one for one in answer["messages"] if isinstance(one, ToolMessage)]
