"""An agent in a process of its own that others call over A2A, and a count of what its tools did."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx

PATIENCE = 180.0
"""Frameworks take their time to import, on a busy machine above all."""


class Upstream:
    """`with Upstream("a2a_adk.upstream", folder) as agent:`; `agent.url`, `agent.effects`, `agent.restart()`."""

    def __init__(self, module: str, folder: Path, *, name: str = "ops", remote: str | None = None):
        self._module = module
        self._file = folder / f"effects-{name}.jsonl"
        self._words = ["--name", name, *(["--remote", remote] if remote else [])]
        self._port = "0"
        self._process: subprocess.Popen | None = None
        self.url = ""
        self.log: list[str] = []

    def __enter__(self) -> Upstream:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def begin(self) -> None:
        """Has an address when this returns, and answers there when `ready` does."""
        tests = str(Path(__file__).parents[1])
        program = "from support.serve import main; main()"
        # Not `-m`: the module that counts would then be there twice, once as the program and once for the tools.
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", program, self._module, self._port, str(self._file), *self._words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": tests},
            text=True,
        )
        bound = threading.Event()
        threading.Thread(target=self._read, args=(self._process, bound), daemon=True).start()
        if not bound.wait(PATIENCE) or self._process.poll() is not None:
            self._fail()

    def _read(self, process: subprocess.Popen, bound: threading.Event) -> None:
        for line in process.stdout:
            self.log.append(line.rstrip())
            found = re.search(r"bound to (http://127\.0\.0\.1:(\d+))", line)
            if found:
                self.url, self._port = found.groups()
                bound.set()
        bound.set()

    def _fail(self) -> None:
        self.kill()
        raise RuntimeError("the agent did not start:\n" + "\n".join(self.log))

    def ready(self) -> Upstream:
        """Waits until it answers."""
        try:
            httpx.get(f"{self.url}/.well-known/agent-card.json", timeout=PATIENCE).raise_for_status()
        except httpx.HTTPError:
            self._fail()
        return self

    def kill(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait(20)

    def start(self) -> None:
        """Starts again on the same port, with everything that was in memory gone."""
        self.begin()
        self.ready()

    def restart(self) -> None:
        self.kill()
        self.start()

    def forget_effects(self) -> None:
        self._file.unlink(missing_ok=True)

    @property
    def effects(self) -> list[dict[str, Any]]:
        """What the tools really did, in order."""
        return [json.loads(line) for line in self._file.read_text().splitlines()] if self._file.exists() else []

    def ran(self, tool: str) -> list[dict[str, Any]]:
        """What one tool did, without its name."""
        found = [one for one in self.effects if one["tool"] == tool]
        return [{name: value for name, value in one.items() if name != "tool"} for one in found]
