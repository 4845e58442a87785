"""Push notifications of the desk, wished for by the real client of A2A 1.0, by either binding."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from a2a.client.errors import A2AClientError
from a2a.types import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    SendMessageConfiguration,
    StreamResponse,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict, ParseDict

from a2a_v10.asking import ASKED, asking, first
from support import eventually
from support.receiver import Receiver


@pytest.fixture
def client(card, connect):
    assert card.capabilities.push_notifications
    return connect(streaming=False)


async def asked(client, **configuration):
    return await first(client.send_message(asking(SendMessageConfiguration(**configuration))))


def wish(task, url, **more):
    shown = AuthenticationInfo(scheme="Bearer", credentials="s3cret")
    return TaskPushNotificationConfig(task_id=task.id, url=url, token="t0ken", authentication=shown, **more)


def told(posted):
    """The task, read by the protocol's own types, which refuse what they do not know."""
    return ParseDict(posted.body, StreamResponse()).task


async def fence(client, reviewer, receiver):
    """What was posted before the decision of a later task was."""
    task = await asked(client)
    await client.create_task_push_notification_config(wish(task, receiver.url))
    reviewer.approve()
    await asyncio.to_thread(eventually, lambda: any(told(one).id == task.id for one in list(receiver.posted)))
    return [one for one in list(receiver.posted) if told(one).id != task.id]


async def test_a_decision_is_posted_with_token_and_credentials(client, reviewer, receiver):
    task = await asked(client)
    await client.create_task_push_notification_config(wish(task, receiver.url, id="mine"))
    reviewer.approve()
    posted = receiver.wait_for(1)[0]
    assert posted.headers["x-a2a-notification-token"] == "t0ken"
    assert posted.headers["authorization"] == "Bearer s3cret"
    assert posted.headers["content-type"] == "application/a2a+json"
    assert told(posted).id == task.id
    assert told(posted).status.state == TaskState.TASK_STATE_COMPLETED
    assert MessageToDict(told(posted).artifacts[0].parts[1].data)["args"] == ASKED["args"]


async def test_wishes_are_listed_and_taken_back(client, reviewer, receiver):
    task = await asked(client)
    made = await client.create_task_push_notification_config(wish(task, receiver.url))
    await client.create_task_push_notification_config(wish(task, receiver.url, id="other"))
    named = GetTaskPushNotificationConfigRequest(task_id=task.id, id=made.id)
    assert (await client.get_task_push_notification_config(named)).url == receiver.url
    listing = ListTaskPushNotificationConfigsRequest(task_id=task.id)
    listed = await client.list_task_push_notification_configs(listing)
    assert {one.id for one in listed.configs} == {made.id, "other"}
    assert "s3cret" not in str(listed)
    for config in (made.id, "other", "other"):
        gone = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id=config)
        await client.delete_task_push_notification_config(gone)
    with pytest.raises((A2AError, A2AClientError)):
        await client.get_task_push_notification_config(named)
    reviewer.approve()
    assert await fence(client, reviewer, receiver) == []


async def test_a_wish_beside_the_message_outlives_a_crash_with_the_receiver_away(client, server, reviewer, receiver):
    receiver.stop()
    task = await asked(client, task_push_notification_config=TaskPushNotificationConfig(url=receiver.url))
    reviewer.deny("keep it")
    server.restart()
    receiver.start()
    posted = receiver.wait_for(1)
    assert told(posted[0]).id == task.id
    assert told(posted[0]).status.state == TaskState.TASK_STATE_REJECTED
    assert len(await fence(client, reviewer, receiver)) == 1


async def test_the_call_on_the_page_is_one_that_works(client, server, reviewer, receiver):
    task = await asked(client)
    page = (Path(__file__).parents[4] / "docs/a2a.md").read_text()
    begin = page.index("curl ", page.index("## Push notifications"))
    call = page[begin : page.index("```", begin)]
    call = call.replace("http://127.0.0.1:4000", server.url).replace("http://127.0.0.1:9000/told", receiver.url)
    ran = await asyncio.create_subprocess_exec(
        *["bash", "-euo", "pipefail", "-c", call.replace("task-…", task.id)],
        env={**os.environ, "AGENT": server.agent},
        stdout=asyncio.subprocess.PIPE,
    )
    told_back, _ = await ran.communicate()
    assert json.loads(told_back)["result"]["taskId"] == task.id
    reviewer.approve()
    assert receiver.wait_for(1)[0].headers["x-a2a-notification-token"] == "any-secret-of-yours"


async def test_an_address_elsewhere_is_refused_and_a_redirect_not_followed(client, reviewer, receiver):
    task = await asked(client)
    for url in ("http://10.0.0.1/", "http://169.254.169.254/latest/meta-data", "http://example.com/"):
        with pytest.raises((A2AError, A2AClientError), match=r"params\.url"):
            await client.create_task_push_notification_config(wish(task, url))
    with Receiver() as elsewhere:
        receiver.answers.append((307, {"location": elsewhere.url}))
        await client.create_task_push_notification_config(wish(task, receiver.url))
        reviewer.approve()
        receiver.wait_for(2)
        assert elsewhere.posted == []
