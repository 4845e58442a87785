"""Placet in front of an agent of google-adk 2.13.0 that is served with `to_a2a`."""

from __future__ import annotations

import json

import httpx
import pytest

from support.scenarios import Held, delete, doing, pay, told_by_post
from support.troubles import Meddled, Mirrored, Troubled
from support.wire import Wire, state


@pytest.mark.parametrize("bench", ["sdk", "sdk-http", "wire-1.0", "wire-0.3"], indirect=True)
class TestHeld(Held):
    def test_the_model_hears_that_it_was_rejected_and_the_tool_gets_the_reason(self, bench, peer):
        told = peer.send(doing(("restart_service", {"name": "web"}), delete("/srv/a")))
        restart, deletion = bench.pending(2)
        bench.deny(restart, "not before Monday")
        bench.deny(deletion, "keep it")
        ended = bench.outcome(peer, told.id)
        # google-adk gives the reason to the tool; only a tool that asks by itself can pass it on.
        assert "not before Monday" in ended.text
        assert "This tool call is rejected." in ended.text
        assert bench.upstream.effects == []

    def test_a_tool_gets_back_the_payload_it_asked_with(self, bench, peer):
        told = peer.send(doing(("restart_service", {"name": "web"})))
        (asked,) = bench.pending()
        bench.deny(asked, "no")
        ended = bench.outcome(peer, told.id)
        assert '"window": "now"' in ended.text

    @pytest.mark.parametrize("whose", ["helper", "remote"])
    def test_the_calls_of_a_sub_agent_are_held(self, bench, peer, remote, whose):
        """`helper` is in the same process; `remote` is called over A2A by the agent that we stand in front of."""
        remote.forget_effects()
        worker = remote if whose == "remote" else bench.upstream
        script = {"ops": [[["transfer_to_agent", {"agent_name": whose}]]], whose: [[delete("/srv/a"), pay("eve", 50)]]}
        told = peer.send(json.dumps(script))
        deletion, payment = bench.pending(2)
        assert worker.effects == []
        bench.approve(deletion)
        bench.deny(payment)
        assert bench.outcome(peer, told.id).state == "completed"
        assert worker.effects == [{"tool": "delete_file", "path": "/srv/a", "size": 0}]


class TestTroubled(Troubled):
    pass


class TestMeddled(Meddled):
    def no_to_yes(self, body):
        return body.replace(b'"confirmed":false', b'"confirmed":true')


def confirmations(pause, response):
    parts = pause["status"]["message"]["parts"]
    kind = {"adk_type": "function_response"}
    return [({"id": one["data"]["id"], "name": one["data"]["name"], "response": response}, kind) for one in parts]


class TestMirrored(Mirrored):
    versions = ("1.0", "0.3")

    def yes(self, pause):
        return confirmations(pause, {"confirmed": True})

    def no(self, pause, reason):
        return confirmations(pause, {"confirmed": False, "payload": {"rejection_reason": reason}})


def test_a_list_shows_the_callers_own_tasks_as_they_are_shown_one_by_one(bench):
    wire = Wire(f"{bench.server.url}/a2a/demo/ops", bench.key)
    done, held = wire.send("good morning"), wire.send(doing(delete("/srv/a")))
    (asked,) = bench.pending()
    listed = {one["id"]: state(one) for one in wire.call("list", {})["tasks"]}
    assert listed == {done["id"]: "completed", held["id"]: "working"}
    stranger = Wire(wire.url, bench.server.key("agent", f"{bench.caller}-stranger"))
    assert stranger.call("list", {})["tasks"] == []
    bench.deny(asked)


def test_the_card_names_our_address_and_no_other(bench):
    found = httpx.get(f"{bench.server.url}/a2a/demo/ops/.well-known/agent-card.json", timeout=30)
    card = found.json()
    assert card["name"] == "ops"
    assert {one["url"] for one in card["supportedInterfaces"]} == {f"{bench.server.url}/a2a/demo/ops"}
    assert bench.upstream.url not in found.text


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_a_caller_may_have_its_task_posted_to_it(bench, version):
    told_by_post(bench, version)
