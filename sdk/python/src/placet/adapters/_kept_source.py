"""Runs that stopped for a person and are kept in a `RunStore`: what waits, and going on with one, for any framework."""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from .. import resume
from ..client import AsyncClient
from ..errors import ConfigError, Unreachable
from ..kept import RunStore
from ..resume_source import Run, Source
from ..sessions import current_session, session
from . import _resuming

if TYPE_CHECKING:
    from ..models import Record

log = logging.getLogger("placet.resume")

Running = Mapping[str, Any] | Callable[[str], Mapping[str, Any]] | None
"""How runs go on: the framework's own options, or a function of a run's key that gives them."""


class KeptRuns(Source):
    """The runs of one agent in a store. A framework says how a run is written, read, and gone on with."""

    name = ""

    def __init__(
        self, agent: Any, store: RunStore, client: AsyncClient, running: Running, on_result: Callable[..., Any] | None
    ):
        if not isinstance(store, RunStore):
            raise ConfigError(f"store={type(store).__name__}: it needs `put`, `get`, `list`, `delete` and `take`")
        self.agent, self.store, self.client = agent, store, client
        self._running, self._on_result = running, on_result
        self._key_of: dict[str, str] = {}
        self.doubts = _resuming.UnsettledCalls(0.0)  # with the lock of the store nobody else is about to store a result

    # --- What a framework says ---------------------------------------------------------------------------------------

    async def start(self, key: str, prompt: Any, how: dict[str, Any]) -> Any:
        """Runs the agent until it ends or stops."""
        raise NotImplementedError

    def stopped(self, key: str, result: Any) -> dict[str, Any] | None:
        """What to keep of a run that stopped; None when it ended."""
        raise NotImplementedError

    async def ask(self, key: str, result: Any) -> list[Record]:
        """Puts what a stopped run waits for to people."""
        raise NotImplementedError

    async def answered(self, key: str, kept: dict[str, Any], attempt: _resuming.ResumeAttempt) -> Any:
        """Goes on with what is decided, until the run ends or stops. None: nothing is decided."""
        raise NotImplementedError

    # --- What all of them do -----------------------------------------------------------------------------------------

    def running(self, key: str) -> dict[str, Any]:
        return dict((self._running(key) if callable(self._running) else self._running) or {})

    async def begin(self, key: str, prompt: Any, how: dict[str, Any]) -> Any:
        """Runs the agent, and keeps the run if it stops."""
        around = contextlib.nullcontext() if current_session() else session(key)
        with around, self.store.take(key) as mine:
            if not mine or self.store.get(key) is not None:
                raise ConfigError(f"run `{key}` waits for a decision; give the next message when it has ended")
            result = await self.start(key, prompt, {**self.running(key), **how})
            try:
                await self._keep(key, result)
            except Unreachable as error:
                log.warning("run %s is kept, and a resumer will ask for it: %s", key, error)
            return result

    async def waiting(self) -> AsyncIterator[Run]:
        for key in self.store.list():
            kept = self._kept(key)
            if kept is not None:
                yield Run(key, tuple(map(str, kept.get("requests") or ())))

    async def find(self, record: Record) -> Run | None:
        context = record.context if isinstance(record.context, dict) else {}
        if context.get("framework") != self.name:
            return None
        key = self._key_of.get(record.id) or record.session
        return Run(key) if isinstance(key, str) and self._kept(key) is not None else None

    async def go_on(self, run: Run) -> bool:
        key = str(run.key)
        with self.store.take(key) as mine:
            kept = self._kept(key) if mine else None
            if kept is None:
                return False
            with _session(kept.get("session"), key), _resuming.attempt(self.doubts) as attempt:
                try:
                    result = await self.answered(key, kept, attempt)
                except Exception:
                    attempt.raise_for_trouble()
                    raise
                if result is None:
                    return False
                await self._keep(key, result)
                attempt.raise_for_trouble()
        return True

    async def _keep(self, key: str, result: Any) -> None:
        kept = self.stopped(key, result)
        if kept is not None:
            whole = {"framework": self.name, "agent": self._agent(), "session": _described(), **kept}
            # First of all it is kept: if asking fails, each scan finds a run without requests, and asks again.
            self.store.put(key, {**whole, "requests": []})
            asked = [record.id for record in await self.ask(key, result)]
            self.store.put(key, {**whole, "requests": asked})
            self._key_of.update(dict.fromkeys(asked, key))
            return
        if self._on_result is not None:
            try:
                told = self._on_result(key, result)
                if inspect.isawaitable(told):
                    await told
            except Exception:
                # The run is over. If it were kept, its calls would be told to the model as unknown.
                log.exception("run %s ended, but on_result failed", key)
        self.store.delete(key)

    def _kept(self, key: str) -> dict[str, Any] | None:
        """A run of this agent; None for those of others, and for what cannot be read."""
        try:
            kept = self.store.get(key)
        except (OSError, ValueError, ConfigError) as error:
            log.error("run %s cannot be read and is left alone: %s", key, error)
            return None
        if kept is None or (kept.get("framework"), kept.get("agent")) != (self.name, self._agent()):
            return None
        self._key_of.update(dict.fromkeys(map(str, kept.get("requests") or ()), key))
        return kept

    def _agent(self) -> str | None:
        return getattr(self.agent, "name", None)


class KeptResumer(resume.Resumer):
    """A resumer over a store of runs; `begin` is the other half of it, in any process."""

    source: KeptRuns

    async def begin(self, key: str, prompt: Any, **how: Any) -> Any:
        """Runs the agent, and keeps the run under this key if it stops. `how`: options of the framework's own run.

        The key names the conversation; unless `placet.session(...)` is around, it is the session that people see.
        """
        return await self.source.begin(key, prompt, how)


FIELDS = ("app", "agent", "user", "tenant", "turn", "invocation")


def _described() -> dict[str, Any]:
    """The session around this run, as a run that goes on needs it."""
    around = current_session()
    if around is None:
        return {}
    found = {"id": around.id, "lineage": around.lineage, **{name: getattr(around, name) for name in FIELDS}}
    return {name: value for name, value in found.items() if value}


def _session(kept: Any, key: str) -> session:
    fields = dict(kept) if isinstance(kept, Mapping) else {}
    return session(
        str(fields.pop("id", key)), **{name: fields[name] for name in (*FIELDS, "lineage") if name in fields}
    )
