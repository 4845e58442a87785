"""google-adk: a resumer for the sessions of a `Runner`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import placet
from placet import errors
from placet import resume as core
from placet.resume import Run

from . import _adk
from ._adk import logger
from ._adk_pause import GoesOnLater, PauseReader
from ._adk_resume import Session, stalled

GRACE = 30.0
DAYS = 30.0


class Sessions(core.Source):
    """The sessions of one runner. A run is a session: ADK goes on with one invocation of it at a time."""

    name = _adk.FRAMEWORK

    def __init__(self, runner: Any, client: placet.AsyncClient, grace: float = GRACE, days: float = DAYS):
        if not hasattr(runner, "session_service") or not hasattr(runner, "run_async"):
            raise errors.ConfigError(f"runner={type(runner).__name__}: give a google-adk Runner")
        self._runner, self._client, self._grace, self._days = runner, client, grace, days
        self._quiet: dict[Any, float] = {}
        """Sessions in which nothing waited, and when they were last changed: they need not be read again."""

    async def waiting(self) -> AsyncIterator[Run]:
        listed = await self._runner.session_service.list_sessions(app_name=self._runner.app_name)
        oldest = time.time() - self._days * 86_400
        quiet: dict[Any, float] = {}
        for one in listed.sessions:
            key = (self._runner.app_name, one.user_id, one.id)
            changed = one.last_update_time
            if changed < oldest:
                continue
            if self._quiet.get(key) == changed:
                quiet[key] = changed
                continue
            try:
                run = await self._waits(key)
            except Exception:
                logger.exception("session %s could not be read", "/".join(key))
                continue
            if run is None:
                quiet[key] = changed
            else:
                yield run
        self._quiet = quiet

    async def _waits(self, key: tuple[str, str, str]) -> Run | None:
        session = await self._session(key).stored()
        events = session.events if session is not None else ()
        # Of whatever age: it is not quiet, even if it is too early to go on with it.
        if stalled(events, lambda moment: True):
            return Run(key)
        requests = tuple(one.request_id for one in PauseReader(events).waiting.values())
        return Run(key, requests) if requests else None

    async def find(self, record: Any) -> Run | None:
        context = record.context if isinstance(record.context, dict) else {}
        key = (context.get("app"), context.get("user"), record.session)
        ours = context.get("framework") == _adk.FRAMEWORK and key[0] == self._runner.app_name
        return Run(key) if ours and all(isinstance(part, str) for part in key) else None

    async def go_on(self, run: Run) -> bool:
        session = self._session(run.key)
        if await session.stored() is None:
            return False
        try:
            return bool(await session.go_on())
        except GoesOnLater as error:
            if isinstance(error.__cause__, errors.OutcomeUnknown):
                raise error.__cause__ from error
            raise

    def _session(self, key: Any) -> Session:
        _, user, id = key
        return Session(self._runner, self._client, user, id, grace=self._grace)


class Resumer(core.Resumer):
    """Goes on with the paused runs of a google-adk `Runner` when there is a decision: `Resumer(runner)`.

    It finds user, session and branch from the request, and takes over what a killed process left half way. `grace`: how
    many seconds it leaves to another process, which may be alive, for finishing such a step. `days`: sessions that were
    not changed for so long are not looked at. The client is that of the runner's plugin, unless given. The other
    options are those of `placet.resume.Resumer`.
    """

    def __init__(
        self,
        runner: Any,
        client: placet.AsyncClient | None = None,
        *,
        grace: float = GRACE,
        days: float = DAYS,
        **options: Any,
    ):
        found = client if client is not None else _client(runner)
        client = found if found is not None else placet.AsyncClient()
        super().__init__(Sessions(runner, client, grace, days), client, **options)
        self._owns_client = found is None


def _client(runner: Any) -> placet.AsyncClient | None:
    plugins = getattr(getattr(runner, "plugin_manager", None), "plugins", ())
    gates = (getattr(one, "gate", None) for one in plugins)
    return next((gate.client for gate in gates if isinstance(getattr(gate, "client", None), placet.AsyncClient)), None)
