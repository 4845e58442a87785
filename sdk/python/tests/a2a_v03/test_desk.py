"""The approval desk, asked by the real client of A2A 0.3."""

import uuid

import httpx
import pytest
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import DataPart, Message, Part, Role, TaskIdParams, TaskQueryParams, TaskState

ASKED = {"type": "approval_request", "action": "delete_files", "args": {"files": ["report.md"], "limit": 2**53 - 1}}


@pytest.fixture
async def client(server):
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {server.agent}"}, timeout=30) as http:
        card = await A2ACardResolver(http, f"{server.url}/a2a/desk").get_agent_card()
        yield ClientFactory(ClientConfig(httpx_client=http)).create(card)


def asking(data=ASKED, **more):
    part = Part(root=DataPart(data=data))
    return Message(message_id=uuid.uuid4().hex, role=Role.user, parts=[part], **more)


async def first(events):
    return (await anext(aiter(events)))[0]


async def last(events):
    task = None
    async for event in events:
        task = event[0]
    return task


async def test_an_approved_request_streams_to_its_end_and_keeps_its_integers(client, reviewer):
    with reviewer.always("approve"):
        task = await last(client.send_message(asking()))
    assert task.status.state is TaskState.completed
    told = task.artifacts[0].parts[1].root.data
    assert told["decision"] == "approve"
    assert told["args"] == ASKED["args"]


async def test_a_no_ends_rejected_with_the_reason(client, reviewer):
    with reviewer.always("deny", reason="keep it"):
        task = await last(client.send_message(asking()))
    assert task.status.state is TaskState.rejected
    assert task.artifacts[0].parts[1].root.data["reason"] == "keep it"


async def test_a_client_that_went_away_finds_its_task_again(client, reviewer):
    task = await first(client.send_message(asking()))
    assert task.status.state is TaskState.input_required
    reviewer.approve()
    again = await client.get_task(TaskQueryParams(id=task.id))
    assert again.status.state is TaskState.completed


async def test_cancelling_withdraws_the_request(client, reviewer):
    task = await first(client.send_message(asking()))
    gone = await client.cancel_task(TaskIdParams(id=task.id))
    assert gone.status.state is TaskState.canceled
    assert reviewer.pending() == []


async def test_the_agent_cannot_approve_what_it_asked(client, reviewer):
    task = await first(client.send_message(asking()))
    yes = {"type": "approval_response", "decision": "approve"}
    still = await first(client.send_message(asking(yes, task_id=task.id, context_id=task.context_id)))
    assert still.status.state is TaskState.input_required
    assert len(reviewer.pending()) == 1
