"""Requests that are not calls: a yes or no, a question, a plan. They have no permit; the decision is the end of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import args
from .errors import ConfigError
from .models import duration
from .sessions import current_session
from .words import QuestionStays as _Stays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from .words import QuestionOptions, Risk


def confirmation(
    message: str,
    details: str | None,
    confirm_label: str | None,
    cancel_label: str | None,
    **common: Unpack[QuestionOptions],
) -> dict[str, Any]:
    fields = {"message": message, "details": details, "confirm_label": confirm_label, "cancel_label": cancel_label}
    return _body("confirmation", fields, **common)


def question(
    question: str,
    type: str,
    options: Sequence[str] | None,
    min: float | None,
    max: float | None,
    required: bool,
    default: Any,
    **common: Unpack[QuestionOptions],
) -> dict[str, Any]:
    of_input = {"type": type, "options": None if options is None else list(options), "min": min, "max": max}
    fields = {
        "question": question,
        "input": {name: value for name, value in of_input.items() if value is not None},
        "required": required,
        "default": default,
    }
    return _body("input", fields, **common)


def plan(
    title: str,
    steps: Sequence[dict[str, Any]],
    can_modify: bool,
    estimated_duration: str | None,
    **common: Unpack[QuestionOptions],
) -> dict[str, Any]:
    fields = {
        "title": title,
        "steps": [dict(step) for step in steps],
        "can_modify": can_modify,
        "estimated_duration": estimated_duration,
    }
    return _body("plan", fields, **common)


def _body(
    kind: str,
    fields: dict[str, Any],
    session: str | None = None,
    summary: str | None = None,
    risk: Risk | None = None,
    context: dict[str, Any] | None = None,
    expires_in: str | float | None = None,
    on_behalf_of: str | None = None,
    group: str | None = None,
    **stays: Unpack[_Stays],
) -> dict[str, Any]:
    unknown = stays.keys() - _Stays.__annotations__.keys()
    if unknown:
        raise TypeError(f"`{min(unknown)}` is no option of a question")
    around = current_session()
    if session is None:
        if around is None:
            raise ConfigError('no session: pass session=, or ask inside `with placet.session("…"):`')
        session = around.id
    body = {
        "kind": kind,
        "session": session,
        **fields,
        "summary": summary,
        "risk": risk,
        "context": context if context is not None or around is None else around.context() or None,
        "expires_in": duration(expires_in),
        "on_behalf_of": on_behalf_of,
        "group": group,
    }
    return {name: value for name, value in body.items() if value is not None}


def checked(body: dict[str, Any]) -> dict[str, Any]:
    """The body, once it is known that JSON can carry it."""
    args.check_json(body)
    return body
