"""Claude Code itself, as the SDK brings it, in a world where only the model is a stand-in."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from claude.model import Model
from support import Reviewer

PROMPT = "Carry out the plan."
ERRAND = "Run the errand."


class Scene:
    """An empty home, a folder to work in, and a command that leaves one line for each time it ran."""

    def __init__(self, root: Path):
        self.home, self.work = root / "home", root / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.model: Model | None = None

    def plan(self, *turns: list[tuple[str, dict[str, Any]]], errand: tuple[list[Any], ...] = ()) -> None:
        """What the model will ask for, turn by turn, and what the model of a subagent will."""
        self.model = Model({PROMPT: list(turns), ERRAND: list(errand)})

    def effect(self, word: str) -> tuple[str, dict[str, Any]]:
        return "Bash", {"command": f"echo {word} >> effects", "description": "Has an effect"}

    @property
    def effects(self) -> list[str]:
        """What ran, in order: the one thing that counts."""
        file = self.work / "effects"
        return file.read_text().split() if file.exists() else []

    def environment(self) -> dict[str, str]:
        """Nothing of this machine's configuration gets in, and the only way out leads to the stand-in."""
        assert self.model is not None
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), self.model.url)
        return {
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",  # without it root may not bypass permissions
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            **proxies,
        }

    def options(self, **more: Any) -> ClaudeAgentOptions:
        """Every question of Claude Code's own is switched off: whatever does not run was held back by Placet."""
        settings = {"permission_mode": "bypassPermissions", "setting_sources": [], "cwd": self.work, **more}
        return ClaudeAgentOptions(env=self.environment(), **settings)

    async def run(self, options: ClaudeAgentOptions) -> ResultMessage:
        """The whole run of Claude Code, to its end."""

        async def whole() -> ResultMessage:
            async with ClaudeSDKClient(options) as claude:
                await claude.query(PROMPT)
                return [message async for message in claude.receive_response()][-1]

        return await asyncio.wait_for(whole(), 300)


@pytest.fixture
def scene(tmp_path):
    # Claude Code tells a Claude Code that runs inside it apart by its environment.
    for name in [name for name in os.environ if name.startswith(("CLAUDE", "ANTHROPIC"))]:
        os.environ.pop(name)
    made = Scene(tmp_path)
    yield made
    if made.model is not None:
        made.model.stop()
        assert made.model.surprises == [], "Claude Code tried to reach something else than its model"


@pytest.fixture
async def client(server):
    import placet

    async with placet.AsyncClient(outage_budget=1.0) as agent:
        yield agent


class Patient(Reviewer):
    """Waits longer: Claude Code takes its time to start on a busy machine."""

    def next(self, tool=None, within=120.0, **query):
        return super().next(tool, within, **query)

    def wait_for(self, count, within=120.0, **query):
        return super().wait_for(count, within, **query)


@pytest.fixture
def reviewer(server):
    with Patient(server.url, server.ann) as ann:
        yield ann
