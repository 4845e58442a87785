"""A process that has everything imported and forks agents on demand, so that kills hit calls, not imports.

`start ARGUMENTS` forks one and says `started PID`; `kill PID` ends it with SIGKILL; `ended PID CODE` is said of each.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue


def serve() -> None:
    import httpx  # noqa: F401 (imported once, before the fork)

    from support.rounds import agent

    living: set[int] = set()
    rest = b""
    while True:
        ready, _, _ = select.select([0], [], [], 0.002)
        if ready:
            # Read without a buffer of Python's own: two lines may arrive at once, and `select` would see neither.
            chunk = os.read(0, 65536)
            if not chunk:
                break
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                _obey(line.decode(), living, agent)
        for pid in list(living):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                living.discard(pid)
                print(f"ended {pid} {os.waitstatus_to_exitcode(status)}", flush=True)
    for pid in living:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _obey(line: str, living: set[int], agent: Callable[..., None]) -> None:
    word, _, rest = line.partition(" ")
    if word == "start":
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                agent(*json.loads(rest))
                code = 0
            finally:
                os._exit(code)
        living.add(pid)
        print(f"started {pid}", flush=True)
    elif word == "kill" and int(rest) in living:
        os.kill(int(rest), signal.SIGKILL)


class Nursery:
    """The other side of it; one thread may use one of these."""

    def __enter__(self) -> Nursery:
        tests = Path(__file__).parents[1]
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-c", "from support.nursery import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, "PYTHONPATH": str(tests)},
        )
        self._said: SimpleQueue[list[str]] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait(20)

    def _read(self) -> None:
        for line in self._process.stdout:
            self._said.put(line.split())

    def run(self, arguments: list[object], moment: float) -> int | None:
        """Runs an agent, and kills it after a moment. Its exit code, or None when it was killed."""
        from queue import Empty

        self._process.stdin.write(f"start {json.dumps(arguments)}\n")
        _, pid = self._said.get(timeout=60)
        try:
            ended = self._said.get(timeout=moment)
        except Empty:
            self._process.stdin.write(f"kill {pid}\n")
            ended = self._said.get(timeout=60)
        code = int(ended[2])
        return None if code == -signal.SIGKILL else code
