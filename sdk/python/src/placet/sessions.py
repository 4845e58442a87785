"""Which conversation a call belongs to. Given once, it holds for everything inside, threads and tasks included."""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Any

from .errors import ConfigError
from .keys import Keys, Ordinals, weak

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from .aio import AsyncClient
    from .blocking import Client

_current: contextvars.ContextVar[session | None] = contextvars.ContextVar("placet_session", default=None)


class session:
    """`with placet.session("s1"):` names the session of all gated calls inside.

    Because it is named by the program, it survives a restart: calls inside carry a weak key, and a process that was
    killed finds its open request again instead of asking twice. Equal calls are told apart by their order.
    """

    def __init__(
        self,
        id: str,
        *,
        app: str | None = None,
        agent: str | None = None,
        user: str | None = None,
        invocation: str | None = None,
        lineage: Sequence[str] = (),
        client: Client | AsyncClient | None = None,
    ):
        if not id or not isinstance(id, str) or len(id.encode("utf-8", "replace")) > 200:
            raise ConfigError("a session is text of 1 to 200 bytes")
        self.id = id
        self.app = app
        self.agent = agent
        self.user = user
        self.invocation = invocation
        self.lineage = list(lineage)
        self.client = client
        self.ordinals = Ordinals()
        self._tokens: list[contextvars.Token[session | None]] = []

    def __enter__(self) -> Self:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens.pop())

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()

    def keys(self, tool: str, arguments: dict[str, Any], strong: str | None = None) -> Keys:
        """The keys of the next call of this tool with these arguments."""
        ordinal = self.ordinals.next(tool, arguments)
        return Keys(strong, weak(self.app, self.id, self.agent, tool, arguments, ordinal))

    def context(self) -> dict[str, Any]:
        """Where a call comes from, for the people who decide."""
        found = {
            "app": self.app,
            "agent": self.agent,
            "user": self.user,
            "invocation_id": self.invocation,
            "lineage": self.lineage or None,
        }
        return {name: value for name, value in found.items() if value is not None}


def current_session() -> session | None:
    """The session around here, if there is one."""
    return _current.get()
