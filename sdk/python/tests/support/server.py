"""The real binary, started on a port that the system chooses and stopped by its process id."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import subprocess
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx

#: Ends a wait that fails. Nothing depends on how long a wait takes.
BOUND = 60.0


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
        base: dict | None = None,
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
        self._base = os.environ if base is None else base
        self.admin = secrets.token_hex(24)
        self._listen = "127.0.0.1:0"
        self._process: subprocess.Popen | None = None
        self._kept: socket.socket | None = None
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
        self._let_go()

    def start(self) -> None:
        """Starts, or starts again on the same port over the same data."""
        again, until = bool(self.url), time.monotonic() + BOUND
        while not self._listens():
            # Between two runs the port is free, and the system may lend it to a connection of another program for a
            # moment.
            if not again or time.monotonic() > until or not any("in use" in line for line in self.log[-20:]):
                raise RuntimeError("the server did not start:\n" + "\n".join(self.log))
            time.sleep(0.1)

    def _listens(self) -> bool:
        """Whether the program says where it listens; otherwise it has ended."""
        self._let_go()
        command = [self._binary, "serve", "--data", str(self.data), "--listen", self._listen]
        for setting in self.settings:
            command += ["--set", setting]
        if self.policy:
            command += ["--policy", self.policy]
        if self.config:
            command += ["--config", str(self.config)]
        environ = {**self._base, "PLACET_BOOTSTRAP_TOKEN": self.admin, "NO_COLOR": "1", **self._environ}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environ, text=True, start_new_session=True
        )
        listening = threading.Event()
        threading.Thread(target=self._read, args=(self._process, listening), daemon=True).start()
        if listening.wait(BOUND) and self._process.poll() is None:
            return True
        self.kill()
        return False

    def _read(self, process: subprocess.Popen, listening: threading.Event) -> None:
        for line in process.stdout:
            self.log.append(line.rstrip())
            found = re.search(r"listening on (http://([\d.]+:\d+))", line)
            if found:
                self.url, self._listen = found.group(1), found.group(2)
                listening.set()
        # The end of its output is the end of the program.
        process.wait()
        listening.set()

    def stop(self) -> None:
        """As a signal does: orderly."""
        if self._process and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(BOUND)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """As a crash does."""
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait(BOUND)
            self._keep()

    def _keep(self) -> None:
        """Keeps the port while nobody listens on it: a server of another test could get it, and answer in our place."""
        host, port = self._listen.rsplit(":", 1)
        if port == "0":
            return
        kept = socket.socket()
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            kept.bind((host, int(port)))
        except OSError:
            kept.close()
        else:
            self._kept = kept

    def _let_go(self) -> None:
        if self._kept:
            self._kept.close()
            self._kept = None

    def restart(self, down_for: float = 0.0) -> None:
        """Killed, and back on the same port after a while."""
        self.kill()
        time.sleep(down_for)
        self.start()

    def key(self, role: str, name: str, owner: str | None = None) -> str:
        """A new key."""
        body = {"role": role, "name": name, **({"owner": owner} if owner else {})}
        # Without the environment: pytest changes it while the next server starts in another thread.
        made = httpx.post(
            f"{self.url}/v1/keys",
            json=body,
            headers={"Authorization": f"Bearer {self.admin}"},
            timeout=BOUND,
            trust_env=False,
        )
        made.raise_for_status()
        return made.json()["key"]

    def http(self, token: str) -> httpx.Client:
        """A bare HTTP client with this key."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=BOUND)


class Stock:
    """Fresh servers, the next one started while the last one is in use: most tests wait longer than a start takes."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._count = 0
        self._work = ThreadPoolExecutor(2)
        # As it is before any test changes it.
        self._environ = dict(os.environ)
        self._next = self._begin()

    def _begin(self) -> Future[Server]:
        self._count += 1
        return self._work.submit(self._start, self._folder / f"placet-data-{self._count}")

    def _start(self, data: Path) -> Server:
        return Server(data, base=self._environ).__enter__()

    def take(self) -> Server:
        taken, self._next = self._next, self._begin()
        return taken.result()

    def give_back(self, server: Server) -> None:
        self._work.submit(self._end, server)

    def _end(self, server: Server) -> None:
        server.stop()
        shutil.rmtree(server.data, ignore_errors=True)

    def close(self) -> None:
        self.give_back(self._next.result())
        self._work.shutdown()
