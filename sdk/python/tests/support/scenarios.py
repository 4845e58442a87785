"""What every agent behind the proxy is held to, whatever client calls it. Side effects are counted in all of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import placet

from .bench import Bench, Listening
from .peers import Peer, Seen
from .proxy import eventually
from .receiver import Receiver
from .wire import Refused, Wire

LARGEST = 2**53 - 1


def doing(*calls: tuple[str, dict[str, Any]], **others: Any) -> str:
    """What the message says when the model shall make these calls in one turn; `others` are turns of sub-agents."""
    return json.dumps({"ops": [[[name, arguments] for name, arguments in calls]], **others})


def delete(path: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "delete_file", {"path": path, **more}


def pay(to: str, amount: int) -> tuple[str, dict[str, Any]]:
    return "pay", {"to": to, "amount": amount}


def refused_to_stream(events: Iterator[Seen], code: int) -> None:
    with pytest.raises(Refused) as refusal:
        list(events)
    assert refusal.value.code == code


def everybody_approves(bench: Bench, asked: placet.Record) -> None:
    """Two people, each four times, at the same moment."""
    results = []

    def decide(key: str) -> None:
        with placet.Client(bench.server.url, key) as client:
            try:
                client.decide(asked.id, "approve", digest=asked.digest, version=asked.version)
                results.append("ok")
            except placet.Conflict:
                results.append("late")

    threads = [threading.Thread(target=decide, args=(key,)) for key in (bench.server.ann, bench.server.bob) * 4]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(results) == len(threads)
    assert "ok" in results


def fence(bench: Bench, peer: Peer) -> None:
    """Another task is approved and runs to its end: what would have happened because of earlier calls has happened."""
    told = peer.send(doing(delete("/srv/fence")))
    caught = []

    def asked() -> bool:
        caught[:] = [one for one in bench.ann.pending("delete_file") if one.arguments["path"] == "/srv/fence"]
        return bool(caught)

    eventually(asked)
    bench.approve(caught[0])
    assert bench.outcome(peer, told.id).state == "completed"


class Held:
    """Mode `hold`: only Placet decides, and the client sees a task at work. `bench` and `peer` come from the folder."""

    def test_nothing_stands_between_a_client_and_an_agent_that_asks_for_nothing(self, bench: Bench, peer: Peer):
        told = peer.send("good morning")
        assert told.state == "completed"
        assert "good morning" in told.text
        assert bench.records() == []

    def test_an_approved_call_runs_once(self, bench: Bench, peer: Peer):
        told = peer.send(doing(delete("/srv/a", size=3)))
        assert told.state == "working"
        assert "awaiting approval" in told.text.lower()
        (asked,) = bench.pending()
        assert (asked.tool, asked.arguments, asked.kind) == ("delete_file", {"path": "/srv/a", "size": 3}, "action")
        assert bench.upstream.effects == []
        bench.approve(asked)
        ended = bench.outcome(peer, told.id)
        assert ended.state == "completed"
        assert bench.upstream.ran("delete_file") == [{"path": "/srv/a", "size": 3}]
        eventually(lambda: bench.record(asked.id)["state"] == "succeeded")

    def test_the_request_says_where_it_comes_from(self, bench: Bench, peer: Peer):
        told = peer.send(doing(delete("/srv/a"), pay("bob", 50)))
        first, second = bench.pending(2)
        assert first.group == second.group
        lineage = first.context["a2a"]
        assert (lineage["namespace"], lineage["agent"]) == ("demo", "ops")
        assert (lineage["task"], lineage["context"]) == (told.id, told.context)
        assert [one.context["a2a"]["items"] for one in (first, second)] == [2, 2]
        assert bench.record(first.id)["source"] == "a2a/demo/ops"
        for one in (first, second):
            bench.deny(one)
        bench.outcome(peer, told.id)

    def test_a_denied_call_never_runs(self, bench: Bench, peer: Peer):
        told = peer.send(doing(delete("/srv/a")))
        (asked,) = bench.pending()
        bench.deny(asked)
        assert bench.outcome(peer, told.id).state == "completed"
        assert bench.upstream.effects == []
        assert bench.record(asked.id)["state"] == "denied"

    def test_of_two_calls_exactly_the_approved_one_runs_and_not_before_both_are_decided(self, bench, peer):
        told = peer.send(doing(delete("/srv/a"), pay("bob", 50), ("read_file", {"path": "/srv/b"})))
        deletion, payment = bench.pending(2)
        assert [deletion.tool, payment.tool] == ["delete_file", "pay"]
        # What nobody gated ran with the turn; what is gated waits for the whole answer.
        assert bench.upstream.effects == [{"tool": "read_file", "path": "/srv/b"}]
        bench.approve(deletion)
        fence(bench, peer)
        assert [one["path"] for one in bench.upstream.ran("delete_file")] == ["/srv/fence"]
        assert peer.get(told.id).state == "working"
        bench.deny(payment, "too much")
        assert bench.outcome(peer, told.id).state == "completed"
        assert [one["path"] for one in bench.upstream.ran("delete_file")] == ["/srv/fence", "/srv/a"]
        assert bench.upstream.ran("pay") == []

    def test_a_task_that_pauses_twice_asks_twice(self, bench: Bench, peer: Peer):
        told = peer.send(json.dumps({"ops": [[delete("/srv/a")], [delete("/srv/b")]]}))
        (first,) = bench.pending()
        bench.approve(first)
        eventually(lambda: bench.upstream.ran("delete_file") != [])
        (second,) = bench.pending()
        assert second.id != first.id
        assert second.group != first.group
        assert bench.upstream.ran("delete_file") == [{"path": "/srv/a", "size": 0}]
        bench.approve(second)
        assert bench.outcome(peer, told.id).state == "completed"
        assert [one["path"] for one in bench.upstream.ran("delete_file")] == ["/srv/a", "/srv/b"]

    def test_two_tasks_do_not_mix_their_decisions(self, bench: Bench, peer: Peer):
        one, two = peer.send(doing(delete("/srv/one"))), peer.send(doing(delete("/srv/two")))
        asked = {record.arguments["path"]: record for record in bench.pending(2)}
        bench.approve(asked["/srv/two"])
        assert bench.outcome(peer, two.id).state == "completed"
        assert [done["path"] for done in bench.upstream.ran("delete_file")] == ["/srv/two"]
        assert peer.get(one.id).state == "working"
        bench.deny(asked["/srv/one"])
        bench.outcome(peer, one.id)
        assert [done["path"] for done in bench.upstream.ran("delete_file")] == ["/srv/two"]

    def test_nobody_in_time_means_no(self, bench: Bench, peer: Peer):
        quick = bench.peer("quick")
        told = quick.send(doing(delete("/srv/a"), pay("bob", 50)))
        asked = bench.pending(2)
        bench.approve(asked[0])
        assert bench.outcome(quick, told.id).state == "completed"
        # One was approved in time, the other was nobody's yes.
        assert bench.upstream.ran("delete_file") == [{"path": "/srv/a", "size": 0}]
        assert bench.upstream.ran("pay") == []
        assert bench.record(asked[1].id)["state"] == "expired"

    def test_chatter_on_a_paused_task_is_refused_and_the_approval_survives(self, bench: Bench, peer: Peer):
        told = peer.send(doing(delete("/srv/a")))
        (asked,) = bench.pending()
        for words in (
            "approve",
            "wait",
            {"decision_type": "approve"},
            {"type": "approval_response", "decision": "approve"},
        ):
            with pytest.raises(Refused) as refusal:
                peer.send(words, task=told.id, context=told.context)
            assert refusal.value.code == -32004, words
        refused_to_stream(peer.stream("approve", task=told.id, context=told.context), -32004)
        assert bench.upstream.effects == []
        assert bench.pending()[0].id == asked.id
        bench.approve(asked)
        assert bench.outcome(peer, told.id).state == "completed"
        assert len(bench.upstream.ran("delete_file")) == 1

    def test_not_even_a_reviewer_decides_through_the_agent(self, bench: Bench, peer: Peer):
        told = peer.send(doing(delete("/srv/a")))
        (asked,) = bench.pending()
        ann = bench.peer(key=bench.server.ann)
        with pytest.raises(Refused) as refusal:
            ann.send({"decision_type": "approve"}, task=told.id, context=told.context)
        assert refusal.value.code == -32004
        assert bench.upstream.effects == []
        bench.deny(asked)
        bench.outcome(peer, told.id)
        assert bench.upstream.effects == []

    def test_the_task_of_another_caller_is_not_there(self, bench: Bench, peer: Peer):
        told = peer.send(doing(delete("/srv/a")))
        bench.pending()
        stranger = bench.peer(key=bench.server.key("agent", f"{bench.caller}-stranger"))
        for call in (
            lambda: stranger.get(told.id),
            lambda: stranger.cancel(told.id),
            lambda: stranger.send("hello", task=told.id, context=told.context),
        ):
            with pytest.raises(Refused) as refusal:
                call()
            assert refusal.value.code == -32001
        refused_to_stream(stranger.subscribe(told.id), -32001)
        (asked,) = bench.pending()
        bench.deny(asked)
        assert bench.outcome(peer, told.id).state == "completed"
        assert bench.upstream.effects == []

    def test_a_context_that_is_not_the_tasks_is_refused(self, bench: Bench, peer: Peer):
        told = peer.send("good morning")
        with pytest.raises(Refused):
            peer.send("and now?", task=told.id, context="another-context")
        paused = peer.send(doing(delete("/srv/a")))
        (asked,) = bench.pending()
        with pytest.raises(Refused):
            peer.send("approve", task=paused.id, context="another-context")
        bench.approve(asked)
        assert bench.outcome(peer, paused.id).state == "completed"
        assert len(bench.upstream.ran("delete_file")) == 1

    def test_a_message_to_a_task_that_has_ended_is_refused(self, bench: Bench, peer: Peer):
        told = peer.send(doing(delete("/srv/a")))
        bench.approve(bench.pending()[0])
        bench.outcome(peer, told.id)
        with pytest.raises(Refused) as refusal:
            peer.send(doing(delete("/srv/b")), task=told.id, context=told.context)
        assert refusal.value.code in {-32004, -32602}  # 1.0 and 0.3 name it differently
        assert len(bench.upstream.ran("delete_file")) == 1

    def test_a_stream_goes_on_across_the_pause(self, bench: Bench, peer: Peer):
        listening = Listening(peer.stream(doing(delete("/srv/a"))))
        (asked,) = bench.pending()
        eventually(lambda: any("awaiting approval" in one.text.lower() for one in list(listening.seen)))
        fence(bench, peer)
        assert listening.open
        assert set(listening.states) <= {"submitted", "working"}
        bench.approve(asked)
        seen = listening.end()
        assert "input-required" not in listening.states
        assert listening.states[-1] == "completed"
        assert listening.states.count("completed") == 1
        assert sum("task" in one.raw or one.raw.get("kind") == "task" for one in seen) <= 1
        assert any("delete_file" in one.text for one in seen), "what the agent said at the end is in the stream"
        assert [one["path"] for one in bench.upstream.ran("delete_file")] == ["/srv/fence", "/srv/a"]

    def test_a_client_that_went_away_finds_the_outcome(self, bench: Bench, peer: Peer):
        events = peer.stream(doing(delete("/srv/a")))
        task = next(one.id for one in events if one.id)
        (asked,) = bench.pending()
        events.close()
        fence(bench, peer)
        bench.approve(asked)
        ended = bench.outcome(peer, task)
        assert ended.state == "completed"
        assert [one["path"] for one in bench.upstream.ran("delete_file")] == ["/srv/fence", "/srv/a"]

    def test_a_client_that_went_away_before_the_pause_is_asked_for_nonetheless(self, bench: Bench, peer: Peer):
        events = peer.stream(doing(delete("/srv/a")))
        task = next(one.id for one in events if one.id)
        events.close()
        (asked,) = bench.pending()
        bench.approve(asked)
        assert bench.outcome(peer, task).state == "completed"
        assert len(bench.upstream.ran("delete_file")) == 1

    def test_a_client_that_subscribes_again_gets_the_outcome(self, bench: Bench, peer: Peer):
        told = peer.send(doing(delete("/srv/a")))
        (asked,) = bench.pending()
        listening = Listening(peer.subscribe(told.id))
        eventually(lambda: bool(listening.seen))
        assert listening.states == ["working"]
        also = Listening(peer.subscribe(told.id))
        eventually(lambda: bool(also.seen))
        bench.approve(asked)
        for one in (listening, also):
            one.end()
            assert one.states[-1] == "completed"
        assert len(bench.upstream.ran("delete_file")) == 1

    def test_a_cancelled_task_asks_nobody_any_more(self, bench: Bench, peer: Peer):
        told = peer.send(doing(delete("/srv/a")))
        (asked,) = bench.pending()
        assert peer.cancel(told.id).state == "canceled"
        eventually(bench.none_pending)
        with pytest.raises(placet.Conflict):
            bench.approve(asked)
        assert bench.record(asked.id)["state"] == "cancelled"
        assert peer.get(told.id).state == "canceled"
        assert bench.upstream.effects == []

    def test_what_policy_allows_passes_and_nobody_is_asked(self, bench: Bench, peer: Peer):
        told = peer.send(doing(pay("bob", 5)))
        assert bench.outcome(peer, told.id).state == "completed"
        assert bench.upstream.ran("pay") == [{"to": "bob", "amount": 5}]
        (record,) = bench.records()
        assert record["verdict"]["rule"] == "small-change"
        eventually(lambda: bench.record(record["id"])["state"] == "succeeded")

    def test_what_policy_denies_is_denied_and_nobody_is_asked(self, bench: Bench, peer: Peer):
        told = peer.send(doing(pay("mallory", 5)))
        assert bench.outcome(peer, told.id).state == "completed"
        assert bench.upstream.effects == []
        (record,) = bench.records()
        assert (record["state"], record["verdict"]["rule"]) == ("denied", "never-mallory")

    def test_policy_judges_every_item_of_a_pause(self, bench: Bench, peer: Peer):
        told = peer.send(doing(pay("bob", 5), pay("mallory", 5), pay("eve", 500)))
        (asked,) = bench.pending()
        assert asked.arguments["to"] == "eve"
        assert bench.upstream.effects == []
        bench.approve(asked)
        assert bench.outcome(peer, told.id).state == "completed"
        assert [one["to"] for one in bench.upstream.ran("pay")] == ["bob", "eve"]

    def test_the_largest_exact_integer_arrives_unchanged(self, bench: Bench, peer: Peer):
        told = peer.send(doing(pay("bob", LARGEST)))
        (asked,) = bench.pending()
        assert int(asked.arguments["amount"]) == LARGEST
        assert asked.arguments["amount"] == LARGEST
        bench.approve(asked)
        assert bench.outcome(peer, told.id).state == "completed"
        assert bench.upstream.ran("pay") == [{"to": "bob", "amount": LARGEST}]

    def test_a_larger_integer_is_shown_as_text_with_a_warning(self, bench: Bench, peer: Peer):
        told = peer.send(doing(delete("/srv/a", size=LARGEST + 2)))
        (asked,) = bench.pending()
        assert "size" not in asked.arguments, "it is shown as if it were exact"
        assert "/srv/a" in asked.arguments["arguments_json"]
        assert "2^53" in asked.context["warnings"][0]
        assert "2^53" in asked.summary
        bench.deny(asked)
        bench.outcome(peer, told.id)
        assert bench.upstream.effects == []

    def test_a_rule_about_an_argument_that_cannot_be_read_errs_on_the_safe_side(self, bench: Bench, peer: Peer):
        told = peer.send(doing(pay("bob", LARGEST + 2)))
        assert bench.outcome(peer, told.id).state == "completed"
        (record,) = bench.records()
        assert (record["state"], record["verdict"]["effect"]) == ("denied", "deny")
        assert bench.upstream.effects == []

    def test_equal_decisions_at_the_same_moment_run_it_once(self, bench: Bench, peer: Peer):
        told = peer.send(doing(delete("/srv/a")))
        (asked,) = bench.pending()
        everybody_approves(bench, asked)
        assert bench.outcome(peer, told.id).state == "completed"
        assert len(bench.upstream.ran("delete_file")) == 1

    def test_a_caller_whose_key_is_revoked_gets_nothing_done(self, bench: Bench, peer: Peer):
        peer.send(doing(delete("/srv/a")))
        (asked,) = bench.pending()
        with bench.server.http(bench.server.admin) as http:
            keys = http.get("/v1/keys").json()["items"]
            (mine,) = [one["id"] for one in keys if one["name"] == bench.caller]
            assert http.delete(f"/v1/keys/{mine}").is_success
        with pytest.raises(placet.Conflict):
            bench.approve(asked)
        fence(bench, bench.peer(key=bench.server.key("agent", f"{bench.caller}-other")))
        assert [one["path"] for one in bench.upstream.effects] == ["/srv/fence"]
        assert bench.record(asked.id)["state"] == "cancelled"

    def test_an_agent_is_there_for_the_callers_it_is_for(self, bench: Bench, peer: Peer):
        with pytest.raises(Exception):  # noqa: B017 (the SDKs have as many names for this as there are SDKs)
            bench.peer("private").send("good morning")
        with pytest.raises(Exception):  # noqa: B017
            bench.peer("nowhere").send("good morning")
        with pytest.raises(Exception):  # noqa: B017
            bench.peer("ops", "plk_agent_wrong").send("good morning")


def told_by_post(bench: Bench, version: str) -> None:
    """A caller that has its task posted to it hears of the pause what it would see, and then the end."""
    wire = Wire(f"{bench.server.url}/a2a/demo/ops", bench.key, version)
    with Receiver() as receiver:

        def states() -> list[str | None]:
            return [Seen.of(one.body).state for one in list(receiver.posted)]

        config = {"url": receiver.url, "token": "a-secret-of-the-caller"}
        name = "taskPushNotificationConfig" if wire.new else "pushNotificationConfig"
        wire.send(doing(delete("/srv/a")), configuration={name: config})
        (asked,) = bench.pending()
        bench.approve(asked)
        eventually(lambda: "completed" in states(), 30)
        assert "input-required" not in states()
        assert states()[-1] == "completed"
        assert receiver.posted[-1].headers["x-a2a-notification-token"] == "a-secret-of-the-caller"
    assert len(bench.upstream.ran("delete_file")) == 1
