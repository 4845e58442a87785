"""MCP clients: calls of tools wait for a person, whatever agent or framework makes them.

async with ClientSession(read, write) as session:
    session = guard(session, server="files")
"""

from __future__ import annotations

import dataclasses
import inspect
import logging
from typing import TYPE_CHECKING, Any

from .. import errors
from ..models import RISKS
from . import _needs
from ._asking import CARRIES, UNEDITABLE, GateSettings, Options, as_text, edited_note, unasked

_needs.check("mcp", "mcp")
try:
    from mcp import types
except ImportError as error:
    raise _needs.unmet("mcp", "mcp", error) from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..client import AsyncClient, Client
    from ..held import AsyncHeld

__all__ = ["Guarded", "guard"]

log = logging.getLogger("placet")

IN_THE_DARK = {408, -32000, -32001}
"""Error codes of a call whose answer never came: timeouts of version 1 and 2, and a closed connection."""
AROUND = frozenset({"experimental"})
"""What a session has besides `call_tool` that calls tools."""
PAGES = 100
"""A listing that has more does not end, as far as we know."""


def guard(
    inner: Any,
    client: Client | AsyncClient | None = None,
    /,
    *,
    server: str | None = None,
    hold_for: float | None = None,
    **options: Unpack[Options],
) -> Guarded:
    """The same session, whose `call_tool` waits for a person.

    `inner` is an `mcp.ClientSession`, an `mcp.Client` or a `fastmcp.Client`. `server` is what people call the server:
    it stands before the names of its tools, so that policy can tell servers apart. `tools` and `when` choose which
    calls are held; a tool that its server calls destructive is held in any case.
    """
    if options.get("uncovered", "refuse") != "refuse":
        raise errors.ConfigError("uncovered means nothing here: a guarded session calls no tool out of sight")
    return Guarded(inner, GateSettings("mcp", client, hold_for, **options), server)


class Guarded:
    """Stands for a session: everything is as it was, except that tools are only called with a permit."""

    def __init__(self, inner: Any, asking: GateSettings, server: str | None):
        self._inner = inner
        self._asking = asking
        self._server = server
        self._listed: dict[str, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in AROUND or name.startswith("call_tool"):
            raise errors.Refused(f"`{name}` would call tools without asking; use `call_tool` of the guarded session")
        found = getattr(self._inner, name)
        # `mcp.Client` and `fastmcp.Client` show the session they use: a way around the guard.
        return Guarded(found, self._asking, self._server) if name == "session" else found

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None, *more: Any, **named: Any) -> Any:
        """Asks, and calls the tool with what was approved. A refusal is a result with `isError` and the reason."""
        if hasattr(self._inner, "call_tool_mcp"):
            # fastmcp: its own `call_tool` is `call_tool_mcp`, which is held, and some reading of the result.
            return await type(self._inner).call_tool(self, name, arguments, *more, **named)
        return await self._held(self._inner.call_tool, name, arguments, *more, **named)

    async def call_tool_mcp(self, name: str, arguments: dict[str, Any] | None = None, *more: Any, **named: Any) -> Any:
        """The same for `fastmcp.Client`, with the result as it came over the wire."""
        return await self._held(self._inner.call_tool_mcp, name, arguments, *more, **named)

    async def send_request(self, request: Any, *more: Any, **named: Any) -> Any:
        """Any other request. A call of a tool goes through `call_tool`."""
        if getattr(getattr(request, "root", request), "method", None) == "tools/call":
            raise errors.Refused("tools of a guarded session are called with `call_tool`, which asks for approval")
        return await self._inner.send_request(request, *more, **named)

    async def _held(self, run: Any, name: str, arguments: dict[str, Any] | None, *more: Any, **named: Any) -> Any:
        from ._mcp_cover import coverage

        given = {} if arguments is None else arguments
        try:
            tool = await self._tool(name)
            self._asking.named.check(self._listed or {}, self._server or "this server")
            self._asking.clients.report(coverage(self))
            options = self._asking.options(name, given, always=_destructive(tool))
        except _Unlisted as error:
            log.warning("the tools of %s cannot be listed (%s); %s is held", self._server or "the server", error, name)
            tool, options = None, self._asking.options(name, given, always=True)
        if options is None:
            return await run(name, arguments, *more, **named)
        try:
            held = await self._hold(name, given, tool, options)
        except errors.Unreachable:
            raise  # on_outage="raise" asks for it
        except Exception as error:
            return _refused(unasked(name, error))
        if not held.go:
            return _refused(held.result())
        return await _reported(held, run(name, held.arguments, *more, **named))

    async def _hold(self, name: str, arguments: dict[str, Any], tool: Any, options: dict[str, Any]) -> AsyncHeld:
        schema = _field(tool, "input_schema", "inputSchema")
        call = self._asking.call(
            f"{self._server}/{name}" if self._server else name,
            arguments,
            {**options, "risk": _at_least("high", options.get("risk"))} if _destructive(tool) else options,
            # Without a schema nobody can say whether an edit fits.
            carries=CARRIES if schema else UNEDITABLE,
            context={"server": self._server},
            schema=schema,
        )
        return await self._asking.hold(call)

    async def _tool(self, name: str) -> Any:
        """What the server says about a tool; None if it does not list it."""
        if self._listed is None or name not in self._listed:
            try:
                self._listed = {tool.name: tool for tool in await self._list()}
            except Exception as error:
                raise _Unlisted(f"{type(error).__name__}: {error}") from error
        return self._listed.get(name)

    async def _list(self) -> list[Any]:
        answer = await self._inner.list_tools()
        if isinstance(answer, list):
            return answer
        found = list(answer.tools)
        takes_params = "params" in inspect.signature(self._inner.list_tools).parameters
        for _ in range(PAGES):
            cursor = _field(answer, "next_cursor", "nextCursor")
            if not cursor:
                break
            page = {"params": types.PaginatedRequestParams(cursor=cursor)} if takes_params else {"cursor": cursor}
            answer = await self._inner.list_tools(**page)
            found += answer.tools
        else:
            raise RuntimeError(f"the listing has more than {PAGES} pages")
        return found


class _Unlisted(Exception):
    pass


def _destructive(tool: Any) -> bool:
    """What a server says of its tools can make things stricter, never looser: it may be mistaken, or lie."""
    return _field(_field(tool, "annotations"), "destructive_hint", "destructiveHint") is True


async def _reported(held: AsyncHeld, running: Any) -> Any:
    """Runs the call, reports what came of it, and tells of an edit."""
    try:
        result = await running
    except Exception as error:
        code = getattr(getattr(error, "error", error), "code", None)
        if isinstance(code, int) and code not in IN_THE_DARK:
            await held.failed(error)  # the server's own refusal
        else:
            # It may have run. Without a report the request ends `unknown`, which is the truth.
            log.warning(
                "no answer to %s (%s: %s); its outcome is unknown", held.request_id, type(error).__name__, error
            )
        raise
    if _field(result, "is_error", "isError"):
        await held.failed(_words(result))
    else:
        await held.succeeded(_json(result))
    return _with_note(result, edited_note(held)) if held.edited else result


def _refused(result: dict[str, Any]) -> types.CallToolResult:
    content: list[Any] = [types.TextContent(type="text", text=as_text(result))]
    return types.CallToolResult.model_validate(
        {"content": [part.model_dump() for part in content], "isError": True, "structuredContent": result}
    )


def _with_note(result: Any, note: str) -> Any:
    if not isinstance(result, types.CallToolResult):
        return result
    return result.model_copy(update={"content": [*result.content, types.TextContent(type="text", text=note)]})


def _words(result: Any) -> str:
    return "\n".join(part.text for part in result.content if getattr(part, "text", None)) or "the tool reports an error"


def _json(result: Any) -> Any:
    """The result as it is on the wire, for its digest."""
    if hasattr(result, "model_dump"):
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dataclasses.asdict(result) if dataclasses.is_dataclass(result) and not isinstance(result, type) else None


def _field(thing: Any, *names: str) -> Any:
    """A field by either of its names: the second version of the SDK writes them in snake case."""
    return next((getattr(thing, name) for name in names if hasattr(thing, name)), None)


def _at_least(floor: str, said: str | None) -> str:
    return said if said in RISKS and RISKS.index(said) > RISKS.index(floor) else floor
