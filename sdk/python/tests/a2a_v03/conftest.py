"""The approval desk, and the real client of A2A 0.3."""

import pytest
from a2a.client import ClientConfig, ClientFactory

from support.desk import card, http, receiver

__all__ = ["card", "http", "receiver"]


@pytest.fixture
def connect(http, card):
    """Makes the client."""
    return lambda **settings: ClientFactory(ClientConfig(httpx_client=http, **settings)).create(card)
