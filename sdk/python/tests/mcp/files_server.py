"""A real MCP server over standard input and output. What it does leaves a line in the file named by EFFECTS."""

from __future__ import annotations

import os
import time
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("files")


def effect(line: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(line + "\n")


@server.tool()
def delete(path: str, force: bool = False) -> dict[str, str]:
    """Deletes a file."""
    effect(f"delete {path} {force}")
    return {"deleted": path}


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def read(path: str) -> str:
    """Reads a file, and says that this is all it does."""
    effect(f"read {path}")
    return f"contents of {path}"


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def wipe() -> str:
    """Deletes everything."""
    effect("wipe")
    return "gone"


@server.tool()
def broken(path: str) -> str:
    """Has an effect, and then fails."""
    effect(f"broken {path}")
    raise RuntimeError("the disk is on fire")


@server.tool()
def slow(path: str) -> str:
    """Takes longer than anybody waits."""
    effect(f"slow {path}")
    time.sleep(3)
    return "late"


if __name__ == "__main__":
    server.run("stdio")
