"""Where runs that stopped for a person are kept, for frameworks that have no store of their own.

What is kept says how to go on, and decides nothing: a resumer reads the decision from Placet.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from .errors import ConfigError

log = logging.getLogger("placet.resume")


@runtime_checkable
class RunStore(Protocol):
    """A store of stopped runs: four methods, and a lock. A table with a key and a JSON column is enough.

    The methods are called on the event loop of the resumer, and should be quick.
    """

    def put(self, key: str, run: dict[str, Any]) -> None:
        """Keeps a run, in place of the one under this key. When it returns, the run survives a crash."""
        ...

    def get(self, key: str) -> dict[str, Any] | None:
        """The run under this key; None when there is none."""
        ...

    def list(self) -> list[str]:
        """The keys of all runs."""
        ...

    def delete(self, key: str) -> None:
        """Forgets a run, if there is one."""
        ...

    def take(self, key: str) -> AbstractContextManager[bool]:
        """Going on with a run: False if another process does. It must end with the process: a lock, not a mark."""
        ...


class FileRuns:
    """Runs as files in a folder, for all processes of one machine.

    Each file is written beside its place, synced, and renamed: after a crash there is the old run or the new one.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def put(self, key: str, run: dict[str, Any]) -> None:
        path = self._path(key)
        text = json.dumps({"key": key, "run": run}, ensure_ascii=False).encode("utf-8", "surrogatepass")
        file, beside = tempfile.mkstemp(dir=self.folder, prefix=".", suffix=".new")
        try:
            with os.fdopen(file, "wb") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            os.replace(beside, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise
        self._sync()

    def get(self, key: str) -> dict[str, Any] | None:
        found = self._read(self._path(key))
        return None if found is None else found[1]

    def list(self) -> list[str]:
        found = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                read = self._read(path)
            except (OSError, ValueError, ConfigError) as error:
                log.error("%s cannot be read and is left out: %s", path, error)
                continue
            if read is not None:
                found.append(read[0])
        return found

    def delete(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)
        self._sync()

    @contextlib.contextmanager
    def take(self, key: str) -> Iterator[bool]:
        """The lock is that of the operating system: it ends with the process, however that ends."""
        path = self._path(key).with_suffix(".lock")
        file = _locked(path)
        if file is None:
            yield False
            return
        try:
            yield True
        finally:
            # Still locked: another process that opened it sees that it is no longer the one at this place.
            with contextlib.suppress(OSError):
                path.unlink()
            os.close(file)

    def _path(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}.json"

    def _read(self, path: Path) -> tuple[str, dict[str, Any]] | None:
        try:
            found = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
        except FileNotFoundError:
            return None
        key, run = (found.get("key"), found.get("run")) if isinstance(found, dict) else (None, None)
        if not isinstance(key, str) or not isinstance(run, dict) or self._path(key) != path:
            raise ConfigError(f"{path} is no kept run")
        return key, run

    def _sync(self) -> None:
        if os.name != "posix":
            return
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _locked(path: Path) -> int | None:
    """An open file with an exclusive lock; None when another process has it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if not _lock(file):
            os.close(file)
            return None
        try:
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        except FileNotFoundError:
            pass
        os.close(file)  # it was removed between opening and locking


def _lock(file: int) -> bool:
    try:
        import fcntl
    except ImportError:  # pragma: no cover (Windows)
        import msvcrt

        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
