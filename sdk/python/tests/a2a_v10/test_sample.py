"""An agent whose JSON-RPC is not in the folder of its card, behind Placet, called by the real client of A2A 1.0."""

import httpx
import pytest
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest, TaskState

from support.bench import serving
from support.upstream import Upstream


@pytest.fixture(scope="module")
def behind(tmp_path_factory):
    with Upstream("a2a_v10.sample", tmp_path_factory.mktemp("sample")) as agent:
        yield agent.ready()


@pytest.fixture(scope="module")
def front(tmp_path_factory, behind):
    with serving(tmp_path_factory.mktemp("front"), behind.url, 'generic = "pass"') as server:
        yield server


@pytest.fixture
async def client(front):
    headers = {"Authorization": f"Bearer {front.agent}"}
    async with httpx.AsyncClient(headers=headers, timeout=30) as http:
        card = await A2ACardResolver(http, f"{front.url}/a2a/demo/ops").get_agent_card()
        assert {one.protocol_binding for one in card.supported_interfaces} == {"JSONRPC", "HTTP+JSON"}
        yield ClientFactory(ClientConfig(httpx_client=http)).create(card)


def saying(name, **more):
    message = Message(message_id=name, role=Role.ROLE_USER, parts=[Part(text="hello")], **more)
    return SendMessageRequest(message=message)


async def test_calls_go_where_its_card_says(client):
    events = [event async for event in client.send_message(saying("tck-artifact-text-1"))]
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
    made = [event.artifact_update.artifact for event in events if event.HasField("artifact_update")]
    assert made[0].parts[0].text == "Generated text content"
