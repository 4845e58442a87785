"""Claude Agent SDK: tools of Claude Code wait for a person.

options = Gate().guard(ClaudeAgentOptions(...))
"""

from __future__ import annotations

import dataclasses
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from .. import digest, errors
from ..covered import Coverage
from . import _claude_cover, _names, _needs
from ._asking import GateSettings, Options, as_sentence, edited_note, unasked

_needs.check("claude", "claude")
try:
    from claude_agent_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny
except ImportError as error:
    raise _needs.unmet("claude", "claude", error) from error

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, ToolPermissionContext
    from typing_extensions import Unpack

    from ..client import AsyncClient, Client
    from ..held import AsyncHeld

__all__ = ["Gate"]

log = logging.getLogger("placet")

HOLD_FOR = 3600.0
LONGEST = 20 * 86_400.0
"""Claude Code keeps a hook's timeout in a timer that cannot run for 25 days."""
MARGIN = 120.0
"""How much later than ours the timeout of Claude Code comes: we say why, it could not."""
OPEN = 1000
"""Calls whose end is still to be told. One that Claude Code's own rules refuse after our yes never ends."""


class Gate:
    """Holds what Claude Code is about to do.

    `guard(options)` is the recommended way: a `PreToolUse` hook sees every call, also those that `allowed_tools`
    or `bypassPermissions` let pass. `can_use_tool` sees only what Claude Code would have asked about.

    A call is held for up to `hold_for` seconds. It is never deferred: Claude Code carries out a deferred call as soon
    as the session is resumed, sometimes before it knows the hooks of the program that resumes it.
    """

    def __init__(
        self, client: Client | AsyncClient | None = None, *, hold_for: float = HOLD_FOR, **options: Unpack[Options]
    ):
        if not 0 < hold_for <= LONGEST:
            raise errors.ConfigError(f"hold_for: {hold_for!r} must be more than 0 and at most {LONGEST:g} seconds")
        self._asking = GateSettings("claude-agent-sdk", client, hold_for, **options)
        self._hold_for = hold_for
        self._open: OrderedDict[tuple[str | None, str], AsyncHeld] = OrderedDict()

    def guard(self, options: ClaudeAgentOptions) -> ClaudeAgentOptions:
        """The same options with our hooks in them. Hooks that are there already stay, but may not edit arguments:
        Claude Code runs all hooks at once and takes the last edit, so that something unseen could run.

        A name in `tools` that Claude Code does not have is an error here, and so are settings that switch hooks off."""
        self._check(options)
        hooks: dict[Any, list[HookMatcher]] = {event: list(found) for event, found in (options.hooks or {}).items()}
        hooks["PreToolUse"] = [_without_edits(matcher) for matcher in hooks.get("PreToolUse", [])]
        hooks["PreToolUse"].append(
            HookMatcher(hooks=[self.before], timeout=self._hold_for + MARGIN, on_failure="block")
        )
        for event, found in self.reports().items():
            hooks[event] = [*hooks.get(event, []), *found]
        guarded = dataclasses.replace(options, hooks=hooks)
        self._asking.clients.report(_claude_cover.coverage(guarded, self))
        return guarded

    def _check(self, options: ClaudeAgentOptions) -> None:
        _names.refuse_uncovered(
            Coverage(_claude_cover.FRAMEWORK, "claude", tuple(_claude_cover.unseen(options))), self._asking.allowed
        )
        known, servers = _claude_cover.names(options), _claude_cover.servers(options)
        for option, name in self._asking.named.missing(known):
            server = _claude_cover.server_of(name)
            if server is None:
                raise _names.misspelt(option, name, known, "Claude Code")
            if servers is not None and server not in servers:
                raise _names.misspelt(option, name, {f"mcp__{one}__..." for one in servers}, "these MCP servers")

    def _doubtful(self, tool: str) -> bool:
        """Whether `tools` names a tool of the same MCP server that was never seen. It may be this one, misspelt."""
        server = _claude_cover.server_of(tool)
        missing = [name for _, name in self._asking.named.missing([tool])]
        return server is not None and any(_claude_cover.server_of(name) == server for name in missing)

    def reports(self) -> dict[Any, list[HookMatcher]]:
        """The hooks that say what became of a call; for `can_use_tool`, where `guard` is not used."""
        return {
            "PostToolUse": [HookMatcher(hooks=[self.after], timeout=MARGIN)],
            "PostToolUseFailure": [HookMatcher(hooks=[self.after], timeout=MARGIN)],
        }

    async def before(self, given: Any, tool_use_id: str | None, _: Any) -> dict[str, Any]:
        """The `PreToolUse` hook."""
        tool = "?"
        try:
            tool, arguments = given["tool_name"], given["tool_input"]
            options = self._asking.options(tool, arguments, always=self._doubtful(tool))
            if options is None:
                return {}
            session, call_id = given["session_id"], tool_use_id or given["tool_use_id"]
            context = {"cwd": given.get("cwd"), "agent": given.get("agent_type")}
            call = self._asking.call(tool, arguments, options, session=session, call_id=call_id, context=context)
            held = await self._asking.hold(call)
            if held.go:
                self._remember((session, call_id), held)
                # Always with the input: an edit of ours must run, and so must what was approved without one.
                return _decision("allow", updatedInput=held.arguments)
            return _decision("deny", permissionDecisionReason=as_sentence(held.result()))
        except Exception as error:
            return _decision("deny", permissionDecisionReason=as_sentence(unasked(tool, error)))

    async def can_use_tool(
        self, tool: str, arguments: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        """For `ClaudeAgentOptions(can_use_tool=gate.can_use_tool, hooks=gate.reports())`. Calls that are not chosen by
        `tools` are refused here: Claude Code has asked, and nobody else would answer."""
        try:
            options = self._asking.options(tool, arguments)
            if options is None:
                return PermissionResultDeny(message=f"{tool} is not among the tools that may be asked for.")
            call_id = context.tool_use_id
            held = await self._asking.hold(self._asking.call(tool, arguments, options, call_id=call_id))
            if not held.go:
                return PermissionResultDeny(message=as_sentence(held.result()))
            self._remember((None, call_id or ""), held)
            return PermissionResultAllow(updated_input=held.arguments)
        except Exception as error:
            return PermissionResultDeny(message=as_sentence(unasked(tool, error)))

    async def after(self, given: Any, tool_use_id: str | None, _: Any) -> dict[str, Any]:
        """The `PostToolUse` and `PostToolUseFailure` hook: reports, and tells the model of an edit."""
        try:
            call_id = tool_use_id or given["tool_use_id"]
            held = self._open.pop((given["session_id"], call_id), None) or self._open.pop((None, call_id), None)
            if held is None:
                return {}
            event = given["hook_event_name"]
            if digest.canonical(given["tool_input"]) != digest.canonical(held.arguments):
                log.error("%s ran with other arguments than were approved (%s)", held.tool, held.request_id)
                await held.failed("another hook of Claude Code changed the arguments after they were approved")
            elif event == "PostToolUseFailure":
                await held.failed(str(given.get("error", "")))
            else:
                await held.succeeded(given.get("tool_response"))
            if held.edited:
                return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": edited_note(held)}}
        except Exception:
            log.exception("what became of a call could not be reported")
        return {}

    def _remember(self, key: tuple[str | None, str], held: AsyncHeld) -> None:
        self._open[key] = held
        while len(self._open) > OPEN:
            self._open.popitem(last=False)


def _decision(word: str, **more: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": word, **more}}


def _without_edits(matcher: HookMatcher) -> HookMatcher:
    """The same hooks, except that an edit of theirs is a no."""

    def tamed(hook: Any) -> Any:
        async def run(given: Any, tool_use_id: str | None, context: Any) -> Any:
            answer = await hook(given, tool_use_id, context)
            specific = answer.get("hookSpecificOutput") if isinstance(answer, dict) else None
            if isinstance(specific, dict) and specific.get("updatedInput") is not None:
                why = "Another PreToolUse hook wants to edit what a reviewer is asked about; nothing was run."
                return _decision("deny", permissionDecisionReason=why)
            return answer

        return run

    return dataclasses.replace(matcher, hooks=[tamed(hook) for hook in matcher.hooks])
