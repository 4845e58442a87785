"""What becomes of approvals when machines die, lines break, and answers come by other ways. Effects are counted."""

from __future__ import annotations

import time
from typing import Any

import pytest

import placet

from .bench import Bench, Listening, Middleman
from .peers import Bare, Peer
from .proxy import LOSE, REFUSE, eventually
from .scenarios import delete, doing, everybody_approves, pay
from .wire import Refused


class Troubled:
    """Machines that die at the wrong moment. Slow, so by one client only."""

    def test_a_server_that_was_killed_while_it_was_paused_goes_on(self, bench: Bench, peer: Peer):
        told = peer.send(doing(delete("/srv/a"), pay("bob", 50)))
        first, _ = bench.pending(2)
        bench.approve(first)
        bench.server.restart()
        assert peer.get(told.id).state == "working"
        (second,) = bench.pending()
        listening = Listening(peer.subscribe(told.id))
        eventually(lambda: bool(listening.seen))
        bench.approve(second)
        listening.end()
        assert listening.states[-1] == "completed"
        assert bench.outcome(peer, told.id).state == "completed"
        assert len(bench.upstream.ran("delete_file")) == 1
        assert len(bench.upstream.ran("pay")) == 1

    def test_a_server_that_is_killed_as_it_decides_runs_it_once(self, bench: Bench, peer: Peer):
        asked = {}
        for number in range(8):
            told = peer.send(doing(delete(f"/srv/{number}")))
            (record,) = bench.pending()
            bench.approve(record)
            time.sleep(0.015 * number)
            bench.server.restart()
            asked[told.id] = record.id
        for task, id in asked.items():
            # An answer whose fate is unknown is looked after when it can no longer be on its way.
            assert bench.outcome(peer, task, within=90).state == "completed"
            eventually(lambda id=id: bench.record(id)["state"] == "succeeded", 90)
        assert sorted(one["path"] for one in bench.upstream.ran("delete_file")) == [f"/srv/{n}" for n in range(8)]

    def test_a_server_that_is_killed_while_the_tool_runs_does_not_run_it_again(self, bench: Bench, peer: Peer):
        told = peer.send(doing(("migrate", {"table": "orders"})))
        (asked,) = bench.pending()
        bench.approve(asked)
        eventually(lambda: bench.upstream.ran("migrate") != [])
        bench.server.restart()
        assert bench.outcome(peer, told.id, within=90).state == "completed"
        eventually(lambda: bench.record(asked.id)["state"] == "succeeded", 90)
        assert bench.upstream.ran("migrate") == [{"table": "orders"}]

    def test_an_agent_that_was_restarted_has_lost_the_task_and_that_is_what_is_shown(self, own: Bench, own_peer: Peer):
        told = own_peer.send(doing(delete("/srv/a")))
        (asked,) = own.pending()
        own.upstream.restart()
        try:
            own.approve(asked)
        except placet.Conflict:
            pass  # it was seen before the decision came
        ended = own.outcome(own_peer, told.id)
        assert ended.state == "failed"
        assert own.upstream.effects == []
        assert own.record(asked.id)["state"] in {"failed", "cancelled", "lapsed", "revoked"}

    def test_an_agent_that_is_away_when_the_answer_comes_is_no_success(self, own: Bench, own_peer: Peer):
        told = own_peer.send(doing(delete("/srv/a")))
        (asked,) = own.pending()
        own.upstream.kill()
        before = own.failed_answers()
        own.approve(asked)
        eventually(lambda: own.failed_answers() > before)
        assert own_peer.get(told.id).state == "working"
        own.upstream.start()
        ended = own.outcome(own_peer, told.id, within=60)
        assert ended.state == "failed"
        assert own.upstream.effects == []
        assert own.record(asked.id)["state"] != "succeeded"


class Meddled:
    """The line to the agent breaks at the wrong moment, or somebody sits on it."""

    def no_to_yes(self, body: bytes) -> bytes:
        """What a saboteur makes of an answer that rejects."""
        raise NotImplementedError

    @pytest.mark.parametrize(
        "fate",
        [LOSE, REFUSE, (200, "text/html", "<p>hello"), (502, "text/plain", "bad gateway")],
        ids=["lost", "refused", "html", "bad-gateway"],
    )
    def test_an_answer_whose_fate_is_unknown_is_not_given_twice(self, meddled: Bench, middleman: Middleman, fate):
        peer = meddled.peer()
        told = peer.send(doing(delete("/srv/a"), pay("bob", 50)))
        deletion, payment = meddled.pending(2)
        middleman.fate = [fate]
        meddled.approve(deletion)
        meddled.deny(payment)
        assert meddled.outcome(peer, told.id).state == "completed"
        assert meddled.upstream.effects == [{"tool": "delete_file", "path": "/srv/a", "size": 0}]
        # If it arrived the first time, it is not sent again.
        assert middleman.answers == (1 if fate == LOSE else 2)
        eventually(lambda: meddled.record(deletion.id)["state"] == "succeeded")

    def test_equal_decisions_at_the_same_moment_are_one_answer(self, meddled: Bench, middleman: Middleman):
        """Agents take a second answer without a word, so it is counted on the line."""
        peer = meddled.peer()
        told = peer.send(doing(delete("/srv/a")))
        everybody_approves(meddled, meddled.pending()[0])
        assert meddled.outcome(peer, told.id).state == "completed"
        assert middleman.answers == 1

    def test_this_bench_would_notice_a_no_that_arrives_as_a_yes(self, meddled: Bench, middleman: Middleman):
        """The sabotage that everything here is about: it is seen in the effects, so the other tests can fail."""
        peer = meddled.peer()
        middleman.change = self.no_to_yes
        told = peer.send(doing(delete("/srv/a")))
        meddled.deny(meddled.pending()[0])
        meddled.outcome(peer, told.id)
        assert len(meddled.upstream.ran("delete_file")) == 1


class Mirrored:
    """Mode `mirror`: the client sees the pause as it is, and a reviewer may answer through it. By the bare wire."""

    versions: tuple[str, ...]

    def yes(self, pause: dict[str, Any]) -> list[Any]:
        """The parts of an answer that approves everything, in the agent's own words."""
        raise NotImplementedError

    def no(self, pause: dict[str, Any], reason: str) -> list[Any]:
        raise NotImplementedError

    def paused(self, bench: Bench, version: str) -> tuple[Bare, Bare, Any, placet.Record]:
        """A client, a reviewer at the same address, the task and what is asked."""
        address = f"{bench.server.url}/a2a/demo/shared"
        client, reviewer = Bare(address, bench.key, version), Bare(address, bench.server.bob, version)
        told = client.send(doing(delete("/srv/a")))
        assert told.state == "input-required"
        (asked,) = bench.pending()
        return client, reviewer, told, asked

    def test_a_reviewers_answer_through_the_agents_own_protocol_decides(self, bench: Bench):
        for version in self.versions:
            bench.upstream.forget_effects()
            client, reviewer, told, asked = self.paused(bench, version)
            reviewer.send(*self.yes(told.raw), task=told.id, context=told.context)
            assert bench.outcome(client, told.id).state == "completed"
            assert len(bench.upstream.ran("delete_file")) == 1
            assert bench.record(asked.id)["decision"]["by"] == ["bob"]

    def test_a_reviewers_no_comes_with_its_reason(self, bench: Bench):
        client, reviewer, told, asked = self.paused(bench, self.versions[0])
        reviewer.send(*self.no(told.raw, "keep it"), task=told.id, context=told.context)
        assert bench.outcome(client, told.id).state == "completed"
        assert bench.upstream.effects == []
        decision = bench.record(asked.id)["decision"]
        assert (decision["decision"], decision["reason"]) == ("deny", "keep it")

    def test_an_agents_answer_decides_nothing(self, bench: Bench):
        client, _, told, asked = self.paused(bench, self.versions[0])
        with pytest.raises(Refused) as refusal:
            client.send(*self.yes(told.raw), task=told.id, context=told.context)
        assert refusal.value.code == -32004
        assert bench.upstream.effects == []
        assert client.get(told.id).state == "input-required"
        assert bench.pending()[0].id == asked.id
        bench.deny(asked)
        bench.outcome(client, told.id)
        assert bench.upstream.effects == []

    def test_a_decision_that_went_around_placet_is_noticed_and_nobody_is_asked_any_more(self, bench: Bench):
        """In mode `hold` too: it cannot be prevented here, only by the network."""
        version = self.versions[0]
        client = Bare(f"{bench.server.url}/a2a/demo/ops", bench.key, version)
        told = client.send(doing(delete("/srv/a")))
        (asked,) = bench.pending()
        around = Bare(f"{bench.upstream.url}/", "", version)
        around.send(*self.yes(around.get(told.id).raw), task=told.id, context=told.context)
        assert len(bench.upstream.ran("delete_file")) == 1
        eventually(bench.none_pending, 60)
        assert bench.record(asked.id)["state"] == "cancelled"
        with pytest.raises(placet.Conflict):
            bench.approve(asked)
        assert client.get(told.id).state == "completed"
        assert len(bench.upstream.ran("delete_file")) == 1

    def test_what_placet_decided_first_stands(self, bench: Bench):
        client, reviewer, told, asked = self.paused(bench, self.versions[0])
        bench.deny(asked, "no")
        bench.outcome(client, told.id)
        with pytest.raises(Refused):
            reviewer.send(*self.yes(told.raw), task=told.id, context=told.context)
        assert bench.upstream.effects == []
