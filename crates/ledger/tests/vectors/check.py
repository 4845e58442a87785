"""Holds json.json to what Python's own JSON parser says: every y_ document and every accepted one reads to the
canonical text given, every n_ document is refused."""

import base64
import json
import sys


def number(value):
    """A number as ECMAScript prints it; repr() finds the same shortest digits and lays them out otherwise."""
    if isinstance(value, int):
        return str(value)
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    rest = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"


def text(value):
    # json.dumps writes exactly the short escapes of RFC 8785, and DEL as itself when not bound to ASCII.
    return json.dumps(value, ensure_ascii=False)


def canonical(value):
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
    return "{" + ",".join(f"{text(key)}:{canonical(inner)}" for key, inner in members) + "}"


def refuse(word):
    raise ValueError(f"{word} is not JSON")


def read(document):
    return canonical(json.loads(document.decode("utf-8"), parse_constant=refuse))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    wrong = []
    for case in cases:
        name, verdict, form = case["name"], case["verdict"], case.get("canonical")
        parts = case.get("parts") or [{"base64": case["text_base64"], "times": 1}]
        document = b"".join(base64.b64decode(part["base64"]) * part["times"] for part in parts)
        try:
            found = read(document)
        except (ValueError, RecursionError):
            found = None
        if name.startswith("n_") and found is not None:
            wrong.append(f"{name}: accepted as {found[:80]}")
        if name.startswith("y_") and verdict != "ok":
            wrong.append(f"{name}: a y_ document must be accepted")
        if verdict == "ok" and (found is None or (form is not None and found != form)):
            wrong.append(f"{name}: {found and found[:80]} instead of {form and form[:80]}")
    print("\n".join(wrong) if wrong else f"{len(cases)} vectors agree")
    sys.exit(1 if wrong else 0)


main()
