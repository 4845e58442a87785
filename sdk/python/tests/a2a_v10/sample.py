"""An agent on the official SDK of A2A 1.0 whose JSON-RPC is not where its card is, as in the SDK's own sample.

It does what the protocol's public conformance kit expects of an agent: the id of a message says what becomes of it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from a2a.server.agent_execution.agent_executor import AgentExecutor
from a2a.server.agent_execution.context import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks.inmemory_task_store import InMemoryTaskStore
from a2a.server.tasks.task_updater import TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, Task, TaskState, TaskStatus
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value
from starlette.applications import Starlette

RPC = "/a2a/jsonrpc"
SEVERAL = "tck-stream-artifact-chunked"


def file(**content: Any) -> Part:
    return Part(filename="output.txt", media_type="text/plain", **content)


# The longer names stand before those that they begin with.
PARTS = {
    "tck-artifact-text": Part(text="Generated text content"),
    "tck-artifact-file-url": file(url="https://example.com/output.txt"),
    "tck-artifact-file": file(raw=b"tck"),
    "tck-artifact-data": Part(data=ParseDict({"key": "value", "count": 42}, Value())),
    "tck-stream-artifact-file": file(raw=b"tck"),
    "tck-stream-artifact-text": Part(text="Streamed text content"),
    "tck-stream-ordering-001": Part(text="Ordered output"),
    "tck-stream-001": Part(text="Stream hello from TCK"),
    "tck-stream-003": Part(text="Stream task lifecycle"),
}


def part(name: str) -> Part:
    found = (part for prefix, part in PARTS.items() if name.startswith(prefix))
    return next(found, Part(text="Hello from the sample"))


class Sample(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        name = context.message.message_id
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if name.startswith("tck-message-response"):
            await event_queue.enqueue_event(updater.new_agent_message([Part(text="Direct message response")]))
            return
        if not context.current_task:
            began = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            task = Task(id=context.task_id, context_id=context.context_id, status=began, history=[context.message])
            await event_queue.enqueue_event(task)
        if name.startswith("tck-input-required"):
            await updater.requires_input(updater.new_agent_message([Part(text="What else?")]))
            return
        if name.startswith("tck-reject-task"):
            await updater.reject()
            return
        await updater.start_work()
        if name.startswith("test-resubscribe-message-id"):
            await asyncio.sleep(4)
        elif name.startswith("tck-stream-"):
            await asyncio.sleep(0.2)
        if name.startswith(SEVERAL):
            await updater.add_artifact([Part(text="one ")], artifact_id="several", append=False, last_chunk=False)
            await updater.add_artifact([Part(text="two")], artifact_id="several", append=True, last_chunk=True)
        else:
            await updater.add_artifact([part(name)], name="output", last_chunk=True)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def app(name: str, url: str, remote: str | None) -> Any:
    card = AgentCard(
        name=name,
        description="does as it is told",
        version="1",
        capabilities=AgentCapabilities(streaming=True, push_notifications=False),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="sample", name="Sample", description="Does as it is told.", tags=["sample"])],
        supported_interfaces=[
            AgentInterface(protocol_binding="GRPC", protocol_version="1.0", url="127.0.0.1:1"),
            AgentInterface(protocol_binding="JSONRPC", protocol_version="1.0", url=f"{url}{RPC}"),
        ],
    )
    handler = DefaultRequestHandler(agent_executor=Sample(), task_store=InMemoryTaskStore(), agent_card=card)
    routes = [*create_agent_card_routes(agent_card=card), *create_jsonrpc_routes(request_handler=handler, rpc_url=RPC)]
    return Starlette(routes=routes)
