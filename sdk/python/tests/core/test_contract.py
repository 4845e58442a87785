"""The scenarios that clients of every language are held to: both clients against the real server, and the gateway."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from placet import AsyncClient, Client
from placet.testing import Gateway
from placet.testing.gateway import URL
from support import Server
from support.play import Play

FOLDER = Path(__file__).parents[4] / "tests" / "contract" / "scenarios"
SCENARIOS = [
    pytest.param(scenario, id=f"{file.stem}: {scenario['name']}")
    for file in sorted(FOLDER.glob("*.json"))
    for scenario in json.loads(file.read_text())["scenarios"]
]
MACHINES = {"kill", "start", "stub"}


class Real:
    """The real server."""

    def __init__(self, server: Server):
        self.server = server
        self.agent, self.ann = server.agent, server.ann
        self.kill, self.start = server.kill, server.start

    def connect(self, kind, token, url=None, **options):
        return kind(url or self.server.url, token, **options)

    def revoke(self, id):
        with self.server.http(self.ann) as http:
            http.post(f"/v1/requests/{id}/revoke", json={}).raise_for_status()


class InMemory:
    """The gateway of `placet.testing`."""

    def __init__(self):
        self.gateway = Gateway()
        self.agent, self.ann = self.gateway.token, self.gateway.reviewer_token
        self.revoke = self.gateway.revoke

    def connect(self, kind, token, **options):
        transport = {Client: self.gateway.transport, AsyncClient: self.gateway.async_transport}[kind]
        return kind(URL, token, transport=transport, **options)


@pytest.mark.parametrize("blocking", [False, True], ids=["async", "blocking"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_client_keeps_the_contract(scenario, blocking, tmp_path):
    assert set(scenario) <= {"name", "policy", "steps"}
    policy = tmp_path / "policy.toml"
    policy.write_text(scenario.get("policy", "version = 1"))
    with Server(tmp_path / "data", policy=str(policy)) as server:
        Play(Real(server), blocking).play(scenario["steps"])


@pytest.mark.parametrize(
    "scenario",
    [
        one
        for one in SCENARIOS
        if not MACHINES & {step["do"] for step in one.values[0]["steps"]} and "policy" not in one.values[0]
    ],
)
def test_the_gateway_keeps_it_too(scenario):
    Play(InMemory(), False).play(scenario["steps"])


def test_a_scenario_with_a_word_that_nobody_knows_fails():
    with pytest.raises(KeyError):
        Play(InMemory(), False).play([{"do": "pray"}])
    with pytest.raises(AssertionError, match="unknown fields"):
        Play(InMemory(), False).play([{"do": "pending", "minutes": 1}])
