"""Agents and resumers in processes of their own, which tests kill."""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing import forkserver
from pathlib import Path

import pytest

from adk.process import WARM, Task, main

DEADLINE = 60.0

CONTEXT = multiprocessing.get_context("forkserver")


def load() -> None:
    """Processes are forked from one that has ADK loaded: as real as any other, and there at once."""
    CONTEXT.set_forkserver_preload(["adk.process"])
    # The server of forks does not hear of sys.path, and would import nothing in advance.
    wanted = {"PYTHONPATH": os.pathsep.join(dict.fromkeys(path for path in sys.path if path)), WARM: "1"}
    with pytest.MonkeyPatch.context() as environ:
        for name, value in wanted.items():
            environ.setenv(name, value)
        forkserver.ensure_running()


def line(arguments: dict) -> str:
    """What a call of `wire` leaves in the file of effects."""
    return f"{arguments['to']} {float(arguments['amount'])}"


class Process:
    """One life of the agent."""

    def __init__(self, task: Task):
        self.hears, says = CONTEXT.Pipe(duplex=False)
        self.process = CONTEXT.Process(target=main, args=(task, says), daemon=True)
        self.process.start()
        says.close()

    def wait_for(self, word: str) -> None:
        """Until the process says this. `raised` is never what a test waits for."""
        while self.hears.poll(DEADLINE):
            said, more = self.hears.recv()
            assert said != "raised", more
            if said == word:
                return
        raise AssertionError(f"the process did not say `{word}` within {DEADLINE:g} s")

    @property
    def said(self) -> list:
        """What it said that nobody waited for."""
        found = []
        while self.hears.poll(0):
            try:
                found.append(self.hears.recv())
            except EOFError:
                break
        return found

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


class Agent:
    """One agent with its session database, started as often as the test likes."""

    def __init__(self, server, folder: Path):
        self.server = server
        self.folder = folder
        self.lives: list[Process] = []

    def start(self, what: str, url: str | None = None, **options) -> Process:
        life = Process(Task(what, url or self.server.url, self.server.agent, self.folder, **options))
        self.lives.append(life)
        return life

    @property
    def effect(self) -> list[str]:
        found = self.folder / "effects"
        return found.read_text().splitlines() if found.exists() else []
