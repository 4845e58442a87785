"""The first version of the MCP SDK, which CrewAI brings, has other names for the same things."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mcp.types import CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest

import placet
from mcp import ClientSession, StdioServerParameters, stdio_client
from placet.adapters.mcp import guard

SERVER = """
import sys
from pathlib import Path
from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

server = FastMCP("files")

@server.tool(annotations=ToolAnnotations(destructiveHint=True))
def delete(path: str) -> dict[str, str]:
    "Deletes a file."
    with Path(sys.argv[1]).open("a") as effects:
        effects.write(path + "\\n")
    if path == "fire":
        raise RuntimeError("the disk is on fire")
    return {"deleted": path}

server.run("stdio")
"""


async def test_a_session_of_version_1_is_held(reviewer, server, tmp_path: Path):
    program, effects = tmp_path / "server.py", tmp_path / "effects"
    program.write_text(SERVER)
    parameters = StdioServerParameters(command=sys.executable, args=[str(program), str(effects)])
    words = {
        "a": ("approve", {}),
        "b": ("deny", {"reason": "keep it"}),
        "c": ("edit", {"arguments": {"path": "d"}}),
        "fire": ("approve", {}),
    }
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as inner:
        await inner.initialize()
        session = guard(inner, tools=[])
        with reviewer.always(lambda request: words[request.arguments["path"]]):
            approved, denied, edited, failed = [await session.call_tool("delete", {"path": path}) for path in words]
        with pytest.raises(placet.Refused):
            call = CallToolRequest(params=CallToolRequestParams(name="delete", arguments={"path": "e"}))
            await session.send_request(ClientRequest(call), CallToolResult)
    assert effects.read_text().split() == ["a", "d", "fire"]
    assert approved.structuredContent == {"deleted": "a"}
    assert denied.isError
    assert denied.structuredContent["reason"] == "keep it"
    assert '"path": "d"' in edited.content[-1].text
    assert failed.isError
    records = reviewer.client.list()
    assert [one.state for one in records] == ["failed", "succeeded", "denied", "succeeded"]
    assert {one.risk for one in records} == {"high"}
