"""Placet in front of an agent of kagent 0.10.4."""

from __future__ import annotations

import json

import pytest

from support.peers import Bare
from support.scenarios import Held, delete, doing, pay, told_by_post
from support.troubles import Meddled, Mirrored, Troubled
from support.wire import Refused

QUESTIONS = {
    "questions": [
        {"question": "Which database?", "choices": ["pg", "lite"], "multiple": False},
        {"question": "Why?"},
    ]
}


def asking_remote(*calls):
    return "remote", {"request": json.dumps({"remote": [list(calls)]})}


@pytest.mark.parametrize("bench", ["sdk", "wire-0.3"], indirect=True)
class TestHeld(Held):
    def test_the_reason_reaches_the_model(self, bench, peer):
        told = peer.send(doing(delete("/srv/a"), pay("bob", 50)))
        deletion, payment = bench.pending(2)
        bench.deny(deletion, "keep it")
        bench.deny(payment, "too much")
        ended = bench.outcome(peer, told.id)
        assert "keep it" in ended.text
        assert "too much" in ended.text
        assert bench.upstream.effects == []

    def test_the_calls_of_a_sub_agent_are_held_one_by_one(self, bench, peer, remote):
        remote.forget_effects()
        told = peer.send(doing(asking_remote(delete("/srv/a"), pay("eve", 50))))
        deletion, payment = bench.pending(2)
        assert [deletion.tool, payment.tool] == ["delete_file", "pay"]
        bench.approve(deletion)
        bench.deny(payment, "not eve")
        ended = bench.outcome(peer, told.id)
        assert "Reason: not eve" in ended.text
        assert remote.effects == [{"tool": "delete_file", "path": "/srv/a", "size": 0}]

    def test_a_rejected_sub_agent_does_nothing(self, bench, peer, remote):
        remote.forget_effects()
        told = peer.send(doing(asking_remote(delete("/srv/a"), pay("eve", 50)), delete("/srv/outer")))
        for one in bench.pending(3):
            bench.deny(one)
        bench.outcome(peer, told.id)
        assert remote.effects == []
        assert bench.upstream.effects == []

    def test_calls_of_a_sub_agent_and_of_its_parent_are_decided_each_by_itself(self, bench, peer, remote):
        remote.forget_effects()
        told = peer.send(doing(asking_remote(delete("/srv/inner")), delete("/srv/outer")))
        asked = {one.arguments["path"]: one for one in bench.pending(2)}
        bench.deny(asked["/srv/inner"])
        bench.approve(asked["/srv/outer"])
        bench.outcome(peer, told.id)
        assert remote.effects == []
        assert [one["path"] for one in bench.upstream.ran("delete_file")] == ["/srv/outer"]

    def test_a_question_is_answered_by_a_person(self, bench, peer):
        told = peer.send(doing(("ask_user", QUESTIONS)))
        first, second = bench.pending(2)
        assert (first.kind, second.kind) == ("input", "input")
        assert [one.raw["question"] for one in (first, second)] == ["Which database?", "Why?"]
        bench.ann.decide(first, "respond", answer="pg")
        bench.ann.decide(second, "respond", answer="it scales")
        ended = bench.outcome(peer, told.id)
        assert "it scales" in ended.text
        assert "pg" in ended.text

    def test_an_answer_beside_a_rejected_call_approves_nothing(self, bench, peer):
        """kagent takes answers for a yes to every call that waits beside them."""
        told = peer.send(doing(("ask_user", {"questions": [{"question": "Why?"}]}), delete("/srv/a")))
        asked = {one.kind: one for one in bench.pending(2)}
        bench.ann.decide(asked["input"], "respond", answer="because")
        bench.deny(asked["action"], "keep it")
        bench.outcome(peer, told.id)
        assert bench.upstream.effects == []

    def test_an_answer_beside_an_approved_call_arrives_and_the_call_runs(self, bench, peer):
        told = peer.send(doing(("ask_user", {"questions": [{"question": "Why?"}]}), delete("/srv/a")))
        asked = {one.kind: one for one in bench.pending(2)}
        bench.ann.decide(asked["input"], "respond", answer="because")
        bench.approve(asked["action"])
        assert "because" in bench.outcome(peer, told.id).text
        assert len(bench.upstream.ran("delete_file")) == 1

    def test_a_cancelled_task_asks_nobody_any_more(self, bench, peer):
        """kagent 0.10.4 cannot cancel; what its caller took back is rejected, and the agent goes on without it."""
        told = peer.send(doing(delete("/srv/a")))
        (asked,) = bench.pending()
        with pytest.raises(Refused, match="Cancellation is not supported"):
            peer.cancel(told.id)
        assert bench.record(asked.id)["state"] == "cancelled"
        ended = bench.outcome(peer, told.id)
        assert ended.state == "completed"
        assert "rejected" in ended.text
        assert bench.upstream.effects == []

    def test_integers_stay_integers(self, bench, peer):
        told = peer.send(doing(delete("/srv/a", size=3)))
        (asked,) = bench.pending()
        assert isinstance(asked.arguments["size"], int)
        bench.deny(asked)
        bench.outcome(peer, told.id)


class TestTroubled(Troubled):
    pass


class TestMeddled(Meddled):
    def no_to_yes(self, body):
        return body.replace(b'"decision_type":"reject"', b'"decision_type":"approve"')


class TestMirrored(Mirrored):
    versions = ("0.3",)

    def yes(self, pause):
        return [{"decision_type": "approve"}]

    def no(self, pause, reason):
        return [{"decision_type": "reject", "rejection_reason": reason}]


def test_the_agent_is_told_who_calls_whatever_the_caller_says_and_the_answer_comes_as_the_same_one(bench):
    address = f"{bench.server.url}/a2a/demo/known"
    peer = Bare(address, bench.key, "0.3", {"x-user-id": "somebody-else"})
    told = peer.send(doing(delete("/srv/a")))
    assert told.raw["metadata"]["kagent_user_id"] == bench.caller
    (asked,) = bench.pending()
    bench.approve(asked)
    ended = bench.outcome(peer, told.id)
    # kagent keeps sessions by user: an answer that came as another one would have found no question.
    assert ended.state == "completed"
    assert len(bench.upstream.ran("delete_file")) == 1


def test_a_caller_may_have_its_task_posted_to_it_though_kagent_would_not(bench):
    told_by_post(bench, "0.3")


def test_a_client_of_another_version_is_told_which_one_the_agent_speaks(bench):
    with pytest.raises(Refused, match=r"0\.3") as refusal:
        Bare(f"{bench.server.url}/a2a/demo/ops", bench.key, "1.0").send("good morning")
    assert refusal.value.code == -32009
