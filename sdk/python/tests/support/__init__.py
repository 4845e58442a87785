"""What all test folders share: the real server, a reviewer, and a count of side effects."""

from __future__ import annotations

from .effects import Effects
from .proxy import HANG, LOSE, REFUSE, Once, Proxy, eventually
from .reviewer import Reviewer
from .server import Server, Stock

import pytest  # isort: skip


@pytest.fixture(scope="session")
def stock(tmp_path_factory):
    """Servers for the tests that want one of their own."""
    servers = Stock(tmp_path_factory.mktemp("placet"))
    yield servers
    servers.close()


@pytest.fixture
def server(stock, monkeypatch):
    """A real server on a free port over an empty data folder; agent `bot`, reviewers `ann` and `bob`, and an admin.

    PLACET_URL and PLACET_TOKEN point at it, as the agent `bot`.
    """
    running = stock.take()
    monkeypatch.setenv("PLACET_URL", running.url)
    monkeypatch.setenv("PLACET_TOKEN", running.agent)
    yield running
    stock.give_back(running)


@pytest.fixture(scope="session")
def standing_server(tmp_path_factory):
    """One real server for tests that do not mind what others left on it. The environment does not point at it."""
    with Server(tmp_path_factory.mktemp("placet") / "placet-data") as running:
        yield running


@pytest.fixture
def reviewer(server):
    """The reviewer `ann`."""
    with Reviewer(server.url, server.ann) as ann:
        yield ann


__all__ = [
    "HANG", "LOSE", "REFUSE", "Effects", "Once", "Proxy", "Reviewer", "Server", "eventually", "reviewer", "server",
    "standing_server", "stock",
]  # fmt: skip
