"""The real client of A2A 1.0, a2a-sdk 1.3.0."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP, A2AError
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

from support.peers import Asynchronous, Seen
from support.wire import Refused


class Sdk(Asynchronous):
    """It reads the card, and speaks the binding it finds there, or the one that is asked for."""

    errors = A2AError

    async def _open(self, url: str, token: str, binding: str = "JSONRPC") -> None:
        http = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
        self.card = await A2ACardResolver(http, url).get_agent_card()

        def client(streaming: bool) -> Any:
            config = ClientConfig(
                httpx_client=http,
                streaming=streaming,
                supported_protocol_bindings=[binding],
                use_client_preference=True,
            )
            return ClientFactory(config).create(self.card)

        self._streaming, self._plain = client(True), client(False)

    def _asking(self, parts: tuple[Any, ...], task: str | None, context: str | None) -> SendMessageRequest:
        made = [Part(text=one) if isinstance(one, str) else Part(data=ParseDict(one, Value())) for one in parts]
        return SendMessageRequest(
            message=Message(
                message_id=uuid.uuid4().hex,
                role=Role.ROLE_USER,
                parts=made,
                task_id=task or "",
                context_id=context or "",
            )
        )

    def _seen(self, told: Any) -> Seen:
        return Seen.of(MessageToDict(told))

    def _refused(self, error: A2AError) -> Refused:
        return Refused({"code": JSON_RPC_ERROR_CODE_MAP.get(type(error)), "message": str(error)})

    def get(self, task: str) -> Seen:
        return self._one(self._plain.get_task(GetTaskRequest(id=task)))

    def cancel(self, task: str) -> Seen:
        return self._one(self._plain.cancel_task(CancelTaskRequest(id=task)))

    def subscribe(self, task: str) -> Iterator[Seen]:
        return self._events(lambda: self._streaming.subscribe(SubscribeToTaskRequest(id=task)))
