"""Bytes that are no honest answer: what is no JSON, no HTTP, has no end, or takes for ever."""

from __future__ import annotations

import functools
import gzip
import json
from typing import Any

Json = dict[str, Any]

PIECE = b" " * 65536
DEEP = 100_000


def text(document: Json) -> bytes:
    return json.dumps(document).encode()


def twice(document: Json, key: str, first: Any, written: str | None = None) -> bytes:
    """The object with one key twice: first with another value, then with its own."""
    return b"{" + f'"{written or key}":{json.dumps(first)},'.encode() + text(document)[1:]


def event_of(data: bytes) -> bytes:
    return b"id: h.2\nevent: request.decided\ndata: " + data + b"\n\n"


def event(record: Json) -> bytes:
    return event_of(text({"id": "h.2", "type": "request.decided", "record": record}))


def _added(document: Json, raw: bytes) -> bytes:
    """One more member, written as it is."""
    return text(document)[:-1] + b"," + raw + b"}"


def _without(document: Json, name: str) -> Json:
    return {key: value for key, value in document.items() if key != name}


def _within(document: Json, name: str) -> bytes:
    """The first key of a member twice, with another value first."""
    inner = text(document[name])
    key = next(iter(document[name]))
    other = b"{" + json.dumps(key).encode() + b':"deny",' + inner[1:]
    return _added(_without(document, name), json.dumps(name).encode() + b":" + other)


JSON = {
    "state_twice": ("The state twice, `denied` first", lambda one: twice(one, "state", "denied")),
    "state_twice_escaped": ("The state twice, once with an escape",
                            lambda one: twice(one, "state", "denied", "st\\u0061te")),
    "decision_twice": ("The decision twice, null first", lambda one: twice(one, "decision", None)),
    "tool_twice": ("The tool twice", lambda one: twice(one, "tool", "read_file")),
    "arguments_twice": ("The arguments twice", lambda one: twice(one, "arguments", {})),
    "id_twice": ("The id twice", lambda one: twice(one, "id", "req_0698d3r3kvtg0i8s0c1g60o30c")),
    "decision_word_twice": ("The word of the decision twice, `deny` first", lambda one: _within(one, "decision")),
    "argument_twice": ("An argument twice", lambda one: _within(one, "arguments")),
    "unknown_key_twice": ("A key that nobody knows, twice", lambda one: _added(one, b'"more":1,"more":2')),
    "nan": ("NaN", lambda one: _added(one, b'"more":NaN')),
    "infinity": ("-Infinity", lambda one: _added(one, b'"more":-Infinity')),
    "deep": ("Lists within lists, a hundred thousand levels deep",
             lambda one: _added(one, b'"more":' + b"[" * DEEP + b"]" * DEEP)),
    "huge_number": ("A version of 1e400", lambda one: _added(_without(one, "version"), b'"version":1e400')),
    "huge_integer": ("A version with five thousand digits",
                     lambda one: _added(_without(one, "version"), b'"version":1' + b"0" * 5000)),
    "byte_order_mark": ("A byte-order mark before the object", lambda one: b"\xef\xbb\xbf" + text(one)),
    "utf16": ("The object in UTF-16", lambda one: json.dumps(one).encode("utf-16")),
    "trailing_object": ("A second object after the first", lambda one: text(one) + text(one)),
    "trailing_word": ("A word after the object", lambda one: text(one) + b" approved"),
    "trailing_comma": ("A comma before the last brace", lambda one: text(one)[:-1] + b",}"),
    "comment": ("A comment in the object", lambda one: b"{/* yes */" + text(one)[1:]),
    "invalid_utf8": ("Bytes that are no UTF-8",
                     lambda one: _added(_without(one, "summary"), b'"summary":"\xff\xfe"')),
    "overlong_utf8": ("A letter in an overlong form",
                      lambda one: _added(_without(one, "summary"), b'"summary":"\xc1\xa1"')),
    "lone_surrogate": ("Half of a surrogate pair",
                       lambda one: _added(_without(one, "summary"), b'"summary":"\\ud800"')),
    "control_character": ("A bare line end in a text",
                          lambda one: _added(_without(one, "summary"), b'"summary":"a\nb"')),
    "a_list": ("The request in a list", lambda one: b"[" + text(one) + b"]"),
    "a_string": ("The request as a text", lambda one: json.dumps(json.dumps(one)).encode()),
    "null": ("The word null", lambda _: b"null"),
    "cut": ("JSON that ends in the middle", lambda one: text(one)[:-40]),
}  # fmt: skip
"""Name, sentence, and what becomes of the request."""

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def _for_ever(to: Any, piece: bytes, pause: float = 0.0) -> None:
    """Until the client hangs up, which ends this thread."""
    while not to.server.over.wait(pause):
        to.raw(piece)


def truncated(to: Any, _: int, document: Json) -> None:
    body = text(document)
    to.raw(OK, f"Content-Length: {len(body)}\r\n\r\n".encode(), body[: len(body) // 2])


def too_long(to: Any, _: int, document: Json) -> None:
    body = text(document)
    to.raw(OK, f"Content-Length: {len(body) + 10}\r\n\r\n".encode(), body)


def too_short(to: Any, _: int, document: Json) -> None:
    body = text(document)
    to.raw(OK, f"Content-Length: {len(body) - 10}\r\n\r\n".encode(), body)


def chunked(to: Any, _: int, document: Json) -> None:
    to.raw(OK, b"Transfer-Encoding: chunked\r\n\r\n", b"yes\r\n", text(document), b"\r\n0\r\n\r\n")


def endless_headers(to: Any, *_: Any) -> None:
    to.raw(OK)
    _for_ever(to, b"X-More: " + b"a" * 4000 + b"\r\n")


def endless_header(to: Any, *_: Any) -> None:
    to.raw(OK, b"X-More: ")
    _for_ever(to, b"a" * 65536)


def endless_body(to: Any, *_: Any) -> None:
    to.raw(OK, b"\r\n")
    _for_ever(to, PIECE)


def endless_chunks(to: Any, *_: Any) -> None:
    to.raw(OK, b"Transfer-Encoding: chunked\r\n\r\n")
    _for_ever(to, b"10000\r\n" + PIECE + b"\r\n")


def endless_problem(to: Any, *_: Any) -> None:
    to.raw(b"HTTP/1.1 500 No\r\nContent-Type: application/problem+json\r\n\r\n")
    _for_ever(to, PIECE)


def huge_list(to: Any, *_: Any) -> None:
    to.raw(OK, b'\r\n{"id":[')
    _for_ever(to, b"[]," * 20_000)


@functools.lru_cache
def _bomb() -> bytes:
    # Members one after the other are one stream: packing a gigabyte at once would take long.
    return gzip.compress(b" " * (1 << 24), 1) * 64


def gzip_bomb(to: Any, _: int, document: Json) -> None:
    to.send(200, _bomb() + gzip.compress(text(document)), Content_Encoding="gzip")


def slow_headers(to: Any, *_: Any) -> None:
    to.raw(OK, b"X-Slow: ")
    _for_ever(to, b"a", 0.2)


def slow_body(to: Any, *_: Any) -> None:
    to.raw(OK, b"\r\n")
    _for_ever(to, b"  ", 1.0)


def informational(to: Any, *_: Any) -> None:
    _for_ever(to, b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.05)


def endless_event(to: Any, *_: Any) -> None:
    to.raw(OK.replace(b"application/json", b"text/event-stream"), b"\r\nretry: 1000\nid: h.1\n\ndata: ")
    _for_ever(to, b"a" * 65536)


def endless_lines(to: Any, *_: Any) -> None:
    to.raw(OK.replace(b"application/json", b"text/event-stream"), b"\r\nretry: 1000\nid: h.1\n\n")
    _for_ever(to, b"data: aaaaaaaa\n" * 4096)
