"""Claude Agent SDK: misspelt names, and settings that switch hooks off, are refused before Claude Code starts."""

from __future__ import annotations

import json

import pytest
from claude_agent_sdk import ClaudeAgentOptions

import placet
from placet.adapters.claude import Gate


@pytest.mark.parametrize("tools", [["Bsh"], {"Bash": {"risk": "high"}, "Bsh": False}])
def test_a_misspelt_name_is_an_error_when_options_are_guarded(tools):
    with pytest.raises(placet.ConfigError, match="did you mean `Bash`"):
        Gate(tools=tools).guard(ClaudeAgentOptions())


def test_names_may_be_those_of_rules_agents_and_listed_mcp_servers():
    options = ClaudeAgentOptions(
        tools=["Bash", "Brandnew"], allowed_tools=["Fetch(x:*)"], mcp_servers={"bank": {}}, strict_mcp_config=True
    )
    Gate(tools=["Brandnew", "Fetch", "mcp__bank__pay"]).guard(options)
    with pytest.raises(placet.ConfigError, match="did you mean `mcp__bank__"):
        Gate(tools=["mcp__bnk__pay"]).guard(options)


async def test_until_a_named_tool_of_an_mcp_server_was_seen_all_tools_of_that_server_are_held(server, reviewer):
    gate = Gate(tools=["mcp__bank__pya"], hold_for=0.5)
    gate.guard(ClaudeAgentOptions())

    async def asks(tool):
        given = {"tool_name": tool, "tool_input": {"to": "bob"}, "session_id": "s1"}
        return (await gate.before(given, f"id-{tool}", None)).get("hookSpecificOutput", {}).get("permissionDecision")

    assert await asks("mcp__bank__pay") == "deny"
    assert await asks("mcp__files__read") is None
    assert await asks("Read") is None
    assert [one.tool for one in reviewer.client.list()] == ["mcp__bank__pay"]


@pytest.mark.parametrize("options", [
    {"risk": "hihg"}, {"on_outage": "alow"}, {"uncovered": "alow"}, {"allowed": ["aprove", "deny"]}, {"tols": ["Bash"]},
])  # fmt: skip
def test_unknown_words_and_options_are_errors(options):
    with pytest.raises(placet.ConfigError):
        Gate(**options)


def test_settings_that_switch_hooks_off_are_refused_unless_they_are_allowed(tmp_path):
    kept = tmp_path / "settings.json"
    kept.write_text(json.dumps({"disableAllHooks": True}))
    for settings in (kept.read_text(), str(kept)):
        options = ClaudeAgentOptions(settings=settings)
        with pytest.raises(placet.ConfigError, match="`disableAllHooks`"):
            Gate().guard(options)
        assert not placet.coverage(Gate(uncovered="allow").guard(options)).complete


@pytest.mark.parametrize(("options", "named"), [
    ({"env": {"CLAUDE_CODE_SIMPLE": "1"}}, "CLAUDE_CODE_SIMPLE"),
    ({"settings": '{"env": {"CLAUDE_CODE_SIMPLE": "true"}}'}, "CLAUDE_CODE_SIMPLE"),
    ({"extra_args": {"bare": None}}, "--bare"),
])  # fmt: skip
def test_the_simple_mode_that_calls_no_hooks_is_refused(options, named, monkeypatch):
    with pytest.raises(placet.ConfigError, match=f"`{named}`"):
        Gate().guard(ClaudeAgentOptions(**options))
    Gate().guard(ClaudeAgentOptions(env={"CLAUDE_CODE_SIMPLE": "0"}))
    monkeypatch.setenv("CLAUDE_CODE_SIMPLE", "1")
    with pytest.raises(placet.ConfigError, match="`CLAUDE_CODE_SIMPLE`"):
        Gate().guard(ClaudeAgentOptions())


def test_coverage_says_what_is_gated_what_is_not_and_why():
    options = ClaudeAgentOptions(tools=["Bash", "Read"], mcp_servers={"bank": {}}, permission_mode="bypassPermissions")
    found = placet.coverage(Gate(tools=["Bash"]).guard(options))
    assert [(one.name, one.status) for one in found.parts] == [
        ("Bash", "gated"), ("Read", "unasked"), ("bank", "gated"),
    ]  # fmt: skip
    assert [one.name for one in placet.coverage(options).uncovered] == ["Bash", "Read", "bank"]
    assert json.loads(json.dumps(found.as_dict()))["complete"] is True
