"""The approval desk, and the real client of A2A 1.0, by either binding."""

import pytest
from a2a.client import ClientConfig, ClientFactory

from support.desk import card, http, receiver

__all__ = ["card", "http", "receiver"]


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
def connect(http, card, request):
    """Makes the client."""

    def connect(**settings):
        config = ClientConfig(
            httpx_client=http, supported_protocol_bindings=[request.param], use_client_preference=True, **settings
        )
        return ClientFactory(config).create(card)

    return connect
