"""The dialects in which a LangGraph interrupt asks for a person, and how each of them wants to be answered."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import keys
from ..core.hold import refusal
from ..errors import ConfigError, Refused
from ..held import Held
from ..models import Call, Record, duration
from . import _calls

SUMMARY = 8_000
"""How much of a description is sent along: the server takes a little more."""


class Dialect:
    """How a graph takes a yes, a no and an answer. `may` are the decisions of Placet that it can take."""

    may: tuple[str, ...] = ()

    def yes(self, held: Held) -> Any:
        raise NotImplementedError

    def no(self, held: Held) -> Any:
        """Its own no. A graph that has none is left where it is: nothing it could be told is one."""
        raise Refused(
            f"{held.tool or 'the request'}: {held.message} The graph has no word for that and stays paused"
            + (f" ({held.reason})" if held.reason else ""),
            held,
        )

    def answered(self, answer: Any, held: Held) -> Any:
        return self.no(held)

    def whole(self, answers: list[Any]) -> Any:
        """The resume value of the interrupt, made of the answers to all its questions."""
        return answers[0]


@dataclass(frozen=True)
class AgentInbox(Dialect):
    """`interrupt([HumanInterrupt])`, answered with a list of `{type, args}`: accept, edit, response, ignore."""

    action: str
    allows: frozenset[str]

    @property
    def may(self) -> tuple[str, ...]:  # type: ignore[override]
        words = {"accept": "approve", "edit": "edit", "respond": "respond"}
        return (*(word for theirs, word in words.items() if theirs in self.allows), "deny")

    def yes(self, held: Held) -> Any:
        if held.edited or "accept" not in self.allows:
            return {"type": "edit", "args": {"action": self.action, "args": held.arguments}}
        return {"type": "accept", "args": None}

    def no(self, held: Held) -> Any:
        if "ignore" in self.allows and held.status != "unknown":
            return {"type": "ignore", "args": None}
        if "respond" in self.allows:
            return {"type": "response", "args": _why(held)}
        return super().no(held)

    def answered(self, answer: Any, held: Held) -> Any:
        return {"type": "response", "args": _text(answer)}

    def whole(self, answers: list[Any]) -> Any:
        return answers


@dataclass(frozen=True)
class HumanInTheLoop(Dialect):
    """LangChain's own middleware: `{decisions: [...]}` for a batch, one decision for a single call."""

    name: str
    allows: frozenset[str]
    batched: bool

    @property
    def may(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*(word for word in ("approve", "edit", "respond") if word in self.allows), "deny")

    def yes(self, held: Held) -> Any:
        if held.edited or "approve" not in self.allows:
            return {"type": "edit", "edited_action": {"name": self.name, "args": held.arguments}}
        return {"type": "approve"}

    def no(self, held: Held) -> Any:
        if "reject" in self.allows:
            return {"type": "reject", "message": _why(held)}
        if "respond" in self.allows:
            return {"type": "respond", "message": _why(held)}
        return super().no(held)

    def answered(self, answer: Any, held: Held) -> Any:
        return {"type": "respond", "message": _text(answer)}

    def whole(self, answers: list[Any]) -> Any:
        return {"decisions": answers} if self.batched else answers[0]


class PlainDialect(Dialect):
    """`interrupt("How many?")`: a question, and the answer is the resume value. A no leaves the graph paused."""

    def answered(self, answer: Any, held: Held) -> Any:
        return answer


class PauseDialect(Dialect):
    """The pause of `PlacetMiddleware`, which reads the decision itself when it is resumed."""

    def no(self, held: Held) -> Any:
        return {"placet": held.request_id}

    yes = no


@dataclass
class Question:
    """One question of one interrupt: an action to decide on, a question to answer, or a request that exists."""

    interrupt: str
    index: int
    dialect: Dialect
    call: Call | None = None
    body: dict[str, Any] = field(default_factory=dict)
    key: str | None = None
    known: str | None = None
    node: str = ""
    nested: bool = False
    """A graph within the graph asks: it may be past the question while the outer one still shows it."""

    @property
    def what(self) -> str:
        return f"`{self.call.tool}`" if self.call is not None else "an answer"

    @property
    def place(self) -> tuple[str, int]:
        return self.interrupt, self.index

    def settled(self, record: Record) -> Any:
        """The answer to a request that ended without a permit for us."""
        return self.answer(Held(refusal(record), record.tool, record.id))

    def answer(self, held: Held) -> Any:
        if held.go:
            return self.dialect.yes(held)
        return self.dialect.answered(held.answer, held) if held.status == "answered" else self.dialect.no(held)


def questions(interrupt: Any, node: str, thread: str, app: str | None, options: Mapping[str, Any]) -> list[Question]:
    """What one interrupt asks. One that speaks no known dialect is an error: nothing is guessed."""
    asked = _InterruptContext(interrupt, node, thread, app, options)
    value = interrupt.value
    if isinstance(value, str):
        return [asked.question(0, PlainDialect(), value)]
    if isinstance(value, Mapping) and value.get("type") == "placet" and isinstance(value.get("request"), str):
        return [Question(interrupt.id, 0, PauseDialect(), known=value["request"])]
    if isinstance(value, Mapping) and value.get("type") == "tool_approval":
        return [_one_call(asked, value)]
    if isinstance(value, Mapping) and "action_requests" in value:
        return _batch(asked, value)
    items = value if isinstance(value, list) else [value]
    if items and all(isinstance(item, Mapping) and isinstance(item.get("action_request"), Mapping) for item in items):
        return [_inbox(asked, index, item) for index, item in enumerate(items)]
    raise ConfigError(
        f"node `{node}` interrupted with something the bridge cannot read ({type(value).__name__}); it reads "
        "[HumanInterrupt], the requests of HumanInTheLoopMiddleware, and text"
    )


@dataclass(frozen=True)
class _InterruptContext:
    """The context that all questions of one interrupt share."""

    interrupt: Any
    node: str
    thread: str
    app: str | None
    options: Mapping[str, Any]

    def action(
        self,
        index: int,
        dialect: Dialect,
        name: str,
        arguments: Any,
        description: Any,
        schema: dict[str, Any] | None = None,
    ) -> Question:
        if not isinstance(arguments, dict):
            raise ConfigError(f"node `{self.node}` asks for `{name}` with arguments that are no object")
        call = _calls.call(
            "langgraph",
            tool_name(name),
            arguments,
            _calls.CallPlace(self.thread, True),
            self._id(index, name, arguments),
            {"summary": _short(description), **self.options},
            app=self.app,
            context={
                "node": self.node,
                "interrupt": self.interrupt.id,
                "action": name if name != tool_name(name) else None,
            },
            schema=schema,
            # The items of one pause belong together on the reviewer's screen.
            group=f"{self.thread}/{self.interrupt.id}"[:200],
        )
        call.allowed = dialect.may
        return Question(self.interrupt.id, index, dialect, call)

    def question(self, index: int, dialect: Dialect, text: str) -> Question:
        body = {
            "kind": "input",
            "session": self.thread,
            "question": text,
            "input": {"type": "text"},
            "context": {"framework": "langgraph", "node": self.node, "interrupt": self.interrupt.id},
            "group": f"{self.thread}/{self.interrupt.id}"[:200],
            **self.options,
        }
        if "expires_in" in body:
            body["expires_in"] = duration(body["expires_in"])
        key = keys.strong("langgraph", self.app, self.thread, self._id(index, text))
        return Question(self.interrupt.id, index, dialect, body=body, key=key)

    def _id(self, index: int, *what: Any) -> str:
        """The name of one question. What it asks is part of it: before LangGraph 1.2.20 all interrupts of a step have
        one id, and the answer to the first is none to the second.
        """
        text = json.dumps(what, sort_keys=True, default=repr)
        return f"{self.interrupt.id}/{index}/{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _inbox(asked: _InterruptContext, index: int, item: Mapping[str, Any]) -> Question:
    request, config = item["action_request"], item.get("config") or {}
    action, arguments = str(request.get("action") or ""), request.get("args") or {}
    dialect = AgentInbox(
        action, frozenset(w for w in ("accept", "edit", "respond", "ignore") if config.get(f"allow_{w}") is True)
    )
    if not dialect.allows & {"accept", "edit"}:
        # Nothing is to be run: this is a question, and policy must not answer it.
        text = str(item.get("description") or "") or f"{action} {json.dumps(arguments, ensure_ascii=False)}"
        return asked.question(index, dialect, text)
    return asked.action(index, dialect, action, arguments, item.get("description"))


def _batch(asked: _InterruptContext, value: Mapping[str, Any]) -> list[Question]:
    reviews = {str(one["action_name"]): one for one in value.get("review_configs") or []}
    found = []
    for index, request in enumerate(value["action_requests"]):
        name = str(request["name"])
        allows = frozenset((reviews.get(name) or {}).get("allowed_decisions") or ())
        dialect = HumanInTheLoop(name, allows, batched=True)
        found.append(asked.action(index, dialect, name, request.get("args"), request.get("description")))
    return found


def _one_call(asked: _InterruptContext, value: Mapping[str, Any]) -> Question:
    allows, schema = _of_schema(asked.interrupt.response_schema)
    dialect = HumanInTheLoop(str(value["name"]), allows, batched=False)
    return asked.action(0, dialect, dialect.name, value.get("args"), value.get("description"), schema)


def _of_schema(schema: Any) -> tuple[frozenset[str], dict[str, Any] | None]:
    """The decisions a response schema allows, and what it wants edited arguments to look like."""
    if not isinstance(schema, Mapping):
        return frozenset(), None
    shared = dict(schema.get("$defs") or {})

    def at(part: Any) -> Mapping[str, Any]:
        reference = part.get("$ref") if isinstance(part, Mapping) else None
        return at(shared[reference.removeprefix("#/$defs/")]) if isinstance(reference, str) else part or {}

    allows, arguments = set(), None
    for branch in [at(part) for part in schema.get("oneOf") or schema.get("anyOf") or [schema]]:
        properties = branch.get("properties") or {}
        word = at(properties.get("type")).get("const")
        allows.add(str(word))
        if word == "edit":
            action = at(properties.get("edited_action"))
            arguments = _calls.closed(at((action.get("properties") or {}).get("args")))
            if "$ref" in json.dumps(arguments):
                arguments["$defs"] = shared
    return frozenset(allows), arguments


def tool_name(action: str) -> str:
    """The name of a tool that Placet takes; an action of agent-inbox may be any text."""
    return re.sub(r"[^A-Za-z0-9_./:-]+", "_", action)[:200] or "action"


def _why(held: Held) -> str:
    if held.status == "denied" and held.reason:
        return held.reason
    return f"{held.message} {held.reason}" if held.reason else held.message


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _short(text: Any) -> str | None:
    return str(text).encode("utf-8", "replace")[:SUMMARY].decode("utf-8", "ignore") if text else None
