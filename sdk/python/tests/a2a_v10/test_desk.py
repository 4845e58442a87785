"""The approval desk, asked by the real client of A2A 1.0, by either binding."""

import uuid

import httpx
import pytest
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

ASKED = {"type": "approval_request", "action": "delete_files", "args": {"files": ["report.md"]}}


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
async def client(server, request):
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {server.agent}"}, timeout=30) as http:
        card = await A2ACardResolver(http, f"{server.url}/a2a/desk").get_agent_card()
        config = ClientConfig(
            httpx_client=http, supported_protocol_bindings=[request.param], use_client_preference=True
        )
        yield ClientFactory(config).create(card)


def asking(data=ASKED, **more):
    part = Part(data=ParseDict(data, Value()))
    message = Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=[part], **more)
    return SendMessageRequest(message=message)


async def first(events):
    return (await anext(aiter(events))).task


def told(artifact):
    return MessageToDict(artifact.parts[1].data)


async def test_an_approved_request_streams_to_its_end(client, reviewer):
    with reviewer.always("approve"):
        events = [event async for event in client.send_message(asking())]
    assert [event.WhichOneof("payload") for event in events] == ["task", "artifact_update", "status_update"]
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
    assert told(events[1].artifact_update.artifact)["args"] == ASKED["args"]


async def test_a_no_ends_rejected_with_the_reason(client, reviewer):
    with reviewer.always("deny", reason="keep it"):
        events = [event async for event in client.send_message(asking())]
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_REJECTED
    assert told(events[1].artifact_update.artifact)["reason"] == "keep it"


async def test_a_client_that_went_away_subscribes_again(client, reviewer):
    task = await first(client.send_message(asking()))
    assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    events = []
    async for event in client.subscribe(SubscribeToTaskRequest(id=task.id)):
        events.append(event)
        if len(events) == 1:
            await reviewer.aedit({"files": []})
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
    again = await client.get_task(GetTaskRequest(id=task.id))
    assert told(again.artifacts[0])["args"] == {"files": []}


async def test_listing_and_cancelling(client, reviewer):
    task = await first(client.send_message(asking()))
    listed = await client.list_tasks(ListTasksRequest(page_size=10))
    assert [one.id for one in listed.tasks] == [task.id]
    gone = await client.cancel_task(CancelTaskRequest(id=task.id))
    assert gone.status.state == TaskState.TASK_STATE_CANCELED
    assert reviewer.pending() == []
