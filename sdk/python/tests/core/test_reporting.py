"""What of an agent is seen is told to the server, before policy is asked about the first call."""

from __future__ import annotations

import time

import pytest

from placet import AsyncClient, Call, Client, reporting
from placet.covered import GATED, UNCOVERED, Coverage, Part
from support import Proxy, Server, eventually

POLICY = """
version = 1
[[rule]]
name = "looking"
effect = "allow"
tool = "look"
[[rule]]
name = "out-of-sight"
effect = "deny"
coverage = ["partial", "unknown"]
"""
LOOK = Call("look", {"at": "it"}, "s1")


def covers(*statuses: str, agent: str = "desk") -> Coverage:
    parts = (Part(f"tool-{n}", "tool", agent, status, "because") for n, status in enumerate(statuses))
    return Coverage("google-adk", agent, tuple(parts))


@pytest.fixture
def strict(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    with Server(tmp_path / "data", policy=str(policy)) as server:
        yield server


def known(server) -> dict:
    with server.http(server.ann) as http:
        return next(one for one in http.get("/v1/agents").json()["items"] if one["name"] == "bot")


def late(method: str, path: str) -> None:
    """A report takes its time: a call that does not wait for it is asked first."""
    if path == "/v1/coverage":
        time.sleep(0.5)


def test_the_first_call_is_judged_by_what_was_reported_before_it(strict):
    with Proxy(strict.url, late) as proxy, Client(proxy.url, strict.agent) as client:
        assert client.hold(LOOK).status == "denied"
        reporting.report(covers(GATED), client)
        assert client.hold(LOOK).go
        reporting.report(covers(GATED, UNCOVERED, agent="shop"), client)
        assert client.hold(LOOK).status == "denied"
    assert known(strict)["covered"] == "partial"
    assert {one["agent"] for one in known(strict)["coverage"]} == {"desk", "shop"}


async def test_the_async_client_waits_for_it_too(strict):
    with Proxy(strict.url, late) as proxy:
        async with AsyncClient(proxy.url, strict.agent) as client:
            reporting.report(covers(GATED), client)
            assert (await client.hold(LOOK)).go


def test_the_same_is_said_once_and_something_else_again(server):
    with Proxy(server.url) as proxy, Client(proxy.url, server.agent) as client:
        for _ in range(3):
            reporting.report(covers(GATED), client)
        reporting.report(covers(UNCOVERED), client)
        eventually(lambda: proxy.count("PUT", "/v1/coverage") == 2 and reporting.under_way(client) is None)
        assert known(server)["covered"] in ("complete", "partial")


def test_a_server_that_keeps_no_reports_stops_nobody(server, caplog):
    def old(method: str, path: str) -> object:
        unknown = (404, "application/problem+json", '{"code": "not_found", "status": 404}')
        return unknown if path == "/v1/coverage" else None

    with Proxy(server.url, old) as proxy, Client(proxy.url, server.agent) as client:
        reporting.report(covers(GATED), client)
        assert client.hold(LOOK, hold_for=0.0, then="leave").status == "pending"
        assert not [one for one in caplog.records if one.levelname == "WARNING"]


def test_whatever_a_tool_is_called_fits_into_a_report(server):
    odd = Coverage("f", "a\nb\u202e" + "x" * 500, (Part("ü" * 300, "", "\x00", UNCOVERED, "y" * 1000),) * 300)
    with Client(server.url, server.agent) as client:
        reporting.report(odd, client)
        client.hold(LOOK, hold_for=0.0)
        eventually(lambda: len(known(server)["coverage"]) == 1)
    assert len(known(server)["coverage"][0]["parts"]) == reporting.PARTS


def test_what_is_out_of_sight_is_not_cut_off():
    many = Coverage("f", "a", (*covers(*[GATED] * 300).parts, *covers(UNCOVERED).parts))
    assert UNCOVERED in [part["status"] for part in reporting.body(many)["parts"]]
