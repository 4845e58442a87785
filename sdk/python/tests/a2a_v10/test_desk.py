"""The approval desk, asked by the real client of A2A 1.0, by either binding."""

import pytest
from a2a.types import CancelTaskRequest, GetTaskRequest, ListTasksRequest, SubscribeToTaskRequest, TaskState
from google.protobuf.json_format import MessageToDict

from a2a_v10.asking import ASKED, asking, first


@pytest.fixture
def client(connect):
    return connect()


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
