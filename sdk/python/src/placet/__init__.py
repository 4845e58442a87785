"""Placet holds what an AI agent is about to do until the right person has said yes.

import placet

@placet.gate(risk="high")
def delete_files(files: list[str]) -> str: ...

with placet.session("nightly-cleanup"):
    delete_files(["report.md"])     # waits for a person; runs once, or says why not
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import args, digest, errors, keys
    from .aio import AsyncClient
    from .blocking import Client
    from .covered import Coverage, coverage
    from .errors import (
        Answered,
        ApiError,
        BlockingCall,
        Cancelled,
        ConfigError,
        Conflict,
        Denied,
        Expired,
        Invalid,
        Lapsed,
        NotJson,
        NotRun,
        NotRunnable,
        OutcomeUnknown,
        PlacetError,
        Problem,
        ProtocolError,
        Refused,
        Revoked,
        StillPending,
        UnknownOutcome,
        Unreachable,
        WrongAnswer,
        WrongKey,
    )
    from .gating import gate
    from .held import AsyncHeld, Held, SyncHeld
    from .keys import Keys
    from .models import Call, Claim, Page, Record
    from .sessions import current_session, session
    from .waiting import Waiting
    from .words import Refusal

__version__ = "0.2.0"

# Modules are imported when they are used, so that `import placet` is cheap.
_HOMES = {
    "aio": ("AsyncClient",),
    "blocking": ("Client",),
    "covered": ("Coverage", "coverage"),
    "errors": (
        "Answered", "ApiError", "BlockingCall", "Cancelled", "ConfigError", "Conflict", "Denied", "Expired",
        "Invalid", "Lapsed", "NotJson", "NotRun", "NotRunnable", "OutcomeUnknown", "PlacetError", "Problem",
        "ProtocolError", "Refused", "Revoked", "StillPending", "UnknownOutcome", "Unreachable", "WrongAnswer",
        "WrongKey",
    ),
    "gating": ("gate",),
    "held": ("AsyncHeld", "Held", "SyncHeld"),
    "keys": ("Keys",),
    "models": ("Call", "Claim", "Page", "Record"),
    "sessions": ("current_session", "session"),
    "waiting": ("Waiting",),
    "words": ("Refusal",),
}  # fmt: skip
_HOME = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = {"args", "digest", "errors", "keys"}

__all__ = [
    "Answered", "ApiError", "AsyncClient", "AsyncHeld", "BlockingCall", "Call", "Cancelled", "Claim", "Client",
    "ConfigError", "Conflict", "Coverage", "Denied", "Expired", "Held", "Invalid", "Keys", "Lapsed", "NotJson",
    "NotRun", "NotRunnable", "OutcomeUnknown", "Page", "PlacetError", "Problem", "ProtocolError", "Record",
    "Refusal", "Refused", "Revoked", "StillPending", "SyncHeld", "UnknownOutcome", "Unreachable", "Waiting",
    "WrongAnswer", "WrongKey", "args", "coverage", "current_session", "digest", "errors", "gate", "keys", "session",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _HOME:
        found = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
