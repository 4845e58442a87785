"""Attempts to get out. Each runs twice: confined, where it must have no effect, and free, where it must have one.

An attempt is a function of the bait. What it returns is evidence: text that may hold a secret, or True for something
done that must not be possible. Writes and connections are judged from outside, by the harness.
"""

import json, os, signal

from common import TABLE
from ways import WAYS  # noqa: F401
import reading, kernel  # noqa: F401


def main():
    bait = json.loads(os.environ["BAIT"])
    results = {}
    for name, kind, needs, function in TABLE:
        if not can(needs):
            continue
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            signal.alarm(20)
            try:
                found = function(bait)
                text = "did" if found is True else found if isinstance(found, str) else ""
            except BaseException as error:
                text = f"refused: {error!r}"
            try:
                os.write(writer, text.encode("utf-8", "replace")[-60000:])
            finally:
                os._exit(0)
        os.close(writer)
        parts = []
        # A child that stays behind holds the pipe: it closes it before it settles.
        while part := os.read(reader, 65536):
            parts.append(part)
        os.close(reader)
        os.waitpid(child, 0)
        results[name] = {"kind": kind, "said": b"".join(parts).decode("utf-8", "replace")}
    print(json.dumps(results))


def can(needs):
    """What an attempt needs to have an effect at all, on this machine; judged in the free run and handed on."""
    listed = os.environ.get("ATTEMPTS_NEEDS")
    if listed is not None:
        return needs in json.loads(listed)
    return True


if __name__ == "__main__":
    main()
