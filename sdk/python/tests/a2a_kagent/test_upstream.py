"""What kagent 0.10.4 does with answers, without Placet. The proxy is built on these facts."""

from __future__ import annotations

import json

import pytest

from support.scenarios import LARGEST, delete, doing, pay
from support.wire import Refused, Wire, state, texts

ASK = ("ask_user", {"questions": [{"question": "Which database?", "choices": ["pg", "lite"]}]})


@pytest.fixture
def wire(upstream, remote):
    upstream.forget_effects()
    remote.forget_effects()
    return Wire(f"{upstream.url}/", version="0.3")


def requests(pause):
    return [one["data"]["args"] for one in pause["status"]["message"]["parts"]]


def answered(wire, pause, data):
    return wire.send(data, task=pause["id"], context=pause["contextId"])


def batch(ids, *words, reason="no"):
    decisions = dict(zip(ids, words, strict=False))
    reasons = {id: reason for id, word in decisions.items() if word == "reject"}
    return {"decision_type": "batch", "decisions": decisions, "rejection_reasons": reasons}


def outer(pause):
    return [one["originalFunctionCall"]["id"] for one in requests(pause)]


def inner(pause):
    parts = [part for one in requests(pause) for part in one["toolConfirmation"]["payload"]["hitl_parts"]]
    return [part["originalFunctionCall"]["id"] for part in parts]


def test_a_complete_mixed_answer_runs_what_was_approved_and_the_model_hears_why_not(wire, upstream):
    pause = wire.send(doing(delete("/srv/a"), pay("bob", LARGEST)))
    ended = answered(wire, pause, batch(outer(pause), "approve", "reject", reason="too much"))
    assert state(ended) == "completed"
    assert "Reason: too much" in texts(ended)
    assert upstream.effects == [{"tool": "delete_file", "path": "/srv/a", "size": 0}]


def test_a_call_that_was_left_out_of_the_answer_runs(wire, upstream):
    pause = wire.send(doing(delete("/srv/a"), pay("bob", 5)))
    answered(wire, pause, batch(outer(pause), "reject"))
    assert upstream.effects == [{"tool": "pay", "to": "bob", "amount": 5}]


def test_answers_to_a_question_confirm_every_call_beside_it(wire, upstream):
    pause = wire.send(doing(ASK, delete("/srv/a")))
    answered(wire, pause, {"decision_type": "reject", "ask_user_answers": [{"answer": ["pg"]}]})
    assert len(upstream.ran("delete_file")) == 1


def test_a_sub_agent_that_is_rejected_by_its_own_id_runs_everything(wire, remote):
    script = json.dumps({"remote": [[delete("/srv/a")]]})
    pause = wire.send(doing(("remote", {"request": script})))
    answered(wire, pause, batch(outer(pause), "reject"))
    assert len(remote.ran("delete_file")) == 1


def test_the_calls_of_a_sub_agent_are_decided_by_their_own_ids(wire, remote):
    script = json.dumps({"remote": [[delete("/srv/a"), pay("eve", 5)]]})
    pause = wire.send(doing(("remote", {"request": script})))
    ended = answered(wire, pause, batch(inner(pause), "approve", "reject", reason="not eve"))
    assert "not eve" in texts(ended)
    assert remote.effects == [{"tool": "delete_file", "path": "/srv/a", "size": 0}]


def test_chatter_ends_the_task_and_the_approval_is_gone(wire, upstream):
    pause = wire.send(doing(delete("/srv/a")))
    assert state(answered(wire, pause, "approve")) == "completed"
    with pytest.raises(Refused):
        answered(wire, pause, {"decision_type": "approve"})
    assert upstream.effects == []


def test_a_paused_task_is_found_but_cannot_be_subscribed_to(wire):
    pause = wire.send(doing(delete("/srv/a")))
    assert state(wire.get(pause["id"])) == "input-required"
    with pytest.raises(Refused) as refusal:
        list(wire.subscribe(pause["id"]))
    assert refusal.value.code == -32001
