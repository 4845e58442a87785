"""Fixtures for a folder that puts the proxy in front of one framework's agent and calls it with several clients.

The folder's `conftest.py` imports them all, and says in a fixture `framework` which one it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from .bench import Bench, Middleman, serving
from .peers import Peer
from .upstream import Upstream

__all__ = ["bench", "governed", "meddled", "middleman", "mortal", "own", "own_peer", "peer", "remote", "upstream"]


@dataclass(frozen=True)
class Framework:
    upstream: str
    """The module whose `app` makes its agent."""
    clients: dict[str, Callable[[str, str], Peer]]
    """What makes a client, by the name that tests ask for; `sdk` where they ask for none."""
    settings: str = ""
    """What the server is told of the agent, beside its address."""


@pytest.fixture(scope="session")
def remote(tmp_path_factory, framework):
    """An agent behind the agent."""
    with Upstream(framework.upstream, tmp_path_factory.mktemp("remote"), name="remote") as agent:
        yield agent


@pytest.fixture(scope="session")
def upstream(tmp_path_factory, framework, remote):
    with Upstream(framework.upstream, tmp_path_factory.mktemp("upstream"), remote=remote.url) as agent:
        remote.ready()
        yield agent.ready()


@pytest.fixture(scope="session")
def governed(tmp_path_factory, framework, upstream):
    with serving(tmp_path_factory.mktemp("governed"), upstream.url, framework.settings) as server:
        yield server


@pytest.fixture
def bench(framework, governed, upstream, request):
    return Bench.new(governed, upstream, framework.clients[getattr(request, "param", "sdk")])


@pytest.fixture
def peer(bench):
    return bench.peer()


@pytest.fixture(scope="session")
def mortal(tmp_path_factory, framework):
    """An agent that may be killed, and the server in front of it."""
    folder = tmp_path_factory.mktemp("mortal")
    with (
        Upstream(framework.upstream, folder) as agent,
        serving(folder, agent.ready().url, framework.settings) as server,
    ):
        yield agent, server


@pytest.fixture
def own(framework, mortal):
    agent, server = mortal
    return Bench.new(server, agent, framework.clients["sdk"])


@pytest.fixture
def own_peer(own):
    return own.peer()


@pytest.fixture
def middleman(upstream):
    with Middleman(upstream.url) as between:
        yield between


@pytest.fixture
def meddled(tmp_path, framework, upstream, middleman):
    """A server that reaches the agent through the middleman."""
    with serving(tmp_path, middleman.url, framework.settings) as server:
        yield Bench.new(server, upstream, framework.clients["sdk"])
