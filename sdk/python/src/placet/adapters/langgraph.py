"""LangGraph: `InterruptBridge` serves graphs that interrupt by themselves, as they are.

It reads three dialects: agent-inbox (`interrupt([HumanInterrupt])`), LangChain's `HumanInTheLoopMiddleware` (batched
and per call), and plain text, which is a question. `PlacetMiddleware(mode="pause")` is served too. Interrupts become
requests, decisions become resume values. The graph's checkpointer keeps the pause and Placet keeps the decision, so a
run that was killed anywhere goes on with `bridge.run(graph, None, config)`. `Resumer` goes on with all threads of a
graph by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, Conflict, Invalid, OutcomeUnknown
from . import _calls, _names, _needs, _resuming
from ._interrupts import Question, questions

_needs.check("langgraph", "langgraph")
try:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.errors import GraphBubbleUp, GraphInterrupt
    from langgraph.types import Command
except ImportError as error:
    raise _needs.unmet("langgraph", "langgraph", error) from error

from . import _langgraph_steps as steps  # noqa: E402  (after what says what is missing)

if TYPE_CHECKING:
    from ..client import AsyncClient, Client
    from ..models import Record
    from ..waiting import OnWaiting
    from ..words import Risk
    from ._langgraph_resume import Resumer

__all__ = ["InterruptBridge", "Resumer"]

MARK = "placet"
"""Where the checkpoints of a resumed run say which requests it was resumed with."""
ELSEWHERE = 5.0
"""How many seconds another process that holds a permit has to go on with the thread before it is taken for dead."""
NOT_RUN = "not run: "
"""How the note begins that says of a permit that nothing was done with it."""


class _Action:
    """One action to run: a method of the graph, of the client, of the clock, or of a held call."""

    def __init__(self, target: Any, method: str, *args: Any, **more: Any):
        self.target, self.method, self.args, self.more = target, method, args, more


_Steps = Generator[_Action, Any, Any]


class InterruptBridge:
    """Runs a graph to its end and puts every interrupt on the way to Placet.

    `risk`, `expires_in` and `on_behalf_of` are those of every request. `idempotent=True` says that the graph may repeat
    what it was doing when it was killed. `acts_last=True` says that a node which interrupts several times acts only
    after its last interrupt: LangGraph runs such a node from its first line after each answer.
    """

    def __init__(
        self,
        client: Client | AsyncClient | None = None,
        *,
        app: str | None = None,
        idempotent: bool = False,
        acts_last: bool = False,
        risk: Risk | None = None,
        expires_in: str | float | None = None,
        on_behalf_of: str | None = None,
        on_waiting: OnWaiting = "inherit",
    ):
        self.clients = _calls.Clients(client)
        self.app = app
        self.idempotent, self.acts_last = idempotent, acts_last
        self.on_waiting = on_waiting
        _names.checked_risk("InterruptBridge", risk)
        given = {"risk": risk, "expires_in": expires_in, "on_behalf_of": on_behalf_of}
        self.options = {name: value for name, value in given.items() if value is not None}

    def run(self, graph: Any, input: Any, config: dict[str, Any], **how: Any) -> Any:
        """As `graph.invoke`, but returns when no interrupt is open any more. `input=None` goes on with a thread."""
        client = self.clients.sync

        def perform(do: _Action) -> Any:
            if do.target == "saver":
                return _kept(graph, do)
            named = {"graph": graph, "client": client, "clock": time}
            target = named[do.target] if isinstance(do.target, str) else do.target
            return getattr(target, do.method)(*do.args, **do.more)

        return _drive(self._conversation(input, config, how), perform)

    async def arun(self, graph: Any, input: Any, config: dict[str, Any], **how: Any) -> Any:
        """As `run`, for `graph.ainvoke`."""
        client = self.clients.aio

        async def perform(do: _Action) -> Any:
            if do.target == "saver":
                return await _akept(graph, do)
            if do.target == "graph":
                return await getattr(graph, "a" + do.method)(*do.args, **do.more)
            named = {"client": client, "clock": asyncio}
            target = named[do.target] if isinstance(do.target, str) else do.target
            return await getattr(target, do.method)(*do.args, **do.more)

        return await _adrive(self._conversation(input, config, how), perform)

    def _conversation(self, input: Any, config: dict[str, Any], how: dict[str, Any]) -> _Steps:
        """The whole run, once for blocking and async graphs: yields what is to be done, and is sent what came of it."""
        snapshot = yield _Action("graph", "get_state", config)
        self._startable(snapshot, input, config)
        if input is None and snapshot.tasks:
            yield from self._look_back(snapshot, config)
        asked = self._questions(snapshot, config)
        while True:
            now, held = config, []
            if asked:
                yield from self._one_yes_for_each_step(snapshot, asked, config)
                answers, held = yield from self._decided(asked, config)
                snapshot = yield _Action("graph", "get_state", config)
                if not _waits(snapshot, asked):
                    yield from _reported(held, "failed", NOT_RUN + "another process went on with the thread")
                    asked = self._questions(snapshot, config)
                    if not asked:
                        return snapshot.values
                    continue
                input, now = Command(resume=_resume(asked, answers)), _marking(config, held)
            try:
                result = yield _Action("graph", "invoke", input, now, **how)
            except GraphBubbleUp:
                raise
            except Exception as error:
                yield from _reported(held, "failed", error)
                raise
            yield from _reported(held, "succeeded", None, "the graph went on")
            snapshot = yield _Action("graph", "get_state", config)
            asked = self._questions(snapshot, config)
            if not asked:
                return result

    def _questions(self, snapshot: Any, config: dict[str, Any]) -> list[Question]:
        return [
            question
            for task in snapshot.tasks
            for interrupt in task.interrupts
            for question in self._asks(task, interrupt, config)
        ]

    def _asks(self, task: Any, interrupt: Any, config: dict[str, Any]) -> list[Question]:
        found = questions(interrupt, task.name, str(_thread(config)), self.app, self.options)
        for question in found:
            question.node, question.nested = task.name, steps.number(task, interrupt.id) is None
        return found

    def _startable(self, snapshot: Any, input: Any, config: dict[str, Any]) -> None:
        """Refuses what would lose an open question."""
        thread = _thread(config)
        if thread is None:
            raise ConfigError("the bridge needs a checkpointer and config['configurable']['thread_id']")
        if input is not None and not isinstance(input, Command) and snapshot.interrupts:
            raise ConfigError(
                f"thread {thread} waits for a decision; go on with input=None before you give it new input"
            )
        if isinstance(input, Command) and input.resume is not None:
            raise ConfigError("resume values come from Placet; go on with input=None")

    def _look_back(self, snapshot: Any, config: dict[str, Any]) -> _Steps:
        """Refuses to go on with a thread that was stopped after a yes, where that would repeat what it allowed.

        While a step waits for answers, none after it has begun, and what is done in it is not done again.
        """
        if snapshot.interrupts:
            return
        before = []
        for id in _marked(snapshot):
            before.append((yield _Action("client", "get", id)))
        for question in self._passed((yield _Action("graph", "get_state", snapshot.config)), config):
            record = yield from _put(question)
            before.append(record)
            if record.state in ("pending", "approved"):
                with contextlib.suppress(Conflict):
                    yield _Action("client", "cancel", record.id, reason="the graph was answered elsewhere")
        self._refuse_to_repeat(before, config)

    def _passed(self, snapshot: Any, config: dict[str, Any]) -> list[Question]:
        """The actions decided in a step that is done, while the checkpoint after it is not written: LangGraph writes it
        while the next step runs. Only a snapshot asked for by its own name tells of interrupts that were answered.
        """
        found = []
        for task in snapshot.tasks:
            for interrupt in task.interrupts:
                with contextlib.suppress(ConfigError):  # not ours: the bridge asks nobody what it cannot read
                    found += self._asks(task, interrupt, config)
        return [question for question in found if question.call is not None]

    def _refuse_to_repeat(self, records: Sequence[Record], config: dict[str, Any]) -> None:
        """An error if what one of these allowed may have happened already."""
        open = [f"{record.id} ({record.state})" for record in records if _may_have_happened(record)]
        if open and not self.idempotent:
            raise OutcomeUnknown(
                f"thread {_thread(config)} was stopped while it ran what {', '.join(open)} allowed; that may have "
                "happened, and going on could repeat it. Look, then correct the thread with update_state, or make the "
                "bridge with idempotent=True"
            )

    def _one_yes_for_each_step(self, snapshot: Any, asked: Sequence[Question], config: dict[str, Any]) -> _Steps:
        """Refuses to answer a step that was told yes before: it would do again what that allowed."""
        if self.idempotent or self.acts_last:
            return
        tasks = {interrupt.id: task for task in snapshot.tasks for interrupt in task.interrupts}
        for one in {one.interrupt: one for one in asked if one.known is None}.values():
            if (yield from _told_yes(tasks[one.interrupt], one.interrupt, config)):
                raise OutcomeUnknown(
                    f"node `{one.node}` of thread {_thread(config)} asks for {one.what} after it went on with a yes. "
                    "LangGraph would run it from its first line again, and what was allowed could happen twice. Put "
                    "each action into a node of its own; if the node acts only after its last interrupt, say so with "
                    "acts_last=True"
                )

    def _decided(self, asked: Sequence[Question], config: dict[str, Any]) -> _Steps:
        """Puts the questions to people and waits for all of them; then the answers, and the permits some of them need.

        Permits are claimed last, right before the graph goes on: a process killed while it waits has claimed nothing.
        """
        records = []
        for one in asked:
            records.append((yield from _put(one)))
        for index, record in enumerate(records):
            records[index] = yield _Action("client", "wait", record.id, on_waiting=self.on_waiting)
        answers, held = _answers(asked, records), []
        try:
            for one in _to_claim(asked, records):
                held.append((yield _Action("client", "hold", one.call)))
                answers[one.place] = one.answer(held[-1])
            taken = {record.id for record in records if _may_have_happened(record)}
            taken |= {given.request_id for given in held if given.status == "unknown"}
            seen = yield from _elsewhere(taken)
            # A graph within a graph has checkpoints of its own. Past the interrupt it does not hear a no any more.
            within = {record.id for one, record in zip(asked, records, strict=True) if one.nested and one.call}
            self._refuse_to_repeat([record for record in seen if record.id in within], config)
        except BaseException as error:
            yield from _reported(held, "failed", f"{NOT_RUN}{error}")
            raise
        return answers, held


def _may_have_happened(record: Record) -> bool:
    """Whether its permit was used, and nobody said that all went well, or that nothing was done."""
    note = str((record.outcome or {}).get("note") or "")
    return record.state in ("claimed", "unknown") or (record.state == "failed" and not note.startswith(NOT_RUN))


def _told_yes(task: Any, interrupt: str, config: dict[str, Any]) -> _Steps:
    """Whether the step that raised this interrupt was told yes before, as far as the checkpointer knows."""
    number = steps.number(task, interrupt)
    if number is None:
        within = {"configurable": {"thread_id": _thread(config)}}
        checkpoints = yield _Action("saver", "list", within)
        return any(steps.says_yes(answer) for answer in steps.answers_within(checkpoints or (), interrupt))
    if number == 0 and steps.own_ids():
        return False
    kept = yield _Action("saver", "get_tuple", config)
    if kept is None:  # a graph that is elsewhere: what it was told is not known
        return number > 0
    told = steps.answers(kept.pending_writes, task.id)
    return any(steps.says_yes(answer) for answer in (told[:number] if steps.own_ids() else told))


def _thread(config: dict[str, Any]) -> Any:
    return (config.get("configurable") or {}).get("thread_id")


def _waits(snapshot: Any, asked: Sequence[Question]) -> bool:
    """Whether the thread still waits for the answers to these."""
    return {one.interrupt for one in asked} <= {interrupt.id for interrupt in snapshot.interrupts}


def _marked(snapshot: Any) -> list[str]:
    """The requests that the run was resumed with which wrote this checkpoint."""
    mark = (snapshot.metadata or {}).get(MARK)
    return [id for id in str(mark).split(",") if id] if mark else []


def _marking(config: dict[str, Any], held: Sequence[Any]) -> dict[str, Any]:
    ids = [given.request_id for given in held if given.go]
    return {**config, "metadata": {**(config.get("metadata") or {}), MARK: ",".join(ids)}}


def _elsewhere(taken: set[Any]) -> _Steps:
    """Another process has these permits: it is about to go on with the thread, or died. A no must not be faster."""
    until = time.monotonic() + ELSEWHERE
    seen = []
    for id in taken:
        while (record := (yield _Action("client", "get", id))).state == "claimed" and time.monotonic() < until:
            yield _Action("clock", "sleep", 0.1)
        seen.append(record)
    return seen


def _put(question: Question) -> _Steps:
    if question.known is not None:
        return (yield _Action("client", "get", question.known))
    if question.call is None:
        return (yield _Action("client", "create", question.body, key=question.key))
    key = question.call.keys.strong if question.call.keys else None
    try:
        return (yield _Action("client", "create", question.call.body(), key=key))
    except Invalid as error:
        question.call = _calls.relaxed(question.call, error)
        return (yield _Action("client", "create", question.call.body(), key=key))


def _reported(held: Sequence[Any], method: str, *what: Any) -> _Steps:
    for one in held:
        if one.go:
            yield _Action(one, method, *what)


def _answers(asked: Sequence[Question], records: Sequence[Record]) -> dict[tuple[str, int], Any]:
    """What can be said without a permit. Comes first: a graph that cannot hear a no is left alone, nothing claimed."""
    return {
        one.place: one.settled(record)
        for one, record in zip(asked, records, strict=True)
        if one.call is None or record.state != "approved"
    }


def _to_claim(asked: Sequence[Question], records: Sequence[Record]) -> list[Question]:
    return [
        one for one, record in zip(asked, records, strict=True) if one.call is not None and record.state == "approved"
    ]


def _resume(asked: Sequence[Question], answers: dict[tuple[str, int], Any]) -> dict[str, Any]:
    """One resume value for each interrupt, in the dialect it was asked in."""
    found: dict[str, Any] = {}
    for interrupt in dict.fromkeys(one.interrupt for one in asked):
        mine = [one for one in asked if one.interrupt == interrupt]
        found[interrupt] = mine[0].dialect.whole([answers[one.place] for one in mine])
    return found


def unless_left(held: Any) -> Any:
    """The same, unless a resumer goes on with the run and the call is not its own: then the task ends without a result.

    An interrupt without a question is that in LangGraph: nothing is stored, and the calls beside it come to their end.
    """
    if _resuming.stops_with(held):
        raise GraphInterrupt(())
    return held


def unless_away(error: Exception) -> None:
    if _resuming.stops_for(error):
        raise GraphInterrupt(()) from error


def _kept(graph: Any, do: _Action) -> Any:
    """What a checkpointer says; None if the graph has none here."""
    saver = graph.checkpointer if isinstance(getattr(graph, "checkpointer", None), BaseCheckpointSaver) else None
    found = getattr(saver, do.method)(*do.args) if saver is not None else None
    return list(found) if found is not None and do.method == "list" else found


async def _akept(graph: Any, do: _Action) -> Any:
    saver = graph.checkpointer if isinstance(getattr(graph, "checkpointer", None), BaseCheckpointSaver) else None
    if saver is None:
        return None
    if do.method == "list":
        return [one async for one in saver.alist(*do.args)]
    return await getattr(saver, "a" + do.method)(*do.args)


def _drive(steps: _Steps, perform: Callable[[_Action], Any]) -> Any:
    value, error = None, None
    try:
        while True:
            do = steps.throw(error) if error is not None else steps.send(value)
            value, error = None, None
            try:
                value = perform(do)
            except BaseException as caught:
                error = caught
    except StopIteration as done:
        return done.value


async def _adrive(steps: _Steps, perform: Callable[[_Action], Awaitable[Any]]) -> Any:
    value, error = None, None
    try:
        while True:
            do = steps.throw(error) if error is not None else steps.send(value)
            value, error = None, None
            try:
                value = await perform(do)
            except BaseException as caught:
                error = caught
    except StopIteration as done:
        return done.value


def __getattr__(name: str) -> Any:
    if name != "Resumer":
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from ._langgraph_resume import Resumer

    return Resumer
