"""Fixtures for real clients of A2A that ask the approval desk: what all versions of a2a-sdk have in common."""

from __future__ import annotations

import httpx
import pytest
from a2a.client import A2ACardResolver

from .receiver import Receiver


@pytest.fixture
async def http(server):
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {server.agent}"}, timeout=30) as http:
        yield http


@pytest.fixture
async def card(server, http):
    return await A2ACardResolver(http, f"{server.url}/a2a/desk").get_agent_card()


@pytest.fixture
def receiver():
    with Receiver() as receiver:
        yield receiver
