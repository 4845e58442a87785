"""Which conversation a call belongs to. Given once, it holds for everything inside, threads and tasks included."""

from __future__ import annotations

import contextvars
import threading
from typing import TYPE_CHECKING, Any

from .errors import ConfigError
from .keys import Keys, Ordinals, weak

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from .aio import AsyncClient
    from .blocking import Client

_entered: dict[tuple[str | None, ...], set[int]] = {}
"""Which sessions of one name are entered now, each with a number of its own."""

_entering = threading.Lock()

_current: contextvars.ContextVar[session | None] = contextvars.ContextVar("placet_session", default=None)


class session:
    """`with placet.session("s1"):` names the session of all gated calls inside.

    Because it is named by the program, it survives a restart: calls inside carry a weak key, and a process that was
    killed finds its open request again instead of asking twice. Equal calls are told apart by their order.

    `app`, `tenant` and `user` say whose session it is: two people may have sessions of one name. `turn` names one
    message of the conversation. Give it where the same call may be meant again in a later message while the
    first still waits; a retry of the message uses the same turn.
    """

    def __init__(
        self,
        id: str,
        *,
        app: str | None = None,
        agent: str | None = None,
        user: str | None = None,
        tenant: str | None = None,
        turn: str | None = None,
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
        self.tenant = tenant
        self.turn = turn
        self.invocation = invocation
        self.lineage = list(lineage)
        self.client = client
        self.ordinals = Ordinals()
        self._tokens: list[contextvars.Token[session | None]] = []
        self._number = 0

    def __enter__(self) -> Self:
        if not self._tokens:
            self._take_number()
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens.pop())
        if not self._tokens:
            with _entering:
                numbers = _entered[self._whose()]
                numbers.discard(self._number)
                if not numbers:
                    del _entered[self._whose()]

    def _whose(self) -> tuple[str | None, ...]:
        return (self.app, self.tenant, self.user, self.id, self.turn)

    def _take_number(self) -> None:
        """Two messages of one session that are worked on at once are two, although neither names its turn."""
        with _entering:
            numbers = _entered.setdefault(self._whose(), set())
            self._number = next(number for number in range(len(numbers) + 1) if number not in numbers)
            numbers.add(self._number)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()

    def keys(self, tool: str, arguments: dict[str, Any], strong: str | None = None) -> Keys:
        """The keys of the next call of this tool with these arguments."""
        ordinal = self.ordinals.next(tool, arguments)
        turn = f"{self.turn or ''}+{self._number}" if self._number else self.turn
        return Keys(
            strong,
            weak(
                self.app, self.id, self.agent, tool, arguments, ordinal, user=self.user, tenant=self.tenant, turn=turn
            ),
        )

    def context(self) -> dict[str, Any]:
        """Where a call comes from, for the people who decide."""
        found = {
            "app": self.app,
            "agent": self.agent,
            "user": self.user,
            "tenant": self.tenant,
            "turn": self.turn,
            "invocation_id": self.invocation,
            "lineage": self.lineage or None,
        }
        return {name: value for name, value in found.items() if value is not None}


def current_session() -> session | None:
    """The session around here, if there is one."""
    return _current.get()
