"""The approval desk, and the real client of A2A 0.3, by either binding."""

import pytest
from a2a.client import ClientConfig, ClientFactory
from a2a.types import TransportProtocol

from support.desk import card, http, receiver

__all__ = ["card", "http", "receiver"]


@pytest.fixture(params=[TransportProtocol.jsonrpc, TransportProtocol.http_json])
def binding(request):
    return request.param


@pytest.fixture
def connect(http, card, binding):
    """Makes the client."""

    def connect(**settings):
        config = ClientConfig(httpx_client=http, supported_transports=[binding], use_client_preference=True, **settings)
        return ClientFactory(config).create(card)

    return connect
