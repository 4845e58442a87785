"""The real binary, started on a free port of this machine and stopped by its process id."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import threading
import time
from pathlib import Path

import httpx


class Server:
    """`with Server(folder) as server:`; `server.url`, `server.agent` (the key of `bot`), `.ann`, `.bob`, `.admin`."""

    def __init__(
        self,
        data: Path,
        *,
        settings: tuple[str, ...] = (),
        policy: str | None = None,
        config: Path | None = None,
        environ: dict | None = None,
    ):
        found = os.environ.get("PLACET_BIN") or shutil.which("placet")
        if not found:
            raise RuntimeError("no server to test with: set PLACET_BIN to the placet binary")
        self._binary = found
        self.data = Path(data)
        # The tests are faster than people; the limit on calls a second is not what they are about.
        # Receivers of push notifications run on this machine in tests.
        self.settings = ("limits.requests_per_second=0", "doors.callback_hosts=127.0.0.1,localhost", *settings)
        self.policy = policy
        self.config = config
        self._environ = environ or {}
        self.admin = secrets.token_hex(24)
        self._listen = "127.0.0.1:0"
        self._process: subprocess.Popen | None = None
        self.url = ""
        self.log: list[str] = []

    def __enter__(self) -> Server:
        self.start()
        self.agent = self.key("agent", "bot")
        self.ann = self.key("reviewer", "ann")
        self.bob = self.key("reviewer", "bob")
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def start(self) -> None:
        """Starts, or starts again on the same port over the same data."""
        command = [self._binary, "serve", "--data", str(self.data), "--listen", self._listen]
        for setting in self.settings:
            command += ["--set", setting]
        if self.policy:
            command += ["--policy", self.policy]
        if self.config:
            command += ["--config", str(self.config)]
        environ = {**os.environ, "PLACET_BOOTSTRAP_TOKEN": self.admin, "NO_COLOR": "1", **self._environ}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environ, text=True, start_new_session=True
        )
        listening = threading.Event()
        threading.Thread(target=self._read, args=(self._process, listening), daemon=True).start()
        if not listening.wait(60) or self._process.poll() is not None:
            self.kill()
            raise RuntimeError("the server did not start:\n" + "\n".join(self.log))

    def _read(self, process: subprocess.Popen, listening: threading.Event) -> None:
        for line in process.stdout:
            self.log.append(line.rstrip())
            found = re.search(r"listening on (http://([\d.]+:\d+))", line)
            if found:
                self.url, self._listen = found.group(1), found.group(2)
                listening.set()
        listening.set()

    def stop(self) -> None:
        """As a signal does: orderly."""
        if self._process and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """As a crash does."""
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait(20)

    def restart(self, down_for: float = 0.0) -> None:
        """Killed, and back on the same port after a while."""
        self.kill()
        time.sleep(down_for)
        self.start()

    def key(self, role: str, name: str, owner: str | None = None) -> str:
        """A new key."""
        body = {"role": role, "name": name, **({"owner": owner} if owner else {})}
        made = httpx.post(
            f"{self.url}/v1/keys", json=body, headers={"Authorization": f"Bearer {self.admin}"}, timeout=20
        )
        made.raise_for_status()
        return made.json()["key"]

    def http(self, token: str) -> httpx.Client:
        """A bare HTTP client with this key."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=30)
