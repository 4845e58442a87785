"""What google-adk 2.13.0 does with answers, without Placet. The proxy is built on these facts."""

from __future__ import annotations

import pytest

from support.scenarios import LARGEST, delete, doing, pay
from support.wire import Wire, state, texts


@pytest.fixture
def wire(upstream):
    upstream.forget_effects()
    return Wire(f"{upstream.url}/")


def answers(pause, *responses):
    parts, kind = pause["status"]["message"]["parts"], {"adk_type": "function_response"}
    return [
        ({"id": one["data"]["id"], "name": one["data"]["name"], "response": response}, kind)
        for one, response in zip(parts, responses, strict=False)
    ]


def answered(wire, pause, *parts):
    return wire.send(*parts, task=pause["id"], context=pause["contextId"])


def test_a_pause_has_one_part_for_each_gated_call_and_ungated_calls_have_run(wire, upstream):
    pause = wire.send(doing(delete("/srv/a"), pay("bob", 5), ("read_file", {"path": "/srv/b"})))
    assert state(pause) == "input-required"
    calls = [one["data"]["args"]["originalFunctionCall"]["name"] for one in pause["status"]["message"]["parts"]]
    assert calls == ["delete_file", "pay"]
    assert upstream.effects == [{"tool": "read_file", "path": "/srv/b"}]


def test_a_complete_mixed_answer_runs_what_was_confirmed(wire, upstream):
    pause = wire.send(doing(delete("/srv/a"), pay("bob", 5)))
    ended = answered(wire, pause, *answers(pause, {"confirmed": True}, {"confirmed": False}))
    assert state(ended) == "completed"
    assert upstream.effects == [{"tool": "delete_file", "path": "/srv/a", "size": 0}]


def test_text_beside_the_confirmations_breaks_the_task(wire, upstream):
    pause = wire.send(doing(delete("/srv/a")))
    ended = answered(wire, pause, *answers(pause, {"confirmed": True}), "by ann")
    assert state(ended) == "failed"
    assert upstream.effects == []


def test_text_in_place_of_an_answer_keeps_the_state_and_loses_the_question(wire):
    pause = wire.send(doing(delete("/srv/a")))
    after = answered(wire, pause, "approve")
    assert "adk_request_confirmation" not in str(after["status"])


def test_an_answer_with_the_task_alone_breaks_it(wire, upstream):
    pause = wire.send(doing(delete("/srv/a")))
    ended = wire.send(*answers(pause, {"confirmed": True}), task=pause["id"])
    assert state(ended) == "failed"
    assert upstream.effects == []


def test_a_large_integer_is_shown_as_another_one_and_runs_as_itself(wire, upstream):
    pause = wire.send(doing(pay("bob", LARGEST + 2)))
    shown = pause["status"]["message"]["parts"][0]["data"]["args"]["originalFunctionCall"]["args"]["amount"]
    assert shown == LARGEST + 1
    answered(wire, pause, *answers(pause, {"confirmed": True}))
    assert upstream.ran("pay") == [{"to": "bob", "amount": LARGEST + 2}]


def test_only_the_tool_learns_why(wire):
    pause = wire.send(doing(delete("/srv/a"), ("restart_service", {"name": "web"})))
    no = {"confirmed": False, "payload": {"rejection_reason": "not before Monday"}}
    said = texts(answered(wire, pause, *answers(pause, no, no)))
    assert said.count("not before Monday") == 1
    assert "This tool call is rejected." in said
