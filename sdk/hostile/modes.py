"""The lies, each with a name and one sentence. In every mode that is not a control, nothing may run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import broken
import records
from records import Json, approved, claimed, other_arguments, problem, sealed

Lie = Callable[[Any, int, Json], None]


@dataclass(frozen=True)
class Mode:
    """One lie. `lies` says at which answers: create, get, claim, report, stream."""

    name: str
    lie: str
    lies: dict[str, Lie] = field(default_factory=dict)
    waits: bool = False
    """The decision comes only after a wait."""
    decides: bool = True
    """Somebody decides at all."""
    edits: Callable[[Json], Json | None] = lambda _: None
    """The arguments of an edit, if that is the decision."""
    runs: int = 0
    """How often the call may run. More than zero only for the controls."""
    traits: frozenset[str] = frozenset()
    """`big`: memory is at stake. `slow`: time is. `transport`: no answer comes, so clients may try again."""

    def described(self) -> Json:
        return {"name": self.name, "lie": self.lie, "runs": self.runs, "traits": sorted(self.traits)}


MODES: dict[str, Mode] = {}


def mode(name: str, lie: str, traits: str = "", **more: Any) -> None:
    assert name not in MODES, name
    MODES[name] = Mode(name, lie, traits=frozenset(traits.split()), **more)


def saying(change: Callable[[Json], Json | None], status: int | None = None) -> Lie:
    """An answer with something changed in it: in place, or as a whole."""

    def lie(to: Any, usual: int, document: Json) -> None:
        # A shallow copy is not enough: what is kept must stay honest.
        copy = {**document, "decision": dict(document["decision"])} if document.get("decision") else dict(document)
        changed = change(copy)
        to.say(usual if status is None else status, copy if changed is None else changed)

    return lie


def about(name: str, lie: str, change: Callable[[Json], Json | None], **more: Any) -> None:
    """One lie told in two places: in the answer to the create, and in the answer to the wait."""
    mode(name, f"{lie}, in the answer to the create.", lies={"create": saying(change)}, **more)
    mode(f"{name}_after_wait", f"{lie}, in the answer to the wait.", waits=True, lies={"get": saying(change)}, **more)


def put(**fields: Any) -> Callable[[Json], None]:
    return lambda record: record.update(fields)


def drop(*names: str) -> Callable[[Json], None]:
    return lambda record: [record.pop(name, None) for name in names] and None


def decided(**fields: Any) -> Callable[[Json], None]:
    return lambda record: record["decision"].update(fields)


# Controls: an honest answer runs the call once, so that the rig is known to be able to fail.
mode("honest", "None: approved at once.", runs=1)
mode("honest_after_wait", "None: approved after a wait.", waits=True, runs=1)
mode("honest_edit", "None: approved with other arguments, after a wait.", waits=True, runs=1, edits=records.edited)
mode("report_refused", "The report of the run is answered with an error.", runs=1,
     lies={"report": lambda to, _, record: to.say(409, problem(409, "already_reported", record))})  # fmt: skip
mode("report_is_garbage", "The report of the run is answered with something that is no record.", runs=1,
     lies={"report": lambda to, *_: to.send(200, b"[1, 2")})  # fmt: skip

# About another call.
about("other_tool", "A request for another tool", lambda record: sealed({**record, "tool": "read_file"}))
about("other_arguments", "A request with other arguments",
      lambda record: sealed({**record, "arguments": other_arguments(record["arguments"])}))  # fmt: skip
about("other_kind", "A confirmation that was approved",
      lambda record: sealed({**record, "kind": "confirmation", "message": "Go on?"}))  # fmt: skip
about("other_kind_same_digest", "Another word for the kind, and everything else as asked", put(kind="plan"))
about("unknown_kind", "A kind that does not exist", put(kind="deed"))
about("no_kind", "A request without a kind", drop("kind"))
about("other_tool_same_digest", "The name of another tool, and everything else as asked", put(tool="read_file"))
mode("wait_about_another", "The wait is answered with another request, which is approved for the same call.",
     waits=True, lies={"get": saying(lambda record: sealed({**record, "id": records.new_id()}))})  # fmt: skip
mode("wait_about_another_id", "The wait is answered with the name of another request.",
     waits=True, lies={"get": saying(lambda record: {**record, "id": records.new_id()})})  # fmt: skip

# No yes.
about("no_decision", "Approved, and the decision is null", put(decision=None))
about("decision_missing", "Approved, and there is no decision", drop("decision"))
about("decision_deny", "Approved, and the decision is `deny`", decided(decision="deny"))
about("decision_respond", "Approved, and the decision is `respond`", decided(decision="respond"))
about("unknown_decision", "Approved, and the decision is a word that does not exist", decided(decision="yes"))
about("decision_in_capitals", "Approved, and the decision is `APPROVE`", decided(decision="APPROVE"))
about("decision_is_true", "Approved, and the decision is `true`", put(decision=True))
about("decision_is_a_word", "Approved, and the decision is the bare word `approve`", put(decision="approve"))
about("unknown_state", "A state that does not exist", put(state="granted"))
about("state_in_capitals", "The state `APPROVED`", put(state="APPROVED"))
about("state_is_a_number", "The state 1", put(state=1))
about("state_is_a_list", "The state as a list with one word", put(state=["approved"]))
about("no_state", "A request without a state", drop("state"))
about("used_before", "The call ran already, and here is a permit", put(state="succeeded", permit="prm_again"))
about("denied_with_permit", "Denied, and here is a permit", put(state="denied", permit="prm_all_the_same"))
about("expired_with_permit", "Expired, and here is a permit", put(state="expired", permit="prm_all_the_same"))
about("version_missing", "A request without a version", drop("version"))
about("version_is_text", "A version that is text", put(version="2"))

# Digests and edits.
about("digest_wrong", "Another digest than that of the request", put(digest="sha256:" + "a" * 64))
about("digest_missing", "A request without a digest", drop("digest"))
about("decision_digest_wrong", "A decision on something else, by its digest", decided(digest="sha256:" + "b" * 64))
about("decision_digest_missing", "A decision without a digest",
      lambda record: record["decision"].pop("digest") and None)  # fmt: skip
about("edit_not_in_digest", "An edit whose arguments are not those of its digest",
      lambda record: decided(decision="edit", arguments=other_arguments(record["arguments"]))(record))  # fmt: skip
about("edit_without_arguments", "An edit without arguments", decided(decision="edit"))
about("approved_with_arguments_same_digest", "A plain yes that carries other arguments, with the digest of ours",
      lambda record: decided(arguments=other_arguments(record["arguments"]))(record))  # fmt: skip
about("approved_with_arguments", "A plain yes that carries other arguments",
      lambda record: sealed({**record, "decision": {**record["decision"],
                                                    "arguments": other_arguments(record["arguments"])}}))  # fmt: skip

# Permits. They are told in the answer to the claim, so the decision comes after a wait.


def claim(name: str, lie: str, change: Callable[[Json], Json | None] | Lie, whole: bool = False) -> None:
    mode(name, lie, waits=True, lies={"claim": change if whole else saying(change)})  # type: ignore[arg-type, dict-item]


claim("permit_missing", "The claim is answered without a permit.", drop("permit"))
claim("permit_empty", "The permit is an empty text.", put(permit=""))
claim("permit_is_a_number", "The permit is a number.", put(permit=7))
claim("permit_null", "The permit is null.", put(permit=None))
claim("permit_of_another", "The permit is for another request, by its digest.", put(digest="sha256:" + "c" * 64))
claim("permit_without_digest", "The permit does not say what it is for.", drop("digest"))
claim("permit_without_arguments", "The permit comes without arguments.", drop("arguments"))
claim("permit_other_arguments", "The permit comes with arguments that nobody approved.",
      lambda found: {**found, "arguments": other_arguments(found["arguments"])})  # fmt: skip
claim("permit_twice", "Two permits in one object.",
      lambda to, _, found: to.send(200, broken.twice(found, "permit", "prm_other")), whole=True)  # fmt: skip
claim("claim_is_a_record", "The claim is answered with a request and no permit.",
      lambda _: approved(records.asked({"kind": "action", "session": "s", "tool": "x", "arguments": {}})))  # fmt: skip
claim("claim_204", "The claim is answered with success and no body.",
      lambda to, *_: to.raw(b"HTTP/1.1 204 No Content\r\n\r\n"), whole=True)  # fmt: skip
claim("claim_by_another", "The permit belongs to another claimant.",
      lambda to, *_: to.say(409, problem(409, "already_claimed")), whole=True)  # fmt: skip
claim("claim_by_another_says_approved", "The claim is refused, and the refusal shows an approved request.",
      lambda to, _, found: to.say(409, problem(409, "already_claimed", next(iter(to.run.requests.values())))),
      whole=True)  # fmt: skip
claim("claim_500_with_permit", "The claim fails with 500, and the body has a permit.",
      lambda to, _, found: to.say(500, {**problem(500, "broken"), **found}), whole=True)  # fmt: skip
claim("claim_404", "The request is gone when it is claimed.",
      lambda to, *_: to.say(404, problem(404, "not_found")), whole=True)  # fmt: skip
mode("claimed_by_another", "The request is claimed before it is asked for, by somebody else.",
     lies={"create": saying(lambda record: {**claimed(record), "permit": None}),
           "claim": lambda to, *_: to.say(409, problem(409, "already_claimed"))})  # fmt: skip
mode("claimed_without_permit", "Claimed, an empty permit, and the claim is refused.",
     lies={"create": saying(lambda record: {**claimed(record), "permit": ""}),
           "claim": lambda to, *_: to.say(409, problem(409, "already_claimed"))})  # fmt: skip

# The stream. Reads say that nobody has decided.


def stream(name: str, lie: str, change: Callable[[Json], Json], traits: str = "") -> None:
    def tell(to: Any, *_: Any) -> None:
        to.stream(*(broken.event(change(approved(one))) for one in to.run.requests.values()))

    mode(name, lie, traits, waits=True, decides=False,
         lies={"stream": tell, "claim": lambda to, _, found: to.say(200, found)})  # fmt: skip


stream("stream_other_tool", "An event shows our request approved for another tool.",
       lambda record: sealed({**record, "tool": "read_file"}))  # fmt: skip
stream("stream_other_arguments", "An event shows our request approved with other arguments.",
       lambda record: sealed({**record, "arguments": other_arguments(record["arguments"])}))  # fmt: skip
stream("stream_about_another", "An event shows another request approved, for the same call.",
       lambda record: sealed({**record, "id": records.new_id()}))  # fmt: skip
stream("stream_no_decision", "An event shows our request approved without a decision.",
       lambda record: {**record, "decision": None})  # fmt: skip
stream("stream_with_permit", "An event carries a permit, and the claim is refused.",
       lambda record: {**claimed(record), "permit": "prm_from_the_stream"})  # fmt: skip
stream("stream_unknown_state", "An event shows our request in a state that does not exist.",
       lambda record: {**record, "state": "granted"})  # fmt: skip
mode("stream_state_twice", "An event has the state twice.", waits=True, decides=False,
     lies={"stream": lambda to, *_: to.stream(*(
         broken.event_of(b'{"record":' + broken.twice(one, "state", "approved") + b"}")
         for one in map(approved, to.run.requests.values())))})  # fmt: skip
mode("stream_endless_line", "An event is a line without an end.", "big", waits=True, decides=False,
     lies={"stream": broken.endless_event})  # fmt: skip
mode("stream_endless_event", "An event has lines without an end.", "big", waits=True, decides=False,
     lies={"stream": broken.endless_lines})  # fmt: skip
mode("stream_slow_headers", "The headers of the stream come a byte at a time.", waits=True, decides=False,
     lies={"stream": broken.slow_headers})  # fmt: skip
mode("older_answer", "A cache answers every read with the request as it was before the decision.", waits=True,
     lies={"get": saying(lambda record: {**record, "state": "pending", "version": 1, "decision": None})})  # fmt: skip

# Statuses.


def status(name: str, lie: str, tell: Lie, traits: str = "") -> None:
    mode(name, lie, traits, lies={"create": tell})


for code in (300, 400, 403, 404, 409, 418, 422, 500):
    status(f"approved_with_{code}", f"An approved request, with the status {code}.",
           lambda to, _, record, code=code: to.send(code, broken.text(record)))  # fmt: skip
for code in (429, 502, 503):
    status(f"approved_with_{code}", f"An approved request, with the status {code}.",
           lambda to, _, record, code=code: to.send(code, broken.text(record)), "transport")  # fmt: skip
status("conflict_with_approval", "A conflict whose document shows an approved request with a permit.",
       lambda to, _, record: to.say(409, problem(409, "idempotency_key_reused", record)))  # fmt: skip
status("busy_for_ever", "Busy, and to be left alone for a year.",
       lambda to, *_: to.send(503, broken.text(problem(503, "busy")), "application/problem+json",
                              Retry_After="31536000"), "transport")  # fmt: skip
status("busy_in_a_strange_way", "Busy, and the time to be left alone is a superscript two.",
       lambda to, *_: to.send(503, broken.text(problem(503, "busy")), "application/problem+json", Retry_After="\xb2"),
       "transport")  # fmt: skip
status("no_content", "Success with 204 and no body.",
       lambda to, *_: to.raw(b"HTTP/1.1 204 No Content\r\n\r\n"))  # fmt: skip
status("empty", "Success with an empty body.", lambda to, *_: to.send(200, b""))
status("html", "A page for people, with success.",
       lambda to, *_: to.send(200, b"<html>approved</html>", "text/html"))  # fmt: skip
status(
    "html_called_json", "A page for people that is called JSON.", lambda to, *_: to.send(200, b"<html>approved</html>")
)
status(
    "redirect",
    "A redirect to another host, where everything is approved.",
    lambda to, *_: to.send(307, b"", Location=f"http://localhost:{to.server.server_port}/honest/stolen/v1/requests"),
)
status("see_other", "A redirect by 303.",
       lambda to, *_: to.send(303, b"", Location=f"{to.server.url}/honest/stolen/v1/requests"))  # fmt: skip


def only_first(to: Any, usual: int, record: Json) -> None:
    """401 for the first call; everything after it is approved."""
    if len(to.run.requests) == 1:
        return to.say(401, problem(401, "unauthorized"))
    return to.say(usual, record)


status("unauthorized_first", "The key is refused, and a second attempt would be approved.", only_first)

# What is no HTTP, or not all of it.
status("hangs_up", "No answer: the connection closes.", lambda to, *_: to.raw(), "transport")
status("no_http", "An answer that is no HTTP.", lambda to, *_: to.raw(b"approved\n\n"), "transport")
status("truncated", "The body breaks off in the middle.", broken.truncated, "transport")
status("length_too_long", "The header promises a longer body than there is.", broken.too_long, "transport")
status("length_too_short", "The header promises a shorter body, so that the JSON is cut.", broken.too_short)
status("chunked_garbage", "Chunks whose lengths are no numbers.", broken.chunked, "transport")
status("endless_headers", "Headers without an end.", broken.endless_headers, "big transport")
status("endless_header", "One header without an end.", broken.endless_header, "big transport")
status("endless_body", "A body without an end, announced as one.", broken.endless_body, "big")
status("endless_chunks", "Chunks without an end.", broken.endless_chunks, "big")
status("endless_problem", "An error with a document without an end.", broken.endless_problem, "big")
status("huge_list", "A body of millions of empty lists.", broken.huge_list, "big")
status("gzip_bomb", "An approved request behind a gigabyte of spaces, packed into a megabyte.", broken.gzip_bomb, "big")
status("slow_headers", "Headers that come a byte at a time.", broken.slow_headers, "slow transport")
status("slow_body", "A body of two bytes a second.", broken.slow_body, "slow transport")
status("informational", "Interim answers without an end.", broken.informational, "slow transport")
mode("slow_body_after_wait", "A wait whose answer comes at two bytes a second.", "slow transport", waits=True,
     lies={"get": broken.slow_body})  # fmt: skip
mode("slow_claim", "A claim whose answer comes at two bytes a second.", "slow transport", waits=True,
     lies={"claim": broken.slow_body})  # fmt: skip
mode("endless_body_after_wait", "A wait whose answer has no end.", "big", waits=True,
     lies={"get": broken.endless_body})  # fmt: skip
mode("endless_claim", "A claim whose answer has no end.", "big", waits=True, lies={"claim": broken.endless_body})

# JSON that two readers read differently.
for name, (lie, garble) in broken.JSON.items():

    def tell(to: Any, usual: int, record: Json, garble: Callable[[Json], bytes] = garble) -> None:
        to.send(usual, garble(record))

    mode(name, f"{lie}, in the answer to the create.", lies={"create": tell})
    mode(f"{name}_after_wait", f"{lie}, in the answer to the wait.", waits=True, lies={"get": tell})
