"""The approval desk, asked by the real client of A2A 0.3."""

import pytest
from a2a.types import TaskIdParams, TaskQueryParams, TaskState

from a2a_v03.asking import ASKED, asking, first


@pytest.fixture
def client(connect):
    return connect()


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
