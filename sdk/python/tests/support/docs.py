"""What the documentation says to paste is pasted, and run."""

from __future__ import annotations

import ast
import inspect
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[4]
DOCS = ROOT / "docs/sdk"


def blocks(page: str) -> list[str]:
    """The Python of a page of docs/sdk, block by block."""
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.S)


def snippet(name: str) -> str:
    """The Python that the dashboard hands out to connect an agent of this kind."""
    every = json.loads((ROOT / "web/src/pages/connect/snippets.json").read_text())
    steps = next(each["steps"] for each in every if each["id"] == name)
    [code] = ["\n".join(step["code"]) for step in steps if step["language"] == "python"]
    return code


async def paste(code: str, **names: Any) -> dict[str, Any]:
    """Runs it, with `await` allowed everywhere. `names` is what the program around it has; what it has afterwards."""
    ready = compile(code, "<docs>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    program = dict(names)
    running = eval(ready, program)
    if inspect.isawaitable(running):
        await running
    return program


def paste_blocking(code: str, **names: Any) -> dict[str, Any]:
    """The same for programs without an event loop."""
    program = dict(names)
    exec(code, program)
    return program
