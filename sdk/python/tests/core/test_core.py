"""The core without any I/O: flows answered by hand, and the board of those who wait."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

import placet
from placet import Call, Record
from placet.core import board, hold, steps, wire
from placet.core.effects import NewsWait, NoAnswer, Pause, ReadHint, Reply, Send, WaitNotice
from placet.core.listen import Event, Listener
from placet.core.retry import LONGEST, Outage

SETTINGS = steps.Settings("http://x", 30.0, "deny")
CALL = Call("delete_files", {"files": ["a"]}, "s1")


WORDS = {"approved": "approve", "claimed": "approve", "denied": "deny", "answered": "respond"}


def raw(word=None, **fields):
    """A request whose digests fit what it says."""
    record = {
        "id": "req_1",
        "version": 1,
        "kind": "action",
        "state": "pending",
        "tool": "delete_files",
        "session": "s1",
        "arguments": {"files": ["a"]},
        "claimable": True,
        "decision": None,
        "created_at": "2026-01-01T00:00:00Z",
        "expires_at": "2026-01-01T00:05:00Z",
        **fields,
    }
    record["digest"] = placet.digest.of_request(record)
    word = word or WORDS.get(record["state"])
    if word is not None and record["decision"] is None:
        record["decision"] = {"decision": word, "by": ["ann"], "answer": None}
        record["decision"]["digest"] = placet.digest.of_decision(record)
    return record


def said(found, status=200, kind="application/json", after=None) -> Reply:
    return Reply(status, kind, after, json.dumps(found).encode())


def refused(code, status=409, record=None) -> Reply:
    return said({"code": code, "detail": code, "record": record}, status, "application/problem+json")


APPROVED = raw(state="approved", version=2)
PERMIT = {"permit": "prm_1", "arguments": {"files": ["a"]}, "digest": APPROVED["digest"], "report_by": None}


def drive(flow, *answers):
    """Plays a flow: what it asked for, and how it ended. Pauses and notices are answered by themselves."""
    asked, left = [], list(answers)
    try:
        effect = next(flow)
        while True:
            if isinstance(effect, (Pause, WaitNotice)):
                effect = flow.send(None)
                continue
            asked.append(effect)
            effect = flow.send(left.pop(0))
    except StopIteration as done:
        assert not left, "the flow ended before all answers were given"
        return asked, done.value


def holding(*answers, call=CALL, **terms):
    asked = hold.ticket(call)
    return drive(hold.hold(call, asked, SETTINGS, hold.Terms(**terms)), *answers)


def test_create_wait_claim_in_this_order_and_nothing_else():
    asked, outcome = holding(said(raw(), 201), Record(APPROVED), said(PERMIT))
    assert [type(one) for one in asked] == [Send, NewsWait, Send]
    assert asked[0].query == {"claim": "true"}
    assert asked[0].headers["Idempotency-Key"].startswith("r1:")
    assert asked[2].path == "/v1/requests/req_1/claim"
    assert json.loads(asked[2].body)["claimant"] == asked[0].headers["Placet-Claimant"]
    assert outcome.status == "approved"


def test_a_permit_in_the_first_answer_saves_the_claim():
    asked, outcome = holding(said(raw(state="claimed", permit="prm_1"), 201))
    assert len(asked) == 1
    assert outcome.status == "approved"
    assert outcome.claim.permit == "prm_1"


def test_a_lost_create_is_sent_again_with_the_same_key_and_claimant():
    asked, outcome = holding(
        NoAnswer("reset"), said({}, 503, "text/html"), said(raw(state="claimed"), 200), said(PERMIT)
    )
    first, second, third = (replace(one, within=None) for one in asked[:3])
    assert first == second == third
    assert asked[3].path.endswith("/claim")
    assert outcome.status == "approved"


def test_a_record_that_came_as_a_page_is_not_believed():
    asked, _ = holding(said(raw(state="claimed", permit="prm_1"), kind="text/html"), said(raw(state="denied"), 201))
    assert len(asked) == 2


def test_a_claim_that_somebody_else_has_is_never_a_go():
    _, outcome = holding(said(raw(state="claimed")), refused("already_claimed", record=raw(state="claimed")))
    assert outcome.status == "unknown"


def test_an_idempotent_call_asks_anew_and_names_what_it_repeats():
    call = Call("delete_files", {"files": ["a"]}, "s1", keys=placet.Keys(strong="k", weak="w"), idempotent=True)
    asked, outcome = holding(
        said(raw(state="claimed")),
        refused("already_claimed", record=raw(state="claimed")),
        said(raw(id="req_2", state="claimed", permit="prm_2"), 201),
        call=call,
    )
    assert asked[2].headers["Idempotency-Key"] != "k"
    assert "Placet-Weak-Key" not in asked[2].headers
    assert json.loads(asked[2].body)["context"] == {"repeats": "req_1"}
    assert outcome.record.id == "req_2"


@pytest.mark.parametrize("state", ["approved", "claimed"])
def test_a_decision_that_nobody_knows_is_not_even_claimed(state):
    strange = raw("perhaps", state=state)
    asked, outcome = holding(said(strange, 201))
    assert len(asked) == 1
    assert outcome.status == "denied"
    assert "perhaps" in outcome.reason


@pytest.mark.parametrize("state", ["denied", "answered", "expired", "cancelled", "revoked", "lapsed"])
def test_every_no_keeps_its_own_word(state):
    _, outcome = holding(said(raw(state=state), 201))
    assert outcome.status == state


def test_a_permit_that_comes_with_news_is_not_believed():
    news = Record({**raw(state="claimed", version=2), "permit": "prm_9"})
    asked, outcome = holding(said(raw(), 201), news, refused("already_claimed"))
    assert asked[-1].path.endswith("/claim")
    assert outcome.status == "unknown"


def test_an_edit_that_was_not_offered_is_not_run():
    call = Call("delete_files", {"files": ["a"]}, "s1", allowed=("approve", "deny"))
    edited = raw(state="claimed", decision={"decision": "edit", "arguments": {"files": ["b"]}, "by": ["ann"]})
    edited["decision"]["digest"] = placet.digest.of_decision(edited)
    asked, outcome = holding(said({**edited, "permit": "prm_1"}, 201), said(raw(state="failed")), call=call)
    assert asked[-1].path.endswith("/outcome")
    assert (outcome.status, "cannot be used here" in outcome.reason) == ("failed", True)


OTHERS = [{"tool": "x"}, {"session": "s2"}, {"on_behalf_of": "eve"}, {"arguments": {"files": ["b"]}}]


@pytest.mark.parametrize("fields", OTHERS)
def test_an_approval_of_another_call_is_not_even_claimed(fields):
    asked, outcome = holding(said(raw(), 201), ReadHint(), said(raw(state="approved", version=2, **fields)))
    assert not asked[-1].path.endswith("/claim")
    assert (outcome.status, outcome.reason) == ("failed", "what was approved is not what was asked for here")


def test_a_wait_that_is_answered_about_another_request_is_an_error_whatever_an_outage_means():
    flow = hold.hold(CALL, hold.ticket(CALL), SETTINGS, hold.Terms(on_outage="deny"))
    with pytest.raises(placet.WrongAnswer, match="another request"):
        drive(flow, said(raw(), 201), ReadHint(), said(raw(state="approved", id="req_2")))


def test_a_later_attempt_has_no_more_time_than_is_left():
    asked, _ = holding(NoAnswer("reset"), said(raw(state="denied"), 201))
    assert asked[0].within is None
    assert asked[1].within <= SETTINGS.outage_budget


def test_a_local_timeout_withdraws_and_says_so():
    asked, outcome = holding(said(raw(), 201), said(raw(state="cancelled")), hold_for=0.0)
    assert asked[-1].path.endswith("/cancel")
    assert outcome.status == "cancelled"


def test_a_decision_that_came_while_withdrawing_counts():
    _, outcome = holding(said(raw(), 201), refused("already_decided", record=raw(state="denied")), hold_for=0.0)
    assert outcome.status == "denied"


def test_a_decision_about_another_request_that_came_while_withdrawing_is_an_error():
    other = refused("already_decided", record=raw(id="req_2", state="approved"))
    with pytest.raises(placet.WrongAnswer, match="another request"):
        holding(said(raw(), 201), other, hold_for=0.0)


def waiting(*answers, within=None):
    flow = steps.wait(Record(raw()), SETTINGS, within)
    return drive(flow, *answers)


def test_the_last_look_of_an_outage_ends_it():
    with pytest.raises(placet.Unreachable):
        waiting(ReadHint(last=True), NoAnswer("refused"))


def test_a_look_that_fails_before_is_repeated():
    asked, record = waiting(ReadHint(), NoAnswer("refused"), ReadHint(), said(APPROVED))
    assert [type(one) for one in asked] == [NewsWait, Send, NewsWait, Send]
    assert record.state == "approved"


def test_news_that_are_older_than_what_is_known_change_nothing():
    flow = steps.wait(Record(raw(version=5)), SETTINGS)
    asked, record = drive(
        flow, Record(raw(version=4, state="approved")), ReadHint(), said(raw(version=6, state="denied"))
    )
    assert len(asked) == 3
    assert record.state == "denied"


def test_an_answer_about_another_request_is_no_answer():
    with pytest.raises(placet.WrongAnswer, match="another request"):
        drive(steps.send(wire.get("req_1"), SETTINGS, steps.a_record("req_1"), budget=0.0), said(raw(id="req_2")))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (refused("unauthorized", 401), placet.WrongKey),
        (refused("not_found", 404), placet.ApiError),
        (refused("invalid", 422), placet.Invalid),
        (refused("pending_cap", 429), placet.ApiError),
        (said({}, 307, "text/html"), placet.ProtocolError),
    ],
)
def test_a_clear_no_is_not_repeated(answer, error):
    with pytest.raises(error):
        drive(steps.send(wire.get("req_1"), SETTINGS, steps.a_record("req_1")), answer)


@pytest.mark.parametrize(
    "answer", [refused("busy", 503), refused("rate_limited", 429), refused("x", 408), NoAnswer("x")]
)
def test_what_may_pass_is_repeated(answer):
    _, record = drive(steps.send(wire.get("req_1"), SETTINGS, steps.a_record("req_1")), answer, said(raw()))
    assert record.id == "req_1"


def test_the_server_may_ask_for_a_longer_pause_and_pauses_grow_to_a_bound():
    outage = Outage(1000.0)
    pauses = [outage.pause() for _ in range(12)]
    assert 0.05 <= pauses[0] <= 0.1
    assert all(one <= LONGEST for one in pauses)
    assert pauses[-1] >= LONGEST / 2
    assert outage.pause(7.0) == 7.0
    assert Outage(5.0).pause(7.0) is None
    assert Outage(0.0).pause() is None


class Waiter:
    def __init__(self, on: board.Board, version=1, since=None, budget=30.0):
        self.told = []
        news = NewsWait("req_1", version, time.monotonic() if since is None else since, 100.0, budget)
        self.slot, self.within = on.enter(news, self.told.append)


CONNECTED, DECIDED = Event("connected"), Event("request.decided", "1", Record(APPROVED))


def test_who_waits_is_told_once_and_only_of_its_own():
    on = board.Board()
    on.happened(CONNECTED)
    waiter = Waiter(on)
    on.happened(Event("request.decided", "1", Record(raw(id="req_2", version=9))))
    assert waiter.told == []
    on.happened(DECIDED)
    on.happened(DECIDED)
    assert waiter.told == [Record(APPROVED)]


def test_who_came_before_the_stream_looks_once_it_is_there():
    on = board.Board()
    waiter = Waiter(on)
    assert waiter.within == board.CONNECTING
    on.happened(CONNECTED)
    assert waiter.told == [ReadHint()]


def test_who_read_before_the_stream_and_waits_after_looks_too():
    on = board.Board()
    before = time.monotonic()
    on.happened(CONNECTED)
    assert Waiter(on, since=before).told == [ReadHint()]
    assert Waiter(on).told == []


def test_what_the_stream_told_before_somebody_waits_is_not_missed():
    on = board.Board()
    on.happened(CONNECTED)
    since = time.monotonic()
    on.happened(DECIDED)
    assert Waiter(on, since=since).told == [ReadHint()]
    assert Waiter(on, version=2, since=since).told == []


def test_after_a_reset_everybody_looks():
    on = board.Board()
    on.happened(CONNECTED)
    since = time.monotonic()
    waiter = Waiter(on)
    on.happened(Event("reset"))
    assert waiter.told == [ReadHint()]
    assert Waiter(on, since=since).told == [ReadHint()]


def test_an_outage_ends_for_each_with_its_own_budget():
    on = board.Board()
    on.happened(CONNECTED)
    short, long = Waiter(on, budget=0.0), Waiter(on, budget=30.0)
    on.down()
    assert short.told[0].last
    assert long.told == []
    assert Waiter(on, budget=0.0).told[0].last


def test_without_a_stream_a_few_poll_and_many_take_turns(monkeypatch):
    monkeypatch.setattr(board, "LOOKS", 2)
    on = board.Board()
    waiters = [Waiter(on) for _ in range(2)]
    on.unusable()
    assert all(one.told[0].held_for == board.POLL_FOR for one in waiters)
    late = Waiter(on)
    assert late.told[0].held_for is None
    assert late.told[0].pause > 0


def test_the_stream_is_let_go_a_while_after_the_last_left(monkeypatch):
    on = board.Board()
    waiter = Waiter(on)
    monkeypatch.setattr(board, "LINGER", 0.0)
    assert on.wanted()
    on.leave(waiter.slot)
    assert not on.wanted()
    assert on.waiting == 0
    on.happened(DECIDED)
    assert waiter.told == []


def test_a_stream_goes_on_where_it_broke_off_and_says_what_it_did_not_understand():
    listener = Listener()
    assert "Last-Event-ID" not in listener.headers()
    events = list(listener.feed(b"retry: 1\nid: e.1\n\nid: e.2\nevent: request.decided\ndata: nonsense\n\n"))
    assert [one.type for one in events] == ["connected", "heartbeat", "reset"]
    assert listener.headers()["Last-Event-ID"] == "e.2"
    assert [one.type for one in listener.feed(b"id: e.9\nevent: reset\ndata: {}\n\n")] == ["connected", "reset"]
    assert listener.cursor == "e.9"


def test_keys_are_the_same_in_every_life_and_differ_where_calls_do():
    strong = placet.keys.strong("adk", "app", "s1", "call-1")
    assert strong == placet.keys.strong("adk", "app", "s1", "call-1")
    assert strong.startswith("s2:")
    others = [("adk", "app", "s1", "call-2"), ("adk", None, "s1", "call-1"), ("adk", "app", "s", "1call-1")]
    whose = [{"user": "alice"}, {"user": "mallory"}, {"tenant": "alice"}, {"user": ""}]
    of_others = {placet.keys.strong("adk", "app", "s1", "call-1", **one) for one in whose}
    assert len({placet.keys.strong(*one) for one in others} | of_others | {strong}) == 8
    weak = placet.keys.weak(None, "s1", None, "t", {"b": 1.0, "a": 2})
    assert weak == placet.keys.weak(None, "s1", None, "t", {"a": 2, "b": 1}, 0)
    assert weak != placet.keys.weak(None, "s1", None, "t", {"a": 2, "b": 1}, 1)
    whose += [{"turn": "alice"}, {"turn": "2"}]
    of_others = {placet.keys.weak(None, "s1", None, "t", {"a": 2, "b": 1}, **one) for one in whose}
    assert len(of_others | {weak}) == 7
    assert len(strong) <= 255


def test_sessions_of_one_name_are_apart_by_user_tenant_app_and_turn():
    parts = [{}, {"user": "alice"}, {"user": "mallory"}, {"tenant": "t"}, {"app": "a"}, {"turn": "1"}, {"turn": "2"}]
    assert len({placet.session("s1", **one).keys("t", {}).weak for one in parts}) == len(parts)
    assert placet.session("s1", tenant="t", turn="1").context() == {"tenant": "t", "turn": "1"}


def test_two_messages_of_one_session_that_are_worked_on_at_once_are_two():
    with placet.session("s1") as one, placet.session("s1") as two:
        first, second = one.keys("t", {}), two.keys("t", {})
    assert first.weak != second.weak
    with placet.session("s1") as later, later:
        assert later.keys("t", {}) == first, "after a restart the first is found again"


def test_a_session_counts_equal_calls_and_starts_again_in_the_next_life():
    one, two = placet.session("s1"), placet.session("s1")
    first, second, other = one.keys("t", {"a": 1}), one.keys("t", {"a": 1}), one.keys("t", {"a": 2})
    assert len({first.weak, second.weak, other.weak}) == 3
    assert two.keys("t", {"a": 1}) == first


@pytest.mark.parametrize("id", ["", "x" * 201, None])
def test_a_session_that_the_server_would_refuse_is_refused_here(id):
    with pytest.raises(placet.ConfigError):
        placet.session(id)
