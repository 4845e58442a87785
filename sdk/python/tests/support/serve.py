"""Serves an agent on this machine, and writes every effect of its tools into a file.

    python -c 'from support.serve import main; main()' MODULE PORT EFFECTS [--name NAME] [--remote URL]

`MODULE.app(name, url, remote)` makes the agent. Its address is said before the framework is imported, which takes
long: so agents who call each other can be started side by side.
"""

from __future__ import annotations

import argparse
import importlib
import json
import socket
from typing import Any

EFFECTS = ""


def effect(tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool of these agents does: a line in the file, and an answer."""
    with open(EFFECTS, "a") as file:
        file.write(json.dumps({"tool": tool, **arguments}) + "\n")
    return {"done": tool}


def main() -> None:
    global EFFECTS  # noqa: PLW0603 (tools are plain functions, and have nowhere else to look)
    words = argparse.ArgumentParser()
    words.add_argument("module")
    words.add_argument("port", type=int)
    words.add_argument("effects")
    words.add_argument("--name", default="ops")
    words.add_argument("--remote")
    given = words.parse_args()
    EFFECTS = given.effects
    listener = socket.create_server(("127.0.0.1", given.port))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    print(f"bound to {url}", flush=True)
    app = importlib.import_module(given.module).app(given.name, url, given.remote)

    import uvicorn

    print("serving", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
