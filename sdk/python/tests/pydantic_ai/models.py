"""A model that says what the test wrote down, in order. The only stand-in in these tests."""

from __future__ import annotations

from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel


def calls(*wanted: tuple[str, dict[str, Any]]) -> ModelResponse:
    """A turn of the model that calls these tools, all at once."""
    return ModelResponse(
        [ToolCallPart(name, args, tool_call_id=f"call_{number}") for number, (name, args) in enumerate(wanted, 1)]
    )


def scripted(*turns: ModelResponse) -> FunctionModel:
    """Answers by how many turns it already had in this conversation, so that it is the same in every process."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = sum(isinstance(one, ModelResponse) for one in messages)
        return turns[turn] if turn < len(turns) else ModelResponse([TextPart("done")])

    return FunctionModel(answer)


def prompts(result: Any) -> list[Any]:
    """What the model was told beside the results of its calls."""
    parts = [part for message in result.all_messages() if isinstance(message, ModelRequest) for part in message.parts]
    return [part.content for part in parts if isinstance(part, UserPromptPart)]


def returned(result: Any) -> list[Any]:
    """What the model was told about its calls."""
    parts = [part for message in result.all_messages() if isinstance(message, ModelRequest) for part in message.parts]
    return [part.content for part in parts if isinstance(part, ToolReturnPart)]
