"""`hitl_tool`, with the import surface and the outcomes of google-adk-community's decorator, over Placet's own wire.

    from placet.adapters.adk_community import hitl_tool     # was: google.adk_community.tools.hitl.gateway

    @hitl_tool(agent_name="credit_agent")
    async def apply_credit(account_id: str, amount: float) -> str: ...

What differs on purpose: edited arguments really run; a refusal is a result that the model can read (raised only with
`raise_on_denied=True`, as an exception ends an ADK run); arguments that are not JSON are refused and not turned into
text; a lost connection is not a lost request; and a restarted process finds its open request again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import placet
from placet import args as arguments_of

from . import _adk
from ._adk_function import GatedFunction

__all__ = ["hitl_tool"]

NO_NOTES = "No notes provided."
WORDS = {"denied": "REJECTED", "expired": "TIMED_OUT", "cancelled": "TIMED_OUT"}


class NotApproved(PermissionError):
    """Somebody, or policy, did not approve the call."""


def hitl_tool(
    agent_name: str,
    api_base: str | None = None,
    poll_interval: float | None = None,
    timeout: float = 300.0,
    *,
    raise_on_denied: bool = False,
    client: placet.AsyncClient | None = None,
    risk: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Asks before the function runs. Approved: `{"supervisor_decision": "APPROVED", "supervisor_notes",
    "action_result"}`. Not approved: the same with `REJECTED` and no `action_result`, or `PermissionError`.

    `api_base` is the URL of the Placet server (`PLACET_URL` unless given). `poll_interval` is taken and not needed:
    decisions arrive by themselves. `timeout` is how long a decision may take, in seconds; the server keeps it too.
    """
    del poll_interval
    asks = client if client is not None else placet.AsyncClient(url=api_base)

    def decorator(fn: Callable[..., Any]) -> Callable[..., Any]:
        function = _Community(fn, asks, None)
        function.asking = _adk.GateSettings(None, risk, None, ("approve", "edit", "deny"), timeout)
        function.agent_name = agent_name
        function.raise_on_denied = raise_on_denied
        function.timeout = timeout
        return function.wrapper()

    return decorator


class _Community(GatedFunction):
    agent_name: str
    raise_on_denied: bool
    timeout: float

    def place(self, tool_context: Any, kwargs: dict[str, Any]) -> _adk.CallOrigin:
        found = super().place(tool_context, kwargs)
        # The community's decorator is told the session by its caller, in these two.
        session, invocation = kwargs.pop("_session_id", None), kwargs.pop("_invocation_id", None)
        if not found.known and isinstance(session, str) and session:
            found = replace(found, session=session, known=True, invocation=invocation)
        return replace(found, agent=found.agent or self.agent_name)

    def approved(self, held: Any, result: Any) -> Any:
        return {
            "supervisor_decision": "APPROVED",
            "supervisor_notes": _notes(held),
            "action_result": result,
            **held.note(),
        }

    def refused(self, held: Any) -> Any:
        if self.raise_on_denied:
            if held.status in {"expired", "cancelled"}:
                raise TimeoutError(f"No decision received for '{self.name}' within {self.timeout:g}s.")
            held_by = "was rejected by a supervisor" if held.status == "denied" else f"was not approved ({held.status})"
            raise NotApproved(f"Tool '{self.name}' {held_by}. Notes: {_notes(held)}")
        return {
            "supervisor_decision": WORDS.get(held.status, held.status.upper()),
            "supervisor_notes": _notes(held),
            **held.result(),
        }

    def trouble(self, error: Exception) -> Any:
        if self.raise_on_denied:
            raise error
        return super().trouble(error)


def _notes(held: Any) -> str:
    decision = held.record.decision if held.record is not None else None
    return (decision or {}).get("reason") or held.reason or NO_NOTES


def _serialise_args(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What a person is shown: what runs. Arguments that are not JSON raise `NotJson` here instead of becoming text."""
    travel = arguments_of.bind(fn, args, kwargs)
    arguments_of.check_json(travel)
    return travel
