"""The common part of both clients: checked settings, the options of httpx, and every call as a flow."""

from __future__ import annotations

import os
import ssl
import time
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from . import keys as _keys
from . import questions
from .background import REPORTS, Background
from .core import hold, steps, wire
from .core.effects import Flow, NoAnswer, Reply, Send
from .errors import ConfigError
from .models import Call, Page, Record
from .waiting import Callback, OnWaiting, WaitReporter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import httpx

    from .words import Decision, OnDenied, OnOutage, QuestionOptions, Report, Then

B = TypeVar("B", bound="Base")

DEFAULT_URL = "http://127.0.0.1:4000"
CALLS = 24
"""How many ordinary calls of one client are under way at the same time; the others wait for their turn here."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
GONE = 2.0
"""How long withdrawing may take when the caller was cancelled."""


default_transport: Callable[[str], Any] | None = None
"""For tests: what clients without a transport of their own talk through; told `transport` or `async_transport`."""


class Base:
    """The part of a client that does no input or output."""

    _transport_kind: str

    def __init__(
        self,
        url: str | None,
        token: str | None,
        timeout: float,
        outage_budget: float,
        on_outage: OnOutage,
        name: str | None,
        transport: Any,
        on_waiting: Callback | None,
        verify: str | os.PathLike[str] | ssl.SSLContext | None,
    ):
        self.url = checked_url(url or os.environ.get("PLACET_URL") or DEFAULT_URL)
        found = token or os.environ.get("PLACET_TOKEN")
        if not found:
            raise ConfigError("no key: set PLACET_TOKEN, or pass token=; `placet key new --role agent` makes one")
        if not found.isascii() or not found.isprintable() or " " in found:
            raise ConfigError("the key has characters that no key has; check PLACET_TOKEN")
        if not timeout > 0 or not outage_budget >= 0:
            raise ConfigError("timeout must be more than 0 s, and outage_budget at least 0 s")
        self._token = found
        self.timeout = timeout
        self.name = name
        self.own_transport = transport is not None
        if transport is None and default_transport is not None:
            transport = default_transport(self._transport_kind)
        self.transport = transport
        if verify is not None and not isinstance(verify, (str, os.PathLike, ssl.SSLContext)):
            raise ConfigError("verify: give the file of a CA, or an ssl.SSLContext; certificates are always checked")
        self.verify = verify
        self._tls: Any = None
        self.teller = WaitReporter(on_waiting)
        self._twin: Any = None
        self._background: Background | None = None
        self.settings = steps.Settings(self.url, outage_budget, checked_on_outage(on_outage))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url})"

    def _options(self) -> dict[str, Any]:
        """The options of httpx."""
        import httpx

        host = urlsplit(self.url).hostname or ""
        if self._tls is None:
            # Reading the certificates of the world takes a while: once is enough, and plain HTTP needs none.
            self._tls = self._ssl_context() if self.url.startswith("https:") else False
        agent = "placet-python/0.2.0" + (f" ({self.name})" if self.name else "")
        return {
            "base_url": self.url,
            "headers": {
                "Authorization": f"Bearer {self._token}",
                "User-Agent": agent,
                # A packed answer has no bound before it is unpacked.
                "Accept-Encoding": "identity",
            },
            "timeout": httpx.Timeout(self.timeout, pool=None),
            # Idle connections are let go before the server closes them.
            # Few are kept: the pool looks at each of them for every call.
            "limits": httpx.Limits(max_connections=None, max_keepalive_connections=CALLS, keepalive_expiry=20.0),
            "follow_redirects": False,
            # Nothing on this machine is behind a proxy, whatever the environment says.
            "trust_env": host not in LOOPBACK,
            "verify": self._tls,
            "transport": self.transport,
        }

    def _ssl_context(self) -> ssl.SSLContext:
        """Checks against the CA that was given, or that of SSL_CERT_FILE or SSL_CERT_DIR, or the usual ones."""
        import httpx

        if isinstance(self.verify, ssl.SSLContext):
            return self.verify
        if self.verify is None:
            return httpx.create_ssl_context()
        try:
            return ssl.create_default_context(cafile=os.fspath(self.verify))
        except OSError as error:
            raise ConfigError(f"verify={os.fspath(self.verify)!r}: the file of a CA is expected ({error})") from error

    def twin(self, kind: type[B]) -> B:
        """The client of the other kind, for the same server and key."""
        made: B = kind(
            self.url,
            self._token,
            timeout=self.timeout,
            outage_budget=self.settings.outage_budget,
            on_outage=self.settings.on_outage,
            name=self.name,
            on_waiting=self.teller.on_waiting,
            verify=self.verify,
            report="now" if self._background is None else "background",
        )  # type: ignore[call-arg]
        # Both clients share the notices, so that each request is reported once.
        made.teller = self.teller
        return made

    def _within(self, call: Send) -> float:
        """How long the whole exchange may take, from the connection to the last byte."""
        usual = self.timeout + call.held_for
        return usual if call.within is None else max(0.01, min(usual, call.within))

    def _request(self, call: Send) -> dict[str, Any]:
        """One call, for httpx."""
        import httpx

        headers = dict(call.headers)
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        return {
            "method": call.method,
            "url": call.path,
            "params": dict(call.query) or None,
            "headers": headers,
            "content": call.body,
            # Held calls may take longer by what the server was asked to hold them.
            "timeout": httpx.Timeout(self.timeout, read=self.timeout + call.held_for, pool=None),
        }

    def _terms(
        self, hold_for: float | None, then: Then, on_outage: OnOutage | None, on_waiting: OnWaiting = "inherit"
    ) -> hold.Terms:
        if then not in {"cancel", "leave"}:
            raise ConfigError(f"then={then!r}: use `cancel` or `leave`")
        if hold_for is not None and not hold_for >= 0:
            raise ConfigError(f"hold_for={hold_for!r}: use seconds")
        word = self.settings.on_outage if on_outage is None else checked_on_outage(on_outage)
        return hold.Terms(hold_for, then, word, on_waiting)

    def _holding(self, call: Call, terms: hold.Terms) -> tuple[hold.Ticket, Flow[hold.Outcome]]:
        asked = hold.ticket(call)
        return asked, hold.hold(call, asked, self.settings, terms)

    def _asking(self, body: dict[str, Any], common: QuestionOptions) -> tuple[hold.Ticket, Flow[hold.Outcome]]:
        asked = hold.Ticket(questions.checked(body), common.get("key") or _keys.random())
        on_waiting = common.get("on_waiting", "inherit")
        terms = self._terms(common.get("hold_for"), "cancel", common.get("on_outage"), on_waiting)
        return asked, hold.question(asked, self.settings, terms)

    def _creating(
        self,
        body: dict[str, Any],
        key: str | None,
        weak_key: str | None,
        wait: float | None,
        claimant: str | None,
        claim: bool,
    ) -> Flow[Record]:
        call = wire.create(
            body, key=key or _keys.random(), weak_key=weak_key, wait=wait, claimant=claimant, claim=claim
        )
        return steps.send(call, self.settings, steps.a_record())

    def _about(self, id: str, call: Send) -> Flow[Record]:
        return steps.send(call, self.settings, steps.a_record(id))

    def _deciding(
        self,
        id: str,
        decision: Decision,
        digest: str,
        version: int,
        reason: str | None,
        arguments: dict[str, Any] | None,
        answer: Any,
        plan: Sequence[dict[str, Any]] | None,
    ) -> Flow[Record]:
        optional = {"reason": reason, "arguments": arguments, "answer": answer, "steps": plan}
        body = {"decision": decision, "digest": digest, "version": version}
        body.update({name: value for name, value in optional.items() if value is not None})
        return self._about(id, wire.decide(id, body))

    def _listing(self, query: dict[str, str | int]) -> Flow[Page]:
        return steps.listing({name: str(value) for name, value in query.items()}, self.settings)


def checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise ConfigError(f"{url!r} is no URL of a server; PLACET_URL looks like http://127.0.0.1:4000")
    return url.rstrip("/")


def checked_on_outage(word: OnOutage) -> OnOutage:
    if word not in steps.ON_OUTAGE:
        raise ConfigError(f"on_outage={word!r}: use deny, raise or pause; there is no fourth way, and none is a yes")
    return word


def checked_report(word: Report) -> Report:
    if word not in REPORTS:
        raise ConfigError(f"report={word!r}: use now or background")
    return word


def checked_on_denied(word: OnDenied) -> OnDenied:
    if word not in {"return", "raise"}:
        raise ConfigError(f"on_denied={word!r}: use return or raise")
    return word


class Body:
    """Reads the body of an answer in pieces. Raises `UnusableBody` if it is compressed or too long."""

    def __init__(self, response: httpx.Response, call: Send, sent: float, within: float):
        self._response, self._largest, self._sent, self._until = response, call.largest, sent, sent + within
        self._pieces: list[bytes] = []
        self._size = 0
        packed = response.headers.get("content-encoding", "identity").strip().lower()
        if packed not in {"", "identity"}:
            # A few kilobytes may unpack to gigabytes.
            raise UnusableBody(f"it is packed ({packed[:40]}), and nobody asked for that")

    def add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._largest:
            raise UnusableBody(f"it is longer than {self._largest // (1024 * 1024)} MiB")
        # A custom transport does not know the deadline.
        if time.monotonic() > self._until:
            raise TimeoutError
        self._pieces.append(piece)

    def reply(self) -> Reply:
        """The answer, as the core reads it."""
        headers = self._response.headers
        return Reply(
            self._response.status_code,
            headers.get("content-type", ""),
            wire.retry_after(headers.get("retry-after", "")),
            b"".join(self._pieces),
            self._sent,
        )


class UnusableBody(Exception):
    """An answer whose body cannot be used."""


def lost(error: Exception) -> NoAnswer:
    """The innermost cause of an error: "connection refused" rather than "all attempts failed"."""
    import httpx

    if isinstance(error, UnusableBody):
        return NoAnswer(str(error), final=True)
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return NoAnswer("it did not answer in time")
    cause: BaseException = error
    while cause.__cause__ or cause.__context__:
        cause = cause.__cause__ or cause.__context__  # type: ignore[assignment]
    return NoAnswer(str(cause) or str(error) or type(error).__name__)
