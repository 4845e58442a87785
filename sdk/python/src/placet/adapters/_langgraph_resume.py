"""LangGraph: goes on with the threads of a graph when what they wait for is decided.

The checkpointer says which threads wait. `PlacetMiddleware(mode="pause")` names its request in the interrupt, and reads
the decision itself when it is woken. With a bridge, the other interrupts are put to people as the bridge puts them.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import resume
from ..client import AsyncClient
from ..errors import ConfigError, Refused
from ..resume_source import Run, Source
from . import _calls, _needs, _resuming
from . import _langgraph_steps as steps
from . import langgraph as bridges
from .langgraph import MARK, NOT_RUN, InterruptBridge, _Action, _Steps

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple  # isort: skip (after the adapter)
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME  # isort: skip
from langgraph.errors import GraphBubbleUp  # isort: skip
from langgraph.types import Command  # isort: skip

if TYPE_CHECKING:
    from ..models import Record
    from ._interrupts import Question

Config = Mapping[str, Any] | Callable[[str, Mapping[str, Any]], Mapping[str, Any]]

CONTROL = frozenset({ERROR, INTERRUPT, RESUME, "__error_source_node__"})
"""What a checkpoint keeps about a task that is not a result of it."""
ANYBODY = "00000000-0000-0000-0000-000000000000"
"""LangGraph's name for answers that were given to no task by name."""
NAMES = uuid.UUID("7d0f5a3e-5f0b-5d6f-9a55-8c2f3e6f1b7a")
"""For the ids of tasks under which resumers leave their names."""
OWN_IDS = (1, 2, 20)
"""The first LangGraph in which interrupts that one task raises in a row have ids of their own."""


class Resumer(resume.Resumer):
    """Goes on with the threads of a graph: `Resumer(graph)`, or `python -m placet.resume my_agent:graph`.

    `bridge`: serves the interrupts that are not Placet's own, too. `threads(thread_id)` says which threads are this
    graph's; give it if several graphs share one checkpointer. `config`: the config that runs go on with, or a function
    of a thread's id and of its checkpoint's metadata. `context` is passed to the graph. A thread that a resumer went on
    with, and that has not moved for `abandoned_after` seconds between two steps, is taken over from its dead process.
    """

    def __init__(
        self,
        graph: Any,
        client: AsyncClient | None = None,
        *,
        bridge: InterruptBridge | None = None,
        threads: Callable[[str], bool] | None = None,
        config: Config | None = None,
        context: Any = None,
        abandoned_after: float = 300.0,
        **how: Any,
    ):
        if not isinstance(getattr(graph, "checkpointer", None), BaseCheckpointSaver):
            raise ConfigError("a Resumer needs a compiled graph with a checkpointer: that is where runs wait")
        made = client or AsyncClient()
        super().__init__(Threads(graph, made, bridge, threads, config or {}, context, abandoned_after), made, **how)
        self._owns_client = client is None


@dataclass
class _Thread:
    """The newest checkpoint of a thread, as far as a scan reads it."""

    checkpoint: str = ""
    requests: list[str] = field(default_factory=list)
    others: bool = False
    """It waits for something that is not Placet's own."""
    begun: bool = False
    """Nothing waits, but a resumer was at it: it ended, or its process died."""


class Threads(Source):
    """The threads in the checkpointer of one graph."""

    name = "langgraph"

    def __init__(
        self,
        graph: Any,
        client: AsyncClient,
        bridge: InterruptBridge | None,
        threads: Callable[[str], bool] | None,
        config: Config,
        context: Any,
        abandoned_after: float,
    ):
        self.graph, self.saver, self.client = graph, graph.checkpointer, client
        self._given, self.bridge = bridge, bridge or InterruptBridge(client)
        self._mine = threads or (lambda thread: True)
        self._configured = config
        # Each checkpoint is stored before the next step begins: a killed process is found where it was.
        self._how = {"durability": "sync", **({} if context is None else {"context": context})}
        self._patience = abandoned_after
        self._doubts = _resuming.UnsettledCalls(abandoned_after)
        self._unmoved: dict[str, tuple[Any, float]] = {}
        self._ended: dict[str, str] = {}
        self._name = uuid.uuid4().hex
        self._names_seen: dict[tuple[str, str], float] = {}
        self._is_async: bool | None = None

    # --- What waits --------------------------------------------------------------------------------------------------

    async def waiting(self) -> AsyncIterator[Run]:
        found: dict[str, _Thread] = {}
        if await self._asynchronous():
            async for one in self.saver.alist(None):
                self._noticed(found, one)
        else:
            await asyncio.to_thread(lambda: [self._noticed(found, one) for one in self.saver.list(None)])
        for thread, one in found.items():
            if one.others and self._given is not None:
                yield Run(thread)  # which requests they are is known when they are put
            elif one.requests:
                yield Run(thread, tuple(one.requests))
            elif one.begun and self._ended.get(thread) != one.checkpoint:
                yield Run(thread)

    def _noticed(self, found: dict[str, _Thread], one: CheckpointTuple) -> None:
        where = one.config["configurable"]
        thread, checkpoint = str(where["thread_id"]), str(where["checkpoint_id"])
        if where.get("checkpoint_ns") or not self._mine(thread):
            return  # graphs within the graph: what they wait for stands in the outer checkpoint as well
        if thread in found and found[thread].checkpoint >= checkpoint:
            return
        noticed = found[thread] = _Thread(checkpoint, begun=MARK in (one.metadata or {}))
        writes = one.pending_writes or []
        done = {task for task, channel, _ in writes if channel not in CONTROL}
        for task, channel, value in writes:
            if channel != INTERRUPT:
                continue
            for interrupt in value if isinstance(value, Sequence) else [value]:
                request = _request(interrupt)
                if task in done:
                    noticed.begun = True
                elif request is not None:
                    noticed.requests.append(request)
                else:
                    noticed.others = True

    async def find(self, record: Record) -> Run | None:
        context = record.context if isinstance(record.context, dict) else {}
        framework, thread = context.get("framework"), context.get("thread")
        if framework == "langgraph" and self._given is not None:
            thread = record.session
        elif framework != "langchain":
            return None
        return Run(thread) if isinstance(thread, str) and self._mine(thread) else None

    # --- Going on ----------------------------------------------------------------------------------------------------

    async def go_on(self, run: Run) -> bool:
        await self._asynchronous()
        with _resuming.attempt(self._doubts) as attempt:
            return bool(await bridges._adrive(self._until_it_waits(str(run.key), attempt), self._perform))

    def _until_it_waits(self, thread: str, attempt: _resuming.ResumeAttempt) -> _Steps:
        went, before = False, None
        while True:
            snapshot = yield _Action("graph", "get_state", {"configurable": {"thread_id": thread}})
            if not snapshot.tasks:
                if snapshot.config["configurable"].get("checkpoint_id"):
                    self._ended[thread] = snapshot.config["configurable"]["checkpoint_id"]
                return went
            state = _position(snapshot)
            if state == before:
                raise Refused(f"thread {thread} stops again at what was decided; it is left where it is")
            config = self._config(thread, snapshot.metadata or {})
            if not (yield from self._turn(thread, snapshot, config, attempt)):
                return went
            went, before = True, state

    def _turn(self, thread: str, snapshot: Any, config: dict[str, Any], attempt: _resuming.ResumeAttempt) -> _Steps:
        """Answers what is decided, and runs the graph until it ends or waits. False: there is nothing to do now."""
        asked = self.bridge._questions(self._ours(snapshot), config)
        yield from self.bridge._one_yes_for_each_step(snapshot, asked, config)
        records = []
        for one in asked:
            records.append((yield from bridges._put(one)))
        ready = self._whole(asked, records)
        held: list[Any] = []
        given: Command[Any] | None = None
        if not ready and not (yield from self._abandoned(thread, snapshot)):
            return False
        if not any(record.state == "approved" for _, record in ready) and not (yield from self._first(snapshot, ready)):
            return False
        attempt.settled = {record.id for _, record in ready if record.state in _resuming.RAN}
        attempt.abandoned = not ready
        if ready:
            answers, held, ready = yield from self._claimed(ready, config)
            stored = yield from self._stored(snapshot, config)
            left = [one for one, _ in ready if one.interrupt not in stored]
            given = Command(resume=bridges._resume(left, answers)) if left else None
        elif self._given is not None:
            yield from self.bridge._look_back(snapshot, config)
        around = _resuming.session_of(ready[0][1], thread) if ready else contextlib.nullcontext()
        try:
            yield _Action("run", "invoke", given, bridges._marking(config, held), around, **self._how)
        except GraphBubbleUp:
            raise
        except Exception as error:
            yield from bridges._reported(held, "failed", error)
            raise
        yield from bridges._reported(held, "succeeded", None, "the graph went on")
        attempt.raise_for_trouble()
        return True

    def _ours(self, snapshot: Any) -> Any:
        """The snapshot with those interrupts only that a resumer answers."""
        if self._given is not None:
            return snapshot
        tasks = [
            one._replace(interrupts=tuple(i for i in one.interrupts if _request(i) is not None))
            for one in snapshot.tasks
        ]
        return snapshot._replace(tasks=tuple(tasks))

    def _whole(self, asked: Sequence[Question], records: Sequence[Record]) -> list[tuple[Question, Record]]:
        """The questions of interrupts that are decided altogether, and of which nothing runs in another process."""
        both = list(zip(asked, records, strict=True))
        open = {one.interrupt for one, record in both if not self._doubts.settled(record)}
        return [(one, record) for one, record in both if one.interrupt not in open]

    def _claimed(self, ready: list[tuple[Question, Record]], config: dict[str, Any]) -> _Steps:
        """Takes the permits of calls that know nothing of Placet, right before the graph goes on.

        All processes take them in one order: the one that gets the first permit of an interrupt gets the others too.
        """
        answers: dict[tuple[str, int], Any] = {}
        held: list[Any] = []
        kept: list[tuple[Question, Record]] = []
        refused: Exception | None = None
        for interrupt in sorted({one.interrupt for one, _ in ready}):
            asked = [one for one, _ in ready if one.interrupt == interrupt]
            records = [record for one, record in ready if one.interrupt == interrupt]
            within = [record for one, record in zip(asked, records, strict=True) if one.nested and one.call]
            try:
                self.bridge._refuse_to_repeat(within, config)
                found = bridges._answers(asked, records)
                more, permits = yield from _permits(bridges._to_claim(asked, records))
            except Refused as error:
                refused = error
                continue
            held += permits
            answers |= {**found, **more}
            kept += list(zip(asked, records, strict=True))
        if not kept and refused is not None:
            raise refused
        return answers, held, kept

    def _first(self, snapshot: Any, ready: list[tuple[Question, Record]]) -> _Steps:
        """Whether this resumer is the one that goes on, where no permit says so: the first to leave its name.

        It stands among the writes of the checkpoint, under the id of a task that there is not. Checkpointers keep the
        first of two equal writes. If its owner does not get on with it, the next name is another one.
        """
        turn = sorted((one.interrupt, record.id, record.state) for one, record in ready)
        for generation in itertools.count():
            task = str(uuid.uuid5(NAMES, repr((turn, generation))))
            owner = yield from self._owner(snapshot, task)
            if owner is None:
                yield _Action("saver", "put_writes", snapshot.config, [(MARK, self._name)], task)
                owner = yield from self._owner(snapshot, task)
            if owner == self._name:
                return True
            seen = self._names_seen.setdefault((str(snapshot.config), task), time.monotonic())
            if time.monotonic() - seen < self._patience:
                return False
        return False

    def _owner(self, snapshot: Any, task: str) -> _Steps:
        kept = yield _Action("saver", "get_tuple", snapshot.config)
        writes = (kept.pending_writes or []) if kept else []
        return next((value for id, channel, value in writes if (id, channel) == (task, MARK)), None)

    def _stored(self, snapshot: Any, config: dict[str, Any]) -> _Steps:
        """The interrupts whose answer a killed or failed run stored. A second answer would go to the next one."""
        kept = yield _Action("saver", "get_tuple", config)
        writes = (kept.pending_writes or []) if kept else []
        found = set()
        for task in snapshot.tasks:
            answers = next(
                (len(v) if isinstance(v, list) else 1 for t, c, v in writes if (t, c) == (task.id, RESUME)), 0
            )
            failed = any((t, c) == (task.id, ERROR) for t, c, _ in writes)
            to_anybody = (
                not answers and len(snapshot.interrupts) == 1 and any((t, c) == (ANYBODY, RESUME) for t, c, _ in writes)
            )
            for interrupt in task.interrupts:
                if to_anybody or (answers and _answered(task, interrupt, answers, failed)):
                    found.add(interrupt.id)
        return found

    def _abandoned(self, thread: str, snapshot: Any) -> _Steps:
        """Whether the thread stands between two steps, where no process can be seen to be at it any more."""
        if snapshot.interrupts:
            return False
        if MARK not in (snapshot.metadata or {}):
            record = yield _Action("graph", "get_state", snapshot.config)  # by its own name it shows what was answered
            if snapshot.next or not any(_request(i) for task in record.tasks for i in task.interrupts):
                return False
        position = _position(snapshot)
        if self._unmoved.get(thread, (None,))[0] != position:
            self._unmoved[thread] = (position, time.monotonic())
        return time.monotonic() - self._unmoved[thread][1] >= self._patience

    # --- The graph and its checkpointer, blocking or not -------------------------------------------------------------

    async def _asynchronous(self) -> bool:
        """Whether the checkpointer has async methods; SqliteSaver has some that only raise."""
        if self._is_async is None:
            try:
                await self.saver.aget_tuple({"configurable": {"thread_id": "placet", "checkpoint_ns": ""}})
                self._is_async = True
            except NotImplementedError:
                self._is_async = False
        return self._is_async

    async def _perform(self, do: _Action) -> Any:
        if do.target == "client":
            if do.method == "hold":
                return await _calls.ahold(self.client, *do.args)
            return await getattr(self.client, do.method)(*do.args, **do.more)
        if do.target == "run":
            *args, around = do.args
            with around:
                return await self._called(self.graph, do.method, *args, **do.more)
        if do.target == "saver" and do.method == "list":
            return await self._listed(*do.args)
        if isinstance(do.target, str):
            return await self._called(self.graph if do.target == "graph" else self.saver, do.method, *do.args)
        return await getattr(do.target, do.method)(*do.args, **do.more)

    async def _listed(self, config: Any) -> list[Any]:
        if self._is_async:
            return [one async for one in self.saver.alist(config)]
        return await asyncio.to_thread(lambda: list(self.saver.list(config)))

    async def _called(self, target: Any, method: str, *args: Any, **more: Any) -> Any:
        if self._is_async:
            return await getattr(target, "a" + method)(*args, **more)
        return await asyncio.to_thread(getattr(target, method), *args, **more)

    def _config(self, thread: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        given = self._configured(thread, metadata) if callable(self._configured) else self._configured
        return {**given, "configurable": {**(given.get("configurable") or {}), "thread_id": thread}}


def _request(interrupt: Any) -> str | None:
    """The request that an interrupt of `PlacetMiddleware` waits for."""
    value = getattr(interrupt, "value", None)
    request = value.get("request") if isinstance(value, Mapping) and value.get("type") == "placet" else None
    return request if isinstance(request, str) else None


def _permits(questions: Sequence[Question]) -> _Steps:
    """The answers to questions that need a permit, and the permits. All of them, or none is used."""
    answers: dict[tuple[str, int], Any] = {}
    held: list[Any] = []
    try:
        for one in questions:
            given = yield _Action("client", "hold", one.call)
            if _resuming.stops_with(given):
                given.raise_for_refusal()
            held.append(given)
            answers[one.place] = one.answer(given)
    except BaseException as error:
        yield from bridges._reported(held, "failed", f"{NOT_RUN}{error}")
        raise
    return answers, held


def _answered(task: Any, interrupt: Any, answers: int, failed: bool) -> bool:
    """Whether the interrupt that a task shows is among those that it has answers to."""
    if _needs.version("langgraph") < OWN_IDS:
        return failed
    number = steps.number(task, interrupt.id)
    return number is not None and number < answers


def _position(snapshot: Any) -> Any:
    """Where a thread stands. The same position twice means that nothing has happened."""
    return (
        snapshot.config["configurable"].get("checkpoint_id"),
        tuple(sorted(snapshot.next)),
        frozenset((one.id, _request(one)) for one in snapshot.interrupts),
        tuple(task.id for task in snapshot.tasks if task.result is not None),
    )
