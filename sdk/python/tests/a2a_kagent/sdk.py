"""The real client of A2A 0.3, a2a-sdk 0.3.26."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError, A2AClientJSONRPCError
from a2a.types import DataPart, Message, Part, Role, TaskIdParams, TaskQueryParams, TextPart

from support.peers import Asynchronous, Seen
from support.wire import Refused


class Sdk(Asynchronous):
    """It reads the card, and speaks JSON-RPC as it says."""

    errors = A2AClientError

    async def _open(self, url: str, token: str) -> None:
        http = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
        self.card = await A2ACardResolver(http, url).get_agent_card()
        self._streaming = ClientFactory(ClientConfig(httpx_client=http)).create(self.card)
        self._plain = ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(self.card)

    def _asking(self, parts: tuple[Any, ...], task: str | None, context: str | None) -> Message:
        made = [Part(root=TextPart(text=one) if isinstance(one, str) else DataPart(data=one)) for one in parts]
        return Message(message_id=uuid.uuid4().hex, role=Role.user, parts=made, task_id=task, context_id=context)

    def _seen(self, told: Any) -> Seen:
        # An event of a task is the task as it stands, and the update that made it so, if it was one.
        said = told[1] or told[0] if isinstance(told, tuple) else told
        return Seen.of(said.model_dump(mode="json", by_alias=True, exclude_none=True))

    def _refused(self, error: A2AClientError) -> Refused:
        told = error.error if isinstance(error, A2AClientJSONRPCError) else None
        return Refused({"code": getattr(told, "code", None), "message": str(error)})

    def get(self, task: str) -> Seen:
        return self._one(self._plain.get_task(TaskQueryParams(id=task)))

    def cancel(self, task: str) -> Seen:
        return self._one(self._plain.cancel_task(TaskIdParams(id=task)))

    def subscribe(self, task: str) -> Iterator[Seen]:
        return self._events(lambda: self._streaming.resubscribe(TaskIdParams(id=task)))
