"""The server that lies, and programs that meet it: every mode at once, each on a thread or in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "hostile"
sys.path.insert(0, str(FOLDER))

from modes import MODES, Mode

LIES = [mode for mode in MODES.values() if not mode.runs]
CONTROLS = [mode for mode in MODES.values() if mode.runs]
BOUND = 60.0
"""Ends a test that fails. What passes ends by itself, long before."""
LARGEST = 300 * 1024
"""Kilobytes a client may have resident, however much it is sent."""

__all__ = ["BOUND", "CONTROLS", "LARGEST", "LIES", "MODES", "Ending", "Hostile", "Mode", "everywhere", "process"]


class Hostile:
    """The server, in a process of its own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(FOLDER / "server.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{self._process.stdout.readline().strip()}"

    def at(self, mode: Mode, run: str) -> str:
        """Where a client finds this mode."""
        return f"{self.url}/{mode.name}/{run}"

    def seen(self, mode: str, run: str) -> list[str]:
        """What a client asked for there."""
        with urllib.request.urlopen(f"{self.url}/{mode}/{run}/_seen") as answer:
            return list(json.load(answer)["seen"])

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


@dataclass
class Ending:
    """What came of one client in one mode. Empty while it goes on."""

    ended: bool = False
    ran: list[Any] = field(default_factory=list)
    said: str = ""
    resident: int = 0
    """The most memory it had, in kilobytes; 0 when nobody looked."""
    code: int = 0
    errors: str = ""


def everywhere(
    modes: Iterable[Mode], play: Callable[[Mode, Ending], None], at_once: int = 24, bound: float = BOUND
) -> dict[str, Ending]:
    """Plays every mode, so many at the same time. What did not end within the bound is left behind."""
    endings = {mode.name: Ending() for mode in modes}
    waiting = [mode for mode in MODES.values() if mode.name in endings]
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                if not waiting:
                    return
                mode = waiting.pop()
            play(mode, endings[mode.name])
            endings[mode.name].ended = True

    threads = [threading.Thread(target=work, daemon=True) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + bound
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return endings


def process(command: list[str], ending: Ending, given: str = "", **environment: str) -> None:
    """Runs a program to its end, and says how much memory it had at most."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    assert all((child.stdin, child.stdout, child.stderr))
    # What it says fits into the pipes: it is a few lines. So one after the other.
    child.stdin.write(given.encode())
    child.stdin.close()
    ending.said = child.stdout.read().decode()
    ending.errors = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = ending.code = os.waitstatus_to_exitcode(status)
    ending.resident = usage.ru_maxrss
