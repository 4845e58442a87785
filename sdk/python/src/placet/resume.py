"""`Resumer`: goes on with paused runs when a person has decided, in this process or after a crash in another one.

A run that pauses ends; what it waits for stands in the framework's own store (a session, a checkpoint, a row). Somebody
must go on with it when there is a decision. That is what a `Resumer` does, for any framework that has a `Source`:

    resumer = Resumer(source, client)
    await resumer.run()                     # until it is stopped or cancelled
    async with Resumer(source, client): …   # beside the application
    await resumer.once()                    # everything that is decided now, then it ends

    python -m placet.resume my_agent:resumer

The store is the truth about what waits: an agent's key cannot list requests. So the store is scanned when the stream
connects, whenever something may have been missed, and now and then. In between, one stream says what was decided.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import sys
from collections.abc import AsyncIterator, Hashable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .aio import AsyncClient
from .errors import ConfigError, OutcomeUnknown, PlacetError, Problem, ProtocolError
from .resume_source import Progress, Run, Source, alone

if TYPE_CHECKING:
    from typing_extensions import Self

    from .models import Record

__all__ = ["Resumer", "Source", "Run", "Progress", "alone"]

log = logging.getLogger("placet.resume")

FIRST = 0.25
"""Seconds before the second attempt; each later one waits twice as long."""
LOOKS = 16
"""How many requests a scan reads at once."""
OTHERS = frozenset({"claimed", "succeeded", "failed"})
"""States of a request whose permit is in use, or was used. Whoever took it goes on with the run."""


@dataclass
class _ResumeJob:
    """One run that is being resumed."""

    run: Run
    told: set[str] = field(default_factory=set)
    """Decided requests of which the stream told. The pause may not be stored yet, so they are looked for again."""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Resumer:
    """Goes on with the paused runs of one source as they are decided.

    `concurrency`: how many runs go on at once. `scan_every`: seconds between two scans of the store while the stream is
    quiet. `longest_pause`: seconds between two attempts at a run that fails, at most. `finish_within`: seconds that
    running calls get when the resumer is stopped; then they are cancelled, and the next resumer goes on.
    """

    def __init__(
        self,
        source: Source,
        client: AsyncClient | None = None,
        *,
        concurrency: int = 4,
        scan_every: float = 30.0,
        longest_pause: float = 300.0,
        finish_within: float = 10.0,
    ):
        if not isinstance(source, Source):
            raise ConfigError(
                f"source={type(source).__name__}: it needs `name`, `waiting`, `find`, `go_on` and `aclose`"
            )
        if concurrency < 1 or not scan_every > 0 or not longest_pause > 0 or not finish_within >= 0:
            raise ConfigError("concurrency, scan_every and longest_pause must be above 0, and finish_within not below")
        self.source = source
        self.client = AsyncClient() if client is None else client
        self._owns_client = client is None
        self._concurrency = concurrency
        self._scan_every, self._longest, self._finish_within = scan_every, longest_pause, finish_within
        self._jobs: dict[Hashable, _ResumeJob] = {}
        self._background: asyncio.Task[None] | None = None
        self._stopping: asyncio.Event | None = None
        self._scan: asyncio.Event | None = None
        self._slots: asyncio.Semaphore | None = None
        self._connected = False

    # --- Using it ------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Goes on with runs until `stop` is called or this is cancelled. Raises if the server has no stream for us."""
        stopping, _ = self._begin()
        tasks = [asyncio.create_task(one, name="placet resumer") for one in (self._listen(), self._scans())]
        ended = asyncio.create_task(stopping.wait())
        try:
            done, _ = await asyncio.wait({*tasks, ended}, return_when=asyncio.FIRST_COMPLETED)
            for one in done - {ended}:
                one.result()
        finally:
            stopping.set()
            await _gone([*tasks, ended])
            await self._finish()
            self._stopping = None

    def stop(self) -> None:
        """Lets `run` end: nothing new begins, and what goes on gets `finish_within` seconds."""
        if self._stopping is not None:
            self._stopping.set()

    async def once(self) -> Progress:
        """One scan: goes on with everything that is decided, and returns what came of it. Does not listen."""
        self._begin()
        progress = Progress()
        try:
            found = [(run, ready) async for run, ready in self._ready()]
            progress.waiting = [run for run, ready in found if not ready]
            await asyncio.gather(*(self._once(run, progress) for run, ready in found if ready))
        finally:
            self._stopping = None
        return progress

    async def aclose(self) -> None:
        """Closes the source, and the client if it was made here."""
        await self.source.aclose()
        if self._owns_client:
            await self.client.aclose()

    async def __aenter__(self) -> Self:
        self._background = asyncio.create_task(self.run(), name="placet resumer")
        self._background.add_done_callback(_log_the_end)
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stops. Raises what ended the resumer meanwhile, if something did."""
        self.stop()
        try:
            if self._background is not None:
                await self._background
        finally:
            await self.aclose()

    # --- What wakes a run up -------------------------------------------------------------------------------------

    def _begin(self) -> tuple[asyncio.Event, asyncio.Event]:
        if self._stopping is not None:
            raise ConfigError("this resumer is running already")
        self._stopping, self._scan = asyncio.Event(), asyncio.Event()
        self._slots = asyncio.Semaphore(self._concurrency)
        return self._stopping, self._scan

    async def _listen(self) -> None:
        pause, after = FIRST, None
        while True:
            try:
                async with contextlib.aclosing(self.client.stream(after)) as events:  # type: ignore[type-var]
                    async for event in events:
                        pause, after = FIRST, event.id or after
                        if event.record is None:
                            self._connected = True
                            self._scan_soon()
                        else:
                            await self._heard(event.record)
            except ProtocolError as error:
                if not self._connected:
                    raise
                log.error("%s; trying again in %.1f s", error, pause)
            await asyncio.sleep(pause)
            pause = min(pause * 2, self._longest)

    async def _heard(self, record: Record) -> None:
        if record.state == "pending":
            return
        try:
            run = await self.source.find(record)
        except Exception:
            log.exception("whose request %s is could not be found out; the next scan finds its run", record.id)
            return
        if run is None:
            return
        job = self._jobs.get(run.key)
        if record.state in OTHERS:
            if job is not None:
                job.told.discard(record.id)
            return
        self._wake(run, record.id)

    def _scan_soon(self) -> None:
        if self._scan is not None:
            self._scan.set()

    async def _scans(self) -> None:
        assert self._scan is not None
        while True:
            # Many resumers that started together should not scan together.
            await _set_within(self._scan, self._scan_every * random.uniform(0.8, 1.0))
            self._scan.clear()
            try:
                async with contextlib.aclosing(self._ready()) as found:  # type: ignore[type-var]
                    async for run, ready in found:
                        if ready:
                            self._wake(run, None)
            except Exception:
                log.exception("the store of %s could not be scanned; the next scan is soon", self.source.name)

    async def _ready(self) -> AsyncIterator[tuple[Run, bool]]:
        """Every waiting run, and whether something of it is decided."""
        looks = asyncio.Semaphore(LOOKS)

        async def look(run: Run) -> tuple[Run, bool]:
            async with looks:
                return run, await self._decided(run)

        found: set[asyncio.Future[tuple[Run, bool]]] = set()
        try:
            async with contextlib.aclosing(self.source.waiting()) as runs:  # type: ignore[type-var]
                async for run in runs:
                    found.add(asyncio.create_task(look(run)))
                    if len(found) >= 4 * LOOKS:
                        done, found = await asyncio.wait(found, return_when=asyncio.FIRST_COMPLETED)
                        for one in done:
                            yield one.result()
            for one in asyncio.as_completed(found):
                yield await one
        finally:
            await _gone(found)

    async def _decided(self, run: Run) -> bool:
        for id in run.requests:
            try:
                if (await self.client.get(id)).state != "pending":
                    return True
            except Problem:
                return True  # the server does not know it, or not this key: `go_on` says so
            except PlacetError as error:
                log.warning("request %s of run %s could not be read: %s", id, run, error)
                return False
        return not run.requests

    def _wake(self, run: Run, request: str | None) -> None:
        if self._stopping is None or self._stopping.is_set():
            return
        job = self._jobs.get(run.key)
        if job is None:
            job = self._jobs[run.key] = _ResumeJob(run)
            job.task = asyncio.create_task(self._go_on(job), name=f"placet run {run}")
        if request is not None:
            # Only news cut a pause short: a scan would wake a run that fails again and again.
            job.told.add(request)
            job.news.set()

    # --- Going on ------------------------------------------------------------------------------------------------

    async def _go_on(self, job: _ResumeJob) -> None:
        try:
            await self._until_done(job)
        finally:
            # No await between the last look at the news and this: the next one to wake the run makes a new job.
            self._jobs.pop(job.run.key, None)

    async def _until_done(self, job: _ResumeJob) -> None:
        """Goes on with one run, until there is nothing more to do about it for now."""
        pause, looked = FIRST, 0.0
        assert self._stopping is not None
        while not self._stopping.is_set():
            job.news.clear()
            told = set(job.told)
            try:
                went = await self._attempt(job.run)
            except OutcomeUnknown as error:
                log.info("run %s goes on in another process: %s", job.run, error)
                break
            except Exception as error:
                log.warning(
                    "run %s did not go on (%s: %s); again in %.1f s", job.run, type(error).__name__, error, pause
                )
                log.debug("why run %s did not go on", job.run, exc_info=True)
            else:
                if went:
                    job.told -= told
                    pause = FIRST
                looked += pause
                if not job.news.is_set() and (not job.told or looked > self._scan_every):
                    break  # whatever is stored later, a scan finds it
            await _set_within(job.news, pause * random.uniform(0.75, 1.0))
            pause = min(pause * 2, self._longest)

    async def _attempt(self, run: Run) -> bool:
        assert self._slots is not None
        assert self._stopping is not None
        async with alone(self.source.name, run.key), self._slots:
            if self._stopping.is_set():
                return False
            went = await self.source.go_on(run)
        if went:
            log.info("run %s went on", run)
        return went

    async def _once(self, run: Run, progress: Progress) -> None:
        try:
            (progress.went_on if await self._attempt(run) else progress.waiting).append(run)
        except Exception as error:
            log.warning("run %s did not go on: %s: %s", run, type(error).__name__, error)
            progress.failed[run] = error

    async def _finish(self) -> None:
        """Lets what goes on come to its end, for a while. Runs that only pause between attempts end at once."""
        for job in self._jobs.values():
            job.news.set()
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=self._finish_within)
        finally:
            await _gone(tasks)
            self._jobs.clear()


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    """Not `wait_for`, which before Python 3.12 may lose the cancellation of who waits here."""
    import anyio

    with anyio.move_on_after(seconds):
        await event.wait()


async def _gone(tasks: Iterable[asyncio.Future[Any]]) -> None:
    tasks = list(tasks)
    for one in tasks:
        one.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _log_the_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("the resumer ended: %s", task.exception())


if __name__ == "__main__":
    from placet.resume_command import main

    sys.exit(main())
