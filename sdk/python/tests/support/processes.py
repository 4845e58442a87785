"""Agents in processes of their own, which tests may kill. The framework is imported once; processes are forked."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .proxy import Proxy


class Processes:
    """`Processes(module.main, server, folder)("start")` runs `main(folder, url, token, "start")` in a new process."""

    def __init__(self, main: Callable[..., None], server: Any, folder: Path):
        # The server of forks does not hear of sys.path, and would import nothing in advance.
        os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in sys.path if path))
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([main.__module__])
        self._main = main
        self._server = server
        self.folder = folder

    def __call__(self, *words: str, url: str | None = None) -> multiprocessing.Process:
        """Starts one; it is killed by its own handle, if at all."""
        made = self._context.Process(
            target=self._main, args=(str(self.folder), url or self._server.url, self._server.agent, *words), daemon=True
        )
        made.start()
        return made

    @contextmanager
    def waiting(self, *words: str) -> Iterator[multiprocessing.Process]:
        """Starts one, and goes on when it waits for a decision."""
        with Proxy(self._server.url) as line:
            made = self(*words, url=line.url)
            line.wait_for_a_waiter()
            yield made
            made.join(120)

    def run(self, *words: str, within: float = 120.0) -> int | None:
        """Runs one to its end: its exit code."""
        made = self(*words)
        made.join(within)
        if made.exitcode is None:
            made.kill()
        return made.exitcode

    @property
    def effects(self) -> list[str]:
        """What the tools wrote into `effects.txt`."""
        path = self.folder / "effects.txt"
        return path.read_text().split() if path.exists() else []

    def wait_for_an_effect(self, within: float = 120.0) -> None:
        until = time.monotonic() + within
        while not self.effects:
            assert time.monotonic() < until, "nothing happened"
            time.sleep(0.02)
