"""The real Claude Code, with all of its own questions switched off: only Placet stands in the way."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import textwrap

import pytest
from claude_agent_sdk import ClaudeAgentOptions, HookMatcher

import placet
from placet.adapters.claude import Gate
from support.docs import blocks, paste


def states(reviewer):
    return sorted(one.state for one in reviewer.client.list())


async def test_an_approved_command_runs_once_and_is_reported(scene, client, reviewer):
    scene.plan([scene.effect("one")])
    run = asyncio.create_task(scene.run(Gate(client).guard(scene.options())))
    request = await reviewer.anext()
    assert request.tool == "Bash"
    assert request.arguments == scene.effect("one")[1]
    assert request.context["framework"] == "claude-agent-sdk"
    assert scene.effects == []
    reviewer.decide(request, "approve")
    result = await run
    assert request.session == result.session_id
    assert scene.effects == ["one"]
    [after] = reviewer.client.list()
    assert after.state == "succeeded"
    assert after.outcome["result_digest"].startswith("sha256:")


async def test_a_denied_command_does_not_run_and_the_model_hears_why(scene, client, reviewer):
    scene.plan([scene.effect("one")])
    run = asyncio.create_task(scene.run(Gate(client).guard(scene.options())))
    await reviewer.adeny("the disk is full")
    await run
    assert scene.effects == []
    assert "the disk is full" in scene.model.told[0]


async def test_an_edited_command_runs_as_edited_and_the_model_is_told(scene, client, reviewer):
    scene.plan([scene.effect("one")])
    run = asyncio.create_task(scene.run(Gate(client).guard(scene.options())))
    await reviewer.aedit({"command": "echo two >> effects", "description": "Smaller"})
    await run
    assert scene.effects == ["two"]
    assert states(reviewer) == ["succeeded"]
    assert "echo two >> effects" in scene.model.everything


async def test_a_command_that_nobody_decides_on_does_not_run(scene, client, reviewer):
    scene.plan([scene.effect("one")])
    await scene.run(Gate(client, expires_in="1s").guard(scene.options()))
    assert scene.effects == []
    assert states(reviewer) == ["expired"]
    assert "Nobody decided in time" in scene.model.told[0]


async def test_a_hold_that_is_over_withdraws_the_request(scene, client, reviewer):
    scene.plan([scene.effect("one")])
    await scene.run(Gate(client, hold_for=1).guard(scene.options()))
    assert scene.effects == []
    assert states(reviewer) == ["cancelled"]


async def test_nothing_runs_while_placet_is_down(scene, client, server):
    server.stop()
    scene.plan([scene.effect("one")], [scene.effect("two")])
    await scene.run(Gate(client).guard(scene.options()))
    assert scene.effects == []
    assert all("nobody said no" in told for told in scene.model.told)
    assert len(scene.model.told) == 2


async def test_nothing_runs_with_a_wrong_key(scene, server):
    async with placet.AsyncClient(server.url, "plk_agent_wrong") as wrong:
        scene.plan([scene.effect("one")])
        await scene.run(Gate(wrong).guard(scene.options()))
    assert scene.effects == []
    assert "not run" in scene.model.told[0]


async def test_calls_of_one_turn_are_decided_one_by_one(scene, client, reviewer):
    scene.plan([scene.effect("one"), scene.effect("two"), scene.effect("three")])
    answers = {
        "one": ("approve", {}),
        "two": ("deny", {"reason": "no"}),
        "three": ("edit", {"arguments": scene.effect("four")[1]}),
    }
    with reviewer.always(lambda request: answers[request.arguments["command"].split()[1]]):
        await scene.run(Gate(client).guard(scene.options()))
    assert sorted(scene.effects) == ["four", "one"]
    assert states(reviewer) == ["denied", "succeeded", "succeeded"]


async def test_a_command_of_a_subagent_is_held_too(scene, client, reviewer):
    errand = {
        "description": "Help",
        "prompt": "Run the errand.",
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    scene.plan([("Agent", errand)], errand=([scene.effect("one")],))
    run = asyncio.create_task(scene.run(Gate(client, tools=["Bash"]).guard(scene.options())))
    request = await reviewer.anext()
    assert request.context["agent"] == "general-purpose"
    reviewer.decide(request, "deny", reason="not by a helper")
    await run
    assert scene.effects == []


async def test_a_failing_command_is_reported_as_failed(scene, client, reviewer):
    scene.plan([("Bash", {"command": "echo one >> effects; exit 3", "description": "Fails"})])
    with reviewer.always():
        await scene.run(Gate(client).guard(scene.options()))
    assert scene.effects == ["one"]
    [after] = reviewer.client.list()
    assert after.state == "failed"


async def test_calls_that_write_and_edit_files_are_reported_as_they_ran(scene, client, reviewer):
    file = scene.work / "note"
    change = {"file_path": str(file), "old_string": "one", "new_string": "two"}
    scene.plan(
        [("Write", {"file_path": str(file), "content": "one"})],
        [("Edit", change)],
        [("Read", {"file_path": str(file)})],
    )
    with reviewer.always():
        await scene.run(Gate(client).guard(scene.options()))
    assert file.read_text() == "two"
    assert states(reviewer) == ["succeeded", "succeeded", "succeeded"]


async def test_only_the_chosen_tools_are_held(scene, client, reviewer):
    scene.plan([scene.effect("free")], [("Write", {"file_path": str(scene.work / "note"), "content": "x"})])
    run = asyncio.create_task(scene.run(Gate(client, tools=["Write"]).guard(scene.options())))
    await reviewer.adeny(tool="Write")
    await run
    assert scene.effects == ["free"]
    assert not (scene.work / "note").exists()


async def test_a_when_that_fails_holds(scene, client, reviewer):
    def broken(tool, arguments):
        raise RuntimeError("oops")

    scene.plan([scene.effect("one")])
    run = asyncio.create_task(scene.run(Gate(client, when=broken).guard(scene.options())))
    await reviewer.adeny()
    await run
    assert scene.effects == []


async def test_another_hook_cannot_change_what_was_approved(scene, client, reviewer):
    async def meddles(given, tool_use_id, context):
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": scene.effect("unseen")[1]}}

    scene.plan([scene.effect("one")])
    with reviewer.always():
        options = scene.options(hooks={"PreToolUse": [HookMatcher(hooks=[meddles])]})
        await scene.run(Gate(client).guard(options))
    assert scene.effects == []


async def test_what_the_settings_of_claude_code_changed_is_not_reported_as_a_success(scene, client, reviewer):
    # A hook in a settings file is out of our reach, and Claude Code takes the last edit.
    answer = {"hookEventName": "PreToolUse", "updatedInput": {"command": "echo unseen >> effects"}}
    late = f"sleep 1\necho '{json.dumps({'hookSpecificOutput': answer})}'\n"
    settings = scene.work / ".claude"
    settings.mkdir()
    (settings / "late.sh").write_text(late)
    (settings / "settings.json").write_text(
        '{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "sh .claude/late.sh"}]}]}}'
    )
    scene.plan([scene.effect("one")])
    with reviewer.always():
        await scene.run(Gate(client).guard(scene.options(setting_sources=["project"])))
    [after] = reviewer.client.list()
    assert scene.effects == ["unseen"]
    assert after.state == "failed"
    assert "changed the arguments" in after.outcome["note"]


@pytest.mark.parametrize("word", ["approve", "edit", "deny"])
async def test_can_use_tool_asks_placet(scene, client, reviewer, word):
    scene.plan([scene.effect("one")])
    gate = Gate(client)
    options = scene.options(permission_mode="default", can_use_tool=gate.can_use_tool, hooks=gate.reports())
    more = {"approve": {}, "edit": {"arguments": scene.effect("two")[1]}, "deny": {"reason": "no"}}[word]
    with reviewer.always(word, **more):
        await scene.run(options)
    assert scene.effects == {"approve": ["one"], "edit": ["two"], "deny": []}[word]
    assert states(reviewer) == ["denied" if word == "deny" else "succeeded"]


async def test_can_use_tool_refuses_while_placet_is_down(scene, client, server):
    server.stop()
    scene.plan([scene.effect("one")])
    gate = Gate(client)
    await scene.run(scene.options(permission_mode="default", can_use_tool=gate.can_use_tool))
    assert scene.effects == []


async def test_nothing_runs_when_the_program_dies_while_a_call_is_held(scene, server, reviewer, tmp_path):
    scene.plan([scene.effect("one")])
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(f"""\
        import asyncio, placet
        from claude_agent_sdk import ClaudeAgentOptions, query
        from placet.adapters.claude import Gate

        async def main():
            free = {{"setting_sources": [], "permission_mode": "bypassPermissions"}}
            options = Gate(placet.AsyncClient()).guard(ClaudeAgentOptions(cwd={str(scene.work)!r}, **free))
            async for _ in query(prompt="Carry out the plan.", options=options):
                pass

        asyncio.run(main())
        """)
    )
    environment = {**os.environ, **scene.environment()}
    child = await asyncio.create_subprocess_exec(sys.executable, str(program), env=environment)
    try:
        request = await reviewer.anext()
    finally:
        child.kill()
        await child.wait()
    reviewer.decide(request, "approve")
    await asyncio.sleep(1)
    assert scene.effects == []
    assert states(reviewer) == ["approved"]
    # The next program takes the session up again. The call that was never answered does not run on the quiet.
    async with placet.AsyncClient() as client:
        run = asyncio.create_task(scene.run(Gate(client).guard(scene.options(resume=request.session))))
        with reviewer.always("deny", reason="asked anew"):
            await run
    assert scene.effects == []


async def test_without_our_care_a_failing_hook_lets_the_command_run(scene):
    """The twin of the tests above: what Claude Code does with a hook that fails, and nobody told it to block."""

    async def fails(given, tool_use_id, context):
        raise RuntimeError("no connection")

    scene.plan([scene.effect("one")])
    await scene.run(scene.options(hooks={"PreToolUse": [HookMatcher(hooks=[fails])]}))
    assert scene.effects == ["one"]


async def test_a_gate_that_breaks_inside_still_blocks(scene, client):
    class Broken(Gate):
        async def before(self, given, tool_use_id, context):
            raise RuntimeError("a mistake of ours")

    scene.plan([scene.effect("one")])
    await scene.run(Broken(client).guard(scene.options()))
    assert scene.effects == []


def test_words_and_times_that_do_not_exist_are_refused_at_once(monkeypatch):
    client = placet.AsyncClient("http://127.0.0.1:1", "plk_agent_x")
    with pytest.raises(placet.ConfigError, match="hold_for"):
        Gate(client, hold_for=0)
    with pytest.raises(placet.ConfigError, match="tools"):
        Gate(client, tools="Bash")


def test_hooks_that_are_there_stay(monkeypatch):
    client = placet.AsyncClient("http://127.0.0.1:1", "plk_agent_x")
    mine = HookMatcher(matcher="Bash", hooks=[], timeout=7)
    options = ClaudeAgentOptions(hooks={"PreToolUse": [mine], "Stop": [mine]})
    guarded = Gate(client).guard(options)
    assert guarded.hooks["PreToolUse"][0] == mine
    assert guarded.hooks["PreToolUse"][-1].on_failure == "block"
    assert guarded.hooks["Stop"] == [mine]
    assert options.hooks == {"PreToolUse": [mine], "Stop": [mine]}


async def test_the_lines_to_paste_hold_a_command(scene, server, reviewer, monkeypatch):
    first, *others = blocks("claude-agent-sdk.md")
    scene.plan([scene.effect("one")])
    scene.model.plan["Tidy up this folder."] = scene.model.plan.pop("Carry out the plan.")
    for name, value in scene.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(scene.work)
    with reviewer.always("deny", reason="no"):
        pasted = await paste(first)
    assert scene.effects == []
    assert states(reviewer) == ["denied"]
    for block in others:
        await paste(block, **pasted)
