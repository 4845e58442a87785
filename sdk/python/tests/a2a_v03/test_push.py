"""Push notifications of the desk, wished for by the real client of A2A 0.3."""

import pytest
from a2a.client.errors import A2AClientError
from a2a.types import (
    GetTaskPushNotificationConfigParams,
    MessageSendConfiguration,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Task,
    TaskPushNotificationConfig,
    TaskState,
    TransportProtocol,
)

from a2a_v03.asking import ASKED, asking, first


@pytest.fixture
def client(card, connect):
    assert card.capabilities.push_notifications
    return connect(streaming=False)


async def asked(client, **configuration):
    return await first(client.send_message(asking(), configuration=MessageSendConfiguration(**configuration)))


def wish(task, url, **more):
    shown = PushNotificationAuthenticationInfo(schemes=["Bearer"], credentials="s3cret")
    config = PushNotificationConfig(url=url, token="t0ken", authentication=shown, **more)
    return TaskPushNotificationConfig(task_id=task.id, push_notification_config=config)


async def test_a_decision_is_posted_as_the_bare_task_with_its_token(client, reviewer, receiver):
    task = await asked(client)
    await client.set_task_callback(wish(task, receiver.url, id="mine"))
    named = GetTaskPushNotificationConfigParams(id=task.id, push_notification_config_id="mine")
    read = (await client.get_task_callback(named)).push_notification_config
    # Over HTTP+JSON the client reads nothing as an empty text.
    assert (read.url, read.token or None, read.authentication.credentials or None) == (receiver.url, None, None)
    reviewer.approve()
    posted = receiver.wait_for(1)[0]
    assert posted.headers["x-a2a-notification-token"] == "t0ken"
    assert posted.headers["authorization"] == "Bearer s3cret"
    assert posted.headers["content-type"] == "application/json"
    told = Task.model_validate(posted.body)
    assert (told.id, told.status.state) == (task.id, TaskState.completed)
    assert told.artifacts[0].parts[1].root.data["args"] == ASKED["args"]


async def test_a_wish_outlives_a_crash_with_the_receiver_away(client, server, reviewer, receiver, binding):
    receiver.stop()
    if binding == TransportProtocol.http_json:
        # The client cannot write a wish beside a message over HTTP+JSON.
        task = await asked(client)
        await client.set_task_callback(wish(task, receiver.url))
    else:
        task = await asked(client, push_notification_config=PushNotificationConfig(url=receiver.url))
    reviewer.deny("keep it")
    server.restart()
    receiver.start()
    told = Task.model_validate(receiver.wait_for(1)[0].body)
    assert (told.id, told.status.state) == (task.id, TaskState.rejected)


async def test_an_address_elsewhere_is_refused(client, reviewer, binding):
    task = await asked(client)
    # Over HTTP+JSON the client tells the status alone.
    said = "400 Bad Request" if binding == TransportProtocol.http_json else r"params\.pushNotificationConfig\.url"
    for url in ("http://10.0.0.1/", "http://169.254.169.254/latest/meta-data", "http://example.com/"):
        with pytest.raises(A2AClientError, match=said):
            await client.set_task_callback(wish(task, url))
