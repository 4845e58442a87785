"""google-adk: one function that asks before it runs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, get_type_hints, overload

import placet
from placet import args as arguments_of
from placet import errors

from . import _adk, _adk_seal
from ._adk import CallOrigin, logger

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from typing_extensions import Unpack

    from ..words import Decision, OnDenied, P, R, Refusal, Risk
    from ._adk_options import Gating, ToolOptions

from google.adk.tools.tool_context import ToolContext  # isort: skip (after _adk, which says what is missing)


@overload
def tool(  # type: ignore[overload-overlap]  # as in `words.Gating`
    fn: Callable[P, Coroutine[Any, Any, R]],
    *,
    client: placet.AsyncClient | None = None,
    **options: Unpack[ToolOptions],
) -> Callable[P, Coroutine[Any, Any, R | Refusal | dict[str, Any]]]: ...


@overload
def tool(
    fn: Callable[P, R], *, client: placet.AsyncClient | None = None, **options: Unpack[ToolOptions]
) -> Callable[P, Coroutine[Any, Any, R | Refusal | dict[str, Any]]]: ...


@overload
def tool(fn: None = None, *, client: placet.AsyncClient | None = None, **options: Unpack[ToolOptions]) -> Gating: ...


def tool(
    fn: Callable[..., Any] | None = None,
    *,
    client: placet.AsyncClient | None = None,
    risk: Risk | None = None,
    summary: Callable[[Any, dict[str, Any]], str | None] | None = None,
    allowed: Sequence[Decision] = ("approve", "edit", "deny"),
    expires_in: str | float | None = None,
    hold_for: float | None = None,
    on_denied: OnDenied | None = None,
) -> Any:
    """One function that asks before it runs: `tools=[tool(apply_credit)]`, or as a decorator.

    Always async, so that the wait never stops the event loop, which runs sync tools on its own thread. The approval
    stands right around the function: no callback of anybody comes between. `on_denied` as for `PlacetPlugin`.
    """
    _adk.checked_on_denied(on_denied)
    if fn is None:
        return functools.partial(
            tool, client=client, risk=risk, summary=summary, allowed=allowed, expires_in=expires_in, hold_for=hold_for,
            on_denied=on_denied,
        )  # fmt: skip
    asks = GatedFunction(fn, client if client is not None else placet.AsyncClient(), hold_for)
    asks.on_denied = on_denied
    asks.asking = _adk.GateSettings(None, risk, summary, allowed, expires_in)
    return asks.wrapper()


class GatedFunction:
    """A gated function. It looks like a tool to `GateSettings`."""

    asking: _adk.GateSettings
    on_denied: str | None = None

    def __init__(self, fn: Callable[..., Any], client: placet.AsyncClient, hold_for: float | None):
        if inspect.isasyncgenfunction(fn) or inspect.isgeneratorfunction(fn):
            raise errors.ConfigError(
                f"{fn.__name__} is a generator: it would run after the gate was passed; give it to the agent as it is, "
                "and let PlacetPlugin hold it"
            )
        self.func = fn
        self.name = fn.__name__
        self.client = client
        self.hold_for = hold_for
        self.signature = arguments_of.Signature(fn, hidden=("tool_context",))

    def wrapper(self) -> Callable[..., Any]:
        context_name = next(iter(self.signature.hidden), None)

        @functools.wraps(self.func)
        async def gated(*args: Any, **kwargs: Any) -> Any:
            tool_context = kwargs.get(context_name) if context_name else kwargs.pop("tool_context", None)
            place = self.place(tool_context, kwargs)
            travel, stay = self.signature.bind(args, kwargs)
            return await self.run(travel, stay, place)

        gated.__placet__ = self  # type: ignore[attr-defined]
        # ADK reads the types where it finds the wrapper, and there the names in the function's own file mean nothing.
        hints = self.hints()
        parameters = [
            one.replace(annotation=hints.get(name, one.annotation))
            for name, one in self.signature.whole.parameters.items()
        ]
        if context_name is None:
            # ADK hands the context to a parameter of this name and type, and never shows it to the model.
            extra = inspect.Parameter("tool_context", inspect.Parameter.KEYWORD_ONLY, annotation=ToolContext)
            open_ended = bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
            parameters.insert(len(parameters) - open_ended, extra)
            hints = {**hints, "tool_context": ToolContext}
        returns = hints.get("return", self.signature.whole.return_annotation)
        gated.__signature__ = self.signature.whole.replace(  # type: ignore[attr-defined]
            parameters=parameters, return_annotation=returns
        )
        gated.__annotations__ = {**getattr(self.func, "__annotations__", {}), **hints}
        return gated

    async def run(self, travel: dict[str, Any], stay: dict[str, Any], place: CallOrigin) -> Any:
        try:
            call = self.asking.call(self, _dumped(travel), place)
            call.accepts = self.misfit
            held = await self.client.hold(call, hold_for=self.hold_for)
        except Exception as error:
            logger.warning("%s was not run: %s", self.name, error)
            if _adk.raises(self.on_denied, place):
                raise
            return self.trouble(error)
        if not held.go:
            if _adk.raises(self.on_denied, place, held.status):
                held.raise_for_refusal()
            return self.refused(held)
        permit = _adk_seal.PermittedCall(held)
        try:
            chosen = self.revived(held.arguments) if held.edited else travel
            positional, keywords = self.signature.call(chosen, stay)
            result = self.func(*positional, **keywords)
            if inspect.isawaitable(result):
                result = await result
        except BaseException as error:
            await permit.gone(error)
            raise
        await permit.succeeded(result)
        return self.approved(held, result)

    def hints(self) -> dict[str, Any]:
        try:
            return get_type_hints(self.func, include_extras=True)
        except NameError:
            return {}  # named for type checkers only; ADK cannot make anything of those either

    def misfit(self, arguments: dict[str, Any]) -> str | None:
        """Why edited arguments cannot be given to the function, or nothing."""
        found = self.signature.misfit(arguments)
        if found is None:
            try:
                self.revived(arguments)
            except ValueError as error:
                return str(error)
        return found

    def revived(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments that came as JSON, as the types that the function names. ADK hands pydantic models to those that
        want them, so an edit does, too."""
        hints = self.hints()
        found = self.signature.coerced(arguments)
        return {name: _modelled(value, hints.get(name)) for name, value in found.items()}

    # What a caller gets to see. The community's decorator has other shapes.

    def place(self, tool_context: Any, kwargs: dict[str, Any]) -> CallOrigin:
        return _adk.where(tool_context)

    def approved(self, held: Any, result: Any) -> Any:
        return _adk_seal.with_note(held, result)

    def refused(self, held: Any) -> Any:
        return held.result()

    def trouble(self, error: Exception) -> Any:
        return _adk.not_run(self.name, error)


def _modelled(value: Any, hint: Any) -> Any:
    validate = getattr(hint, "model_validate", None) if isinstance(hint, type) else None
    return validate(value) if validate else value


def _dumped(travel: dict[str, Any]) -> dict[str, Any]:
    """What a person is shown of arguments that ADK made into models and members of enums."""
    return {
        name: value.model_dump(mode="json") if hasattr(value, "model_dump") else value
        for name, value in arguments_of.plain(travel).items()
    }
