"""Tells the server what of an agent Placet sees: when the agent starts, and once for each thing there is to say.

A thread of its own does it, so that nobody waits for it at the start. The first call of a tool does: policy may refuse
an agent that can do things out of sight, and must know by then.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from . import errors
from .core import steps, wire
from .covered import UNCOVERED, Coverage, Part

if TYPE_CHECKING:
    from .client import AsyncClient, Client

logger = logging.getLogger("placet")

PARTS, NAME, WHY = 256, 200, 300
"""What the server keeps of one report: so many parts, and so many bytes of a name and of a reason."""


class _Reports:
    """The coverage reports of one agent's key in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: set[Coverage] = set()
        self._under_way: list[threading.Thread] = []

    def say(self, found: Coverage, client: Client | AsyncClient) -> None:
        with self._lock:
            if found in self._said:
                return
            self._said.add(found)
            thread = threading.Thread(target=self._send, args=(found, client), name="placet report", daemon=True)
            self._under_way.append(thread)
            thread.start()

    def _send(self, found: Coverage, client: Client | AsyncClient) -> None:
        try:
            with _blocking(client) as own:
                own._drive(steps.send(wire.coverage(body(found)), own.settings, lambda answer: answer))
        except Exception as error:
            # A server of an earlier version knows no reports, and one that is open to everybody keeps none.
            unknown = isinstance(error, errors.Problem) and error.status in (404, 405)
            level = logging.DEBUG if unknown else logging.WARNING
            logger.log(level, "what %s can do could not be reported: %s", found.agent, error)
            if not unknown:
                with self._lock:
                    self._said.discard(found)  # it is tried again when the agent starts again
        finally:
            with self._lock:
                self._under_way.remove(threading.current_thread())

    def wait(self, within: float) -> None:
        for thread in self.open():
            thread.join(within)

    def open(self) -> list[threading.Thread]:
        with self._lock:
            return list(self._under_way)


_of: dict[tuple[str, str], _Reports] = {}


def report(found: Coverage, client: Client | AsyncClient) -> None:
    """Tells the server, unless this very thing was said before. Whatever goes wrong stops nobody."""
    from .client import Client

    if client.own_transport and not isinstance(client, Client):
        return  # somebody else's transport on somebody else's event loop, which a thread cannot use
    _of.setdefault((client.url, client._token), _Reports()).say(found, client)


def under_way(client: Client | AsyncClient) -> _Reports | None:
    """What is being said with this key just now, if anything is."""
    reports = _of.get((client.url, client._token))
    return reports if reports is not None and reports.open() else None


def _blocking(client: Client | AsyncClient) -> Any:
    from .client import Client

    if client.own_transport:
        return _SharedClient(client)
    return client.twin(Client)


class _SharedClient:
    """A client that stays open."""

    def __init__(self, client: Any):
        self._client = client

    def __enter__(self) -> Any:
        return self._client

    def __exit__(self, *_: object) -> None: ...


def body(found: Coverage) -> dict[str, Any]:
    """The report as the server takes it. What is out of sight comes first, so that none of it is cut off."""
    parts = sorted(found.parts, key=lambda part: part.status != UNCOVERED)[:PARTS]
    return {
        "framework": plain(found.framework, NAME) or "?",
        "agent": plain(found.agent, NAME) or "?",
        "parts": [_part(part) for part in parts],
    }


def _part(part: Part) -> dict[str, str]:
    names = {name: plain(getattr(part, name), NAME) or "?" for name in ("name", "kind", "agent")}
    return {**names, "status": part.status, "why": plain(part.why, WHY)}


def plain(text: str, most: int) -> str:
    """One line that can be shown."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    return shown.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
