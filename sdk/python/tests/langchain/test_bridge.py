"""`InterruptBridge`: graphs that interrupt by themselves, in three dialects, against the real server."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import operator
import sqlite3
import sys
import threading
import time
from importlib import metadata
from types import SimpleNamespace
from typing import Annotated, Any, TypedDict

import killed
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph import types as langgraph_types
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from models import Scripted, calls, results

import placet
from placet.adapters import langgraph
from placet.adapters.langchain import InterruptBridge
from support import Effects, eventually
from support.processes import Processes

ASK = {"messages": [{"role": "user", "content": "clean up"}]}
THREAD = {"configurable": {"thread_id": "t1"}}
ALL = {"allow_accept": True, "allow_edit": True, "allow_respond": True, "allow_ignore": True}


class State(TypedDict, total=False):
    said: list[Any]


@pytest.fixture
def ran():
    return Effects()


@contextlib.contextmanager
def in_the_background(run):
    """Runs something beside the test; at the end its `result` is there."""
    answer = SimpleNamespace(result=None)

    def work():
        answer.result = run()

    thread = threading.Thread(target=work)
    thread.start()
    yield answer
    thread.join(60)
    assert answer.result is not None, "it did not end well"


def inbox(*items: tuple[str, dict, dict], saver=None, ran=None):
    """A graph as agent-inbox documents it: it knows nothing of Placet."""

    def node(state):
        said = interrupt(
            [
                {
                    "action_request": {"action": action, "args": args},
                    "config": config,
                    "description": f"Please: {action}",
                }
                for action, args, config in items
            ]
        )
        for answer, (action, args, _) in zip(said, items, strict=True):
            if answer["type"] == "accept":
                ran(action, args)
            elif answer["type"] == "edit":
                ran(answer["args"]["action"], answer["args"]["args"])
        return {"said": said}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile(checkpointer=saver or InMemorySaver())


@pytest.mark.parametrize(
    ("decision", "fields", "said", "happened"),
    [
        ("approve", {}, {"type": "accept", "args": None}, [("send mail!", {"to": "ann"})]),
        ("edit", {"arguments": {"to": "bob"}},
         {"type": "edit", "args": {"action": "send mail!", "args": {"to": "bob"}}},
         [("send mail!", {"to": "bob"})]),
        ("deny", {"reason": "no"}, {"type": "ignore", "args": None}, []),
        ("respond", {"answer": "later"}, {"type": "response", "args": "later"}, []),
    ],
)  # fmt: skip
def test_an_agent_inbox_graph_hears_its_own_words(server, reviewer, ran, decision, fields, said, happened):
    graph = inbox(("send mail!", {"to": "ann"}, ALL), ran=ran)
    with reviewer.always(decision, **fields):
        answer = InterruptBridge().run(graph, {}, THREAD)
    assert answer["said"] == [said]
    assert ran.happened == happened
    (seen,) = reviewer.seen
    assert (seen.tool, seen.summary, seen.session) == ("send_mail_", "Please: send mail!", "t1")
    assert seen.context["action"] == "send mail!"
    assert reviewer.client.get(seen.id).state == {"approve": "succeeded", "edit": "succeeded", "deny": "denied"}.get(
        decision, "answered"
    )


async def test_async_graphs_are_served_as_well(server, reviewer, ran):
    graph = inbox(("send", {"to": "ann"}, ALL), ran=ran)
    with reviewer.always():
        answer = await InterruptBridge().arun(graph, {}, THREAD)
    assert answer["said"] == [{"type": "accept", "args": None}]
    assert ran.count == 1


@pytest.mark.topology("workflow")
def test_the_items_of_one_interrupt_are_decided_one_by_one_and_answered_in_their_order(server, reviewer, ran, counted):
    graph = inbox(("a", {"n": 1}, ALL), ("b", {"n": 2}, ALL), ("c", {"n": 3}, ALL), ran=ran)
    with reviewer.always(lambda record: ("deny" if record.tool == "b" else "approve", {})):
        answer = InterruptBridge().run(graph, {}, THREAD)
    assert [one["type"] for one in answer["said"]] == ["accept", "ignore", "accept"]
    assert ran.happened == [("a", {"n": 1}), ("c", {"n": 3})]
    assert len({one.group for one in reviewer.seen}) == 1
    counted((args for _, args in ran.happened), by=dict)


def test_only_the_words_the_graph_knows_are_offered(server, reviewer, ran):
    graph = inbox(("a", {"n": 1}, {**ALL, "allow_edit": False, "allow_respond": False}), ran=ran)
    with reviewer.always():
        InterruptBridge().run(graph, {}, THREAD)
    assert sorted(reviewer.seen[0].allowed) == ["approve", "deny"]


def test_a_graph_without_a_word_for_no_stays_paused(server, reviewer, ran):
    graph = inbox(("a", {"n": 1}, {"allow_accept": True}), ran=ran)
    with reviewer.always("deny", reason="no"), pytest.raises(placet.Refused, match="stays paused"):
        InterruptBridge().run(graph, {}, THREAD)
    assert graph.get_state(THREAD).interrupts
    assert ran.count == 0


def test_what_was_allowed_beside_a_no_that_cannot_be_told_is_not_used(server, reviewer, ran):
    graph = inbox(("a", {"n": 1}, {"allow_accept": True}), ("b", {"n": 2}, {"allow_accept": True}), ran=ran)
    with (
        reviewer.always(lambda record: ("deny" if record.tool == "b" else "approve", {})),
        pytest.raises(placet.Refused),
    ):
        InterruptBridge().run(graph, {}, THREAD)
    assert sorted(one.state for one in reviewer.client.list()) == ["approved", "denied"]
    assert ran.count == 0


def test_an_interrupt_that_only_wants_an_answer_is_a_question(server, reviewer, ran):
    graph = inbox(("ask", {"n": 1}, {"allow_respond": True, "allow_ignore": True}), ran=ran)
    with reviewer.always("respond", answer="forty-two"):
        answer = InterruptBridge().run(graph, {}, THREAD)
    assert answer["said"] == [{"type": "response", "args": "forty-two"}]
    assert reviewer.seen[0].kind == "input"


def test_plain_text_is_a_question_and_its_answer_the_resume_value(server, reviewer):
    builder = StateGraph(State)
    builder.add_node("node", lambda state: {"said": [interrupt("How many?"), interrupt("Of what?")]})
    builder.add_edge(START, "node")
    graph = builder.compile(checkpointer=InMemorySaver())
    with reviewer.always(lambda record: ("respond", {"answer": f"<{record.raw['question']}>"})):
        answer = InterruptBridge().run(graph, {}, THREAD)
    assert answer["said"] == ["<How many?>", "<Of what?>"]


def test_an_interrupt_in_an_unknown_dialect_is_an_error_and_nothing_is_asked(server, reviewer):
    builder = StateGraph(State)
    builder.add_node("node", lambda state: {"said": [interrupt({"please": "approve"})]})
    builder.add_edge(START, "node")
    graph = builder.compile(checkpointer=InMemorySaver())
    with pytest.raises(placet.ConfigError, match="cannot read"):
        InterruptBridge().run(graph, {}, THREAD)
    assert len(reviewer.client.list()) == 0


def test_an_open_question_is_not_lost_to_new_input_and_not_answered_by_the_caller(server, ran):
    graph = inbox(("a", {"n": 1}, ALL), ran=ran)
    graph.invoke({}, THREAD)
    with pytest.raises(placet.ConfigError, match="input=None"):
        InterruptBridge().run(graph, {}, THREAD)
    with pytest.raises(placet.ConfigError, match="resume values come from Placet"):
        InterruptBridge().run(graph, Command(resume=[{"type": "accept"}]), THREAD)
    assert ran.count == 0


def test_a_node_that_fails_is_reported_as_failed(server, reviewer):
    def node(state):
        interrupt([{"action_request": {"action": "a", "args": {}}, "config": ALL, "description": None}])
        raise OSError("disk on fire")

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph = builder.compile(checkpointer=InMemorySaver())
    with reviewer.always(), pytest.raises(OSError, match="fire"):
        InterruptBridge().run(graph, {}, THREAD)
    after = reviewer.client.get(reviewer.seen[0].id)
    assert (after.state, "fire" in after.outcome["note"]) == ("failed", True)


# --- LangChain's own middleware, unchanged ---------------------------------------------------------------------------


def human_in_the_loop(ran, mode, allowed=None, *turns, saver=None):
    @tool
    def delete_files(files: list[str]) -> str:
        """Deletes files."""
        ran(files)
        return f"{len(files)} gone"

    on = {"delete_files": {"allowed_decisions": allowed} if allowed else True}
    turn = calls(*[("delete_files", {"files": [name]}) for name in "abcd"])
    return create_agent(
        Scripted(turns=list(turns) or [turn]),
        tools=[delete_files],
        middleware=[HumanInTheLoopMiddleware(on, interrupt_mode=mode)],
        checkpointer=saver or InMemorySaver(),
    )


def each(record):
    name = record.arguments["files"][0]
    return {
        "a": ("approve", {}),
        "b": ("edit", {"arguments": {"files": ["B"]}}),
        "c": ("deny", {"reason": "needed"}),
        "d": ("respond", {"answer": "not there"}),
    }[name]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_human_in_the_loop_middleware_is_served_without_changes(server, reviewer, ran, mode):
    with reviewer.always(each):
        answer = InterruptBridge().run(human_in_the_loop(ran, mode), ASK, THREAD)
    assert sorted(ran.happened) == [["B"], ["a"]]
    told = {one.tool_call_id: one for one in results(answer)}
    assert told["call_1"].content == "1 gone"
    assert "B" in told["call_2"].content
    assert "needed" in told["call_3"].content
    assert (told["call_4"].content, told["call_4"].status) == ("not there", "success")
    states = sorted(reviewer.client.get(one.id).state for one in reviewer.seen)
    assert states == ["answered", "denied", "succeeded", "succeeded"]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_only_the_decisions_of_the_middleware_are_offered(server, reviewer, ran, mode):
    with reviewer.always():
        InterruptBridge().run(human_in_the_loop(ran, mode, ["approve", "reject"]), ASK, THREAD)
    assert all(sorted(one.allowed) == ["approve", "deny"] for one in reviewer.seen)
    assert ran.count == 4


def test_an_edit_must_fit_the_tool_in_per_call_mode(server, reviewer, ran):
    turn = calls(("delete_files", {"files": ["a"]}))
    graph = human_in_the_loop(ran, "per_call", None, turn)
    running = threading.Thread(target=InterruptBridge().run, args=(graph, ASK, THREAD))
    running.start()
    seen = reviewer.next()
    with pytest.raises(placet.Invalid):
        reviewer.client.decide(seen.id, "edit", digest=seen.digest, version=seen.version, arguments={"files": 7})
    reviewer.decide(seen, "edit", arguments={"files": ["b"]})
    running.join()
    assert ran.happened == [["b"]]


def test_expired_calls_are_rejected(server, reviewer, ran):
    answer = InterruptBridge(expires_in="1s").run(human_in_the_loop(ran, "batched"), ASK, THREAD)
    assert ran.count == 0
    assert all("Nobody decided in time" in one.content for one in results(answer))


def test_a_server_that_is_away_leaves_the_graph_where_it_is(server, reviewer, ran):
    graph = human_in_the_loop(ran, "batched")
    graph.invoke(ASK, THREAD)
    server.kill()
    with pytest.raises(placet.Unreachable):
        InterruptBridge(placet.Client(outage_budget=0.3)).run(graph, None, THREAD)
    assert graph.get_state(THREAD).interrupts
    server.start()
    with reviewer.always():
        InterruptBridge().run(graph, None, THREAD)
    assert ran.count == 4


# --- killed, and started again ---------------------------------------------------------------------------------------


@pytest.fixture
def processes(server, tmp_path):
    return Processes(killed.main, server, tmp_path)


@pytest.mark.topology("killed while held")
@pytest.mark.parametrize("dialect", ["inbox", "batched", "per_call"])
def test_a_process_killed_while_it_waits_is_followed_by_one_that_finishes(reviewer, processes, dialect, counted):
    first = processes(dialect, "start")
    seen = reviewer.next(within=120)
    first.kill()
    first.join()
    with processes.waiting(dialect, "go-on") as second:
        reviewer.decide(seen, "approve")
    assert second.exitcode == 0
    assert processes.effects == ["a"]
    assert [one.id for one in reviewer.client.list()] == [seen.id]
    counted(processes.effects, by="file")


@pytest.mark.topology("killed while resuming")
@pytest.mark.parametrize(
    ("dialect", "saved", "code"),
    [
        # The step that asked runs again, and hears that the outcome is not known.
        ("inbox", "saved", 0),
        ("per_call", "saved", 0),
        # The decision is behind the graph. Going on could run the tool, so that is said, and the thread left alone.
        ("batched", "saved", 3),
        ("batched", "behind", 3),
        ("batched node", "saved", 3),
        ("batched tool", "saved", 3),
        ("per_call tool", "saved", 3),
    ],
)
def test_a_process_killed_while_the_tool_runs_is_never_followed_by_a_second_run(
    reviewer, processes, dialect, saved, code, counted
):
    first = processes(dialect, "start", "slow", saved)
    seen = reviewer.decide(reviewer.next(within=120), "approve")
    processes.wait_for_an_effect()
    first.kill()
    first.join()
    assert reviewer.client.get(seen.id).state == "claimed"
    ended = processes.run(dialect, "go-on")
    assert (processes.effects, ended) == (["a"], code)
    counted(processes.effects, by="file")


def test_two_bridges_on_one_thread_run_the_call_once(reviewer, processes):
    first = processes("inbox", "start")
    seen = reviewer.next(within=120)
    with processes.waiting("inbox", "go-on"):
        reviewer.decide(seen, "approve")
    first.join(120)
    assert processes.effects == ["a"]


def test_a_thread_that_somebody_else_went_on_with_is_not_answered_nor_reported_as_done(server, reviewer, ran):
    graph = inbox(("a", {"n": 1}, ALL), ran=ran)
    with in_the_background(lambda: InterruptBridge().run(graph, {}, THREAD)) as answer:
        seen = reviewer.next()
        graph.invoke(Command(resume=[{"type": "ignore", "args": None}]), THREAD)
        reviewer.decide(seen, "approve")
    assert answer.result["said"] == [{"type": "ignore", "args": None}]
    outcome = reviewer.client.get(seen.id).outcome
    assert (outcome["status"], ran.count) == ("failed", 0)
    assert "another process went on with the thread" in outcome["note"]


def test_whoever_does_not_get_the_permit_lets_the_one_who_has_it_go_on(server, reviewer, ran):
    graph, client, other = inbox(("a", {"n": 1}, ALL), ran=ran), placet.Client(), placet.Client()
    hold = client.hold

    def too_late(call):
        claimed = other.claim(seen.id, "c" * 16)

        def go_on():
            graph.invoke(Command(resume=[{"type": "accept", "args": None}]), THREAD)
            other.report(seen.id, claimed.permit, "succeeded")

        threading.Timer(1.0, go_on).start()
        return hold(call)

    client.hold = too_late
    with in_the_background(lambda: InterruptBridge(client).run(graph, {}, THREAD)) as answer:
        seen = reviewer.next()
        reviewer.decide(seen, "approve")
    assert answer.result["said"] == [{"type": "accept", "args": None}]
    assert (ran.count, reviewer.client.get(seen.id).state) == (1, "succeeded")


def deletes(ran, *files: str, within: bool, once_broken: bool = False):
    """An agent that deletes, one file with each call, if a person says so; alone, or as a node of another graph."""

    @tool
    def delete_file(file: str) -> str:
        """Deletes."""
        ran(file)
        if once_broken and ran.count == 1:
            raise RuntimeError("the line broke")
        return "gone"

    saver = InMemorySaver()
    agent = create_agent(
        Scripted(turns=[calls(*(("delete_file", {"file": file}) for file in files))]),
        tools=[delete_file],
        middleware=[HumanInTheLoopMiddleware({"delete_file": True}, interrupt_mode="batched")],
        checkpointer=None if within else saver,
    )
    return killed.as_a_node(agent, saver) if within else agent


@pytest.mark.parametrize("within", [False, True])
def test_a_step_that_failed_is_not_run_again_without_a_new_yes(server, reviewer, ran, within):
    graph = deletes(ran, "a", within=within, once_broken=True)
    with reviewer.always(), pytest.raises(RuntimeError, match="the line broke"):
        InterruptBridge().run(graph, ASK, THREAD)
    with pytest.raises(placet.UnknownOutcome, match=r"req_\w+ \(failed\) allowed"):
        InterruptBridge().run(graph, None, THREAD)
    assert ran.count == 1
    InterruptBridge(idempotent=True).run(graph, None, THREAD)
    assert ran.count == 2
    assert [one.state for one in reviewer.client.list()] == ["failed"]


@pytest.mark.parametrize("within", [False, True])
def test_a_permit_that_was_given_back_unused_keeps_nothing_from_going_on(server, reviewer, ran, within):
    graph, client = deletes(ran, "a", "b", within=within), placet.Client()
    hold = client.hold

    def breaks_off(call):
        if call.arguments == {"file": "b"}:
            raise placet.Unreachable("stopped")
        return hold(call)

    client.hold = breaks_off
    with reviewer.always():
        with pytest.raises(placet.Unreachable):
            InterruptBridge(client).run(graph, ASK, THREAD)
        InterruptBridge().run(graph, None, THREAD)
    assert ran.happened == ["b"]
    assert {one.arguments["file"]: one.state for one in reviewer.client.list()} == {"a": "failed", "b": "succeeded"}


class Branched(TypedDict, total=False):
    said: Annotated[list[Any], operator.add]


def branches(ran):
    """Two nodes side by side: one asks for `a`, the other for `b` and then for `c`."""

    def asks(action: str) -> Any:
        return interrupt([{"action_request": {"action": action, "args": {}}, "config": ALL}])[0]

    def one(state):
        said = asks("a")
        ran("a")
        return {"said": [said]}

    def two(state):
        said = [asks("b"), asks("c")]
        if said[1]["type"] == "accept":
            ran("c")
        return {"said": said}

    builder = StateGraph(Branched)
    for name, node in (("one", one), ("two", two)):
        builder.add_node(name, node)
        builder.add_edge(START, name)
    return builder.compile(checkpointer=InMemorySaver())


def stopped_at(action: str) -> placet.Client:
    """A client for a bridge that ends when somebody would have to decide on this."""
    client = placet.Client()
    wait = client.wait

    def until(id, *more, **how):
        if client.get(id).tool == action:
            raise placet.Unreachable("stopped")
        return wait(id, *more, **how)

    client.wait = until
    return client


def test_a_branch_that_is_done_does_not_keep_the_other_from_going_on(server, reviewer, ran):
    graph = branches(ran)
    with reviewer.always():
        with pytest.raises(placet.Unreachable):
            InterruptBridge(stopped_at("c"), acts_last=True).run(graph, {}, THREAD)
        InterruptBridge(acts_last=True).run(graph, None, THREAD)
    assert {one.tool: one.state for one in reviewer.client.list()} == dict.fromkeys("abc", "succeeded")
    assert ran.happened == ["a", "c"]


def test_the_second_interrupt_of_a_step_is_its_own_and_hears_a_no(server, reviewer, ran, monkeypatch):
    monkeypatch.setattr(langgraph, "ELSEWHERE", 0.2)
    graph = branches(ran)
    with reviewer.always():
        with pytest.raises(placet.Unreachable):
            InterruptBridge(stopped_at("c"), acts_last=True).run(graph, {}, THREAD)
        (asked,) = [one for one in reviewer.client.list() if one.tool == "c"]
        placet.Client().wait(asked.id)
        placet.Client().claim(asked.id, "c" * 16)
        answer = InterruptBridge(acts_last=True).run(graph, None, THREAD)
    assert [one["type"] for one in answer["said"]] == ["accept", "accept", "response"]
    assert "not known" in answer["said"][2]["args"]
    assert ran.happened == ["a"]


def in_a_row(ran, first, within=""):
    """A node that asks for `first`, does it, and asks for `b`, does it. `within`: it is a node of a graph that is a
    node, or that a node calls.
    """

    def asks(action: str) -> Any:
        if action == "how many?":
            return {"type": "accept", "said": interrupt(action)}
        return interrupt([{"action_request": {"action": action, "args": {}}, "config": ALL}])[0]

    def node(state):
        said = []
        for action in (first, "b"):
            said.append(asks(action))
            if said[-1]["type"] == "accept":
                ran(action)
        return {"said": said}

    def graph(node, **how):
        builder = StateGraph(State)
        builder.add_node("node", node)
        builder.add_edge(START, "node")
        return builder.compile(**how)

    shapes = {"": node, "node": graph(node), "call": lambda state: graph(node).invoke(state)}
    return graph(shapes[within], checkpointer=InMemorySaver())


WITHIN = pytest.mark.parametrize("within", ["", "node", "call"], ids=["graph", "graph-in-a-graph", "called-graph"])


@WITHIN
@pytest.mark.parametrize("ids", ["own", "shared"])
def test_a_node_that_asks_again_after_a_yes_is_not_run_again_from_its_beginning(
    server, reviewer, ran, within, ids, monkeypatch
):
    """LangGraph would run it from its first line, and what was allowed once would happen twice."""
    if ids == "shared":  # as before LangGraph 1.2.20
        named = langgraph_types._interrupt_id
        for module in ("types", "pregel._algo"):
            monkeypatch.setattr(f"langgraph.{module}._interrupt_id", lambda ns, answered: named(ns, 0))
    graph = in_a_row(ran, "a", within)
    with reviewer.always():
        with pytest.raises(placet.OutcomeUnknown, match=r"node `node` of thread t1 asks for `b` after it went on"):
            InterruptBridge().run(graph, {}, THREAD)
        # In another process, later.
        with pytest.raises(placet.OutcomeUnknown, match="acts_last=True"):
            InterruptBridge().run(graph, None, THREAD)
        with pytest.raises(placet.OutcomeUnknown):
            asyncio.run(InterruptBridge().arun(graph, None, THREAD))
    assert ran.happened == ["a"]
    assert [one.tool for one in reviewer.seen] == ["a"], "nobody is asked for what cannot be done"
    with reviewer.always():
        InterruptBridge(idempotent=True).run(graph, None, THREAD)
    assert ran.happened == ["a", "a", "b"]


@WITHIN
def test_a_resumer_does_not_repeat_a_node_that_asks_again_after_a_yes_either(server, reviewer, ran, within):
    graph = in_a_row(ran, "a", within)
    graph.invoke({}, THREAD)

    async def all_of_it():
        made = langgraph.Resumer(graph, bridge=InterruptBridge())
        for _ in range(4):
            with contextlib.suppress(placet.PlacetError):
                await made.once()
            await asyncio.to_thread(time.sleep, 0)

    with reviewer.always():
        asyncio.run(all_of_it())
        eventually(lambda: reviewer.seen and all(one.state != "pending" for one in reviewer.client.list()))
        asyncio.run(all_of_it())
        asyncio.run(all_of_it())
    assert ran.happened == ["a"]
    assert [one.tool for one in reviewer.seen] == ["a"]


@WITHIN
@pytest.mark.parametrize(("first", "word"), [("how many?", "respond"), ("a", "deny"), ("a", "respond")])
def test_a_node_may_ask_again_after_an_answer_or_a_no(server, reviewer, ran, within, first, word):
    def decide(record):
        if record.tool == "b":
            return "approve", {}
        return word, ({"reason": "no"} if word == "deny" else {"answer": "3"})

    with reviewer.always(decide):
        InterruptBridge().run(in_a_row(ran, first, within), {}, THREAD)
    assert ran.happened[-1:] == ["b"]
    assert ran.happened.count("b") == 1
    assert "a" not in ran.happened


@WITHIN
def test_a_node_that_acts_after_its_last_interrupt_is_served(server, reviewer, ran, within):
    with reviewer.always():
        InterruptBridge(acts_last=True).run(in_a_row(ran, "a", within), {}, THREAD)
    assert ran.happened == ["a", "a", "b"], "it says that it does not, and does"


def test_a_langgraph_that_does_not_tell_what_was_answered_is_refused(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda _: "1.2.12")
    monkeypatch.delitem(sys.modules, "placet.adapters.langgraph")
    with pytest.raises(ImportError, match=r"needs langgraph 1\.2\.13 or newer, and 1\.2\.12 is installed"):
        importlib.import_module("placet.adapters.langgraph")


def test_interrupts_of_a_step_that_share_an_id_are_put_one_by_one(server, reviewer, ran, monkeypatch):
    """As they do before LangGraph 1.2.20."""
    named = langgraph_types._interrupt_id
    for module in ("types", "pregel._algo"):
        monkeypatch.setattr(f"langgraph.{module}._interrupt_id", lambda ns, answered: named(ns, 0))
    with reviewer.always(lambda record: ("deny" if record.tool == "c" else "approve", {})):
        answer = InterruptBridge(acts_last=True).run(branches(ran), {}, THREAD)
    assert sorted(one.tool for one in reviewer.client.list()) == ["a", "b", "c"]
    assert [one["type"] for one in answer["said"]] == ["accept", "accept", "ignore"]


def test_a_branch_that_was_answered_by_hand_is_put_to_nobody(server, reviewer, ran):
    graph = branches(ran)
    graph.invoke({}, THREAD)
    (asked,) = graph.get_state(THREAD).tasks[0].interrupts
    graph.invoke(Command(resume={asked.id: [{"type": "accept", "args": None}]}), THREAD)
    with reviewer.always():
        InterruptBridge(acts_last=True).run(graph, None, THREAD)
    assert sorted(one.tool for one in reviewer.client.list()) == ["b", "c"]
    assert ran.happened == ["a", "c"]


class Behind(InMemorySaver):
    """LangGraph writes a checkpoint while the next step runs: what is written is older than what happens. Here so many
    checkpoints after the yes are written, and no more until `ended` is set.
    """

    def __init__(self, written: int):
        super().__init__()
        self.written = written
        self.resumed, self.ended = threading.Event(), threading.Event()

    def put(self, config, *more):
        if self.resumed.is_set():
            self.written -= 1
            if self.written < 0:
                self.ended.wait(60)
        return super().put(config, *more)


def steps(ran, saver, began):
    """Asks, then looks at the answer, then acts; each is a step of its own."""

    def ask(state):
        said = interrupt([{"action_request": {"action": "act", "args": {}}, "config": ALL}])
        saver.resumed.set()
        return {"said": said}

    def act(state):
        ran("act")
        began.set()
        saver.ended.wait(60)

    builder = StateGraph(State)
    nodes = [("ask", ask), ("check", lambda state: {"said": state["said"]}), ("act", act)]
    for before, (name, node) in zip([START, "ask", "check"], nodes, strict=True):
        builder.add_node(name, node)
        builder.add_edge(before, name)
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("written", [0, 1])
def test_a_run_whose_checkpoints_are_behind_is_not_gone_on_with_by_another(server, reviewer, ran, written):
    saver, began = Behind(written), threading.Event()
    graph = steps(ran, saver, began)
    with reviewer.always(), in_the_background(lambda: InterruptBridge().run(graph, {}, THREAD)):
        assert began.wait(60)
        with pytest.raises(placet.UnknownOutcome):
            InterruptBridge().run(graph, None, THREAD)
        saver.ended.set()
    assert ran.count == 1


def test_what_was_answered_by_hand_and_is_done_is_withdrawn(server, reviewer, ran):
    saver, began = Behind(0), threading.Event()
    graph = steps(ran, saver, began)
    graph.invoke({}, THREAD)
    yes = Command(resume=[{"type": "accept", "args": None}])
    with in_the_background(lambda: graph.invoke(yes, THREAD)):
        assert began.wait(60)
        saver.written = 100
        with in_the_background(lambda: InterruptBridge().run(graph, None, THREAD)):
            until = time.monotonic() + 60
            while [one.state for one in reviewer.client.list()] != ["cancelled"]:
                assert time.monotonic() < until, "it was not withdrawn"
                time.sleep(0.05)
            saver.ended.set()


def test_sqlite_checkpoints_keep_the_pause(server, reviewer, ran, tmp_path):
    saver = SqliteSaver(sqlite3.connect(tmp_path / "threads.db", check_same_thread=False))
    human_in_the_loop(ran, "batched", saver=saver).invoke(ASK, THREAD)
    other = SqliteSaver(sqlite3.connect(tmp_path / "threads.db", check_same_thread=False))
    with reviewer.always(each):
        InterruptBridge().run(human_in_the_loop(ran, "batched", saver=other), None, THREAD)
    assert sorted(ran.happened) == [["B"], ["a"]]
