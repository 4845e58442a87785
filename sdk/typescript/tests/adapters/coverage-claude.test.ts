import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSdkMcpServer, type Options, tool } from "@anthropic-ai/claude-agent-sdk";
import { coverage } from "placet";
import { createGate } from "placet/claude";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { deny, Gateway } from "../../src/testing/index.js";
import { PROMPT, world } from "./claude-world.js";
import { fresh } from "./stage.js";

const files = () =>
  createSdkMcpServer({
    name: "files",
    tools: [tool("remove", "removes", { name: z.string() }, async () => ({ content: [] }))],
  });
const servers = () => ({ mcpServers: { files: files() } });

function stage(more: object = {}) {
  const session = fresh("coverage");
  const gateway = new Gateway({ decide: () => deny("no") });
  return { session, gateway, gate: createGate({ client: gateway.client(), session, ...more }) };
}

describe("Claude Agent SDK, what is not held", () => {
  test("options with which Claude Code calls no hooks are refused", () => {
    const { gate } = stage();
    const simple = { CLAUDE_CODE_SIMPLE: "1" };
    for (const [options, where] of [
      [{ extraArgs: { bare: null } }, "extraArgs.bare"],
      [{ extraArgs: { settings: "{}" } }, "extraArgs.settings"],
      [{ env: simple }, "CLAUDE_CODE_SIMPLE in env"],
      [{ settings: { env: simple } }, "CLAUDE_CODE_SIMPLE in settings.env"],
      [{ settings: JSON.stringify({ env: { CLAUDE_CODE_SIMPLE: "true" } }) }, "in settings.env"],
      [{ managedSettings: { env: simple } }, "in managedSettings.env"],
    ] as [Options, string][]) {
      expect(() => gate.options(options)).toThrow(`${where} (Claude Code then calls no hooks`);
      expect(() => stage({ uncovered: "allow" }).gate.options(options)).not.toThrow();
    }
    expect(() => gate.options({ settings: "/nowhere.json" } as Options)).toThrow(
      /settings .* cannot be read/,
    );
  });

  test("settings of the user that switch hooks off do not: a call is held all the same", async () => {
    const { session, gateway, gate } = stage();
    const told = new Map<string, string>();
    const args = { command: "echo ran", description: "Says something" };
    const { run, close, base } = await world({ [PROMPT]: [[{ id: session, tool: "Bash", args }]] }, told);
    const home = join(String(base.env?.HOME), ".claude");
    await mkdir(home, { recursive: true });
    await writeFile(join(home, "settings.json"), JSON.stringify({ env: { CLAUDE_CODE_SIMPLE: "1" } }));
    await run(gate.options<Options>({ settingSources: ["user"] }));
    await close();
    expect(gateway.requests.map(({ tool }) => tool)).toEqual(["Bash"]);
    expect(told.get(session)).toMatch(/denied/);
    expect(told.get(session)).not.toMatch(/^ran/);
  });

  test("a name in `only` that is no tool is refused, for tools of Claude Code and of MCP servers", () => {
    const wrong = (only: string[], options: object = servers()) => stage({ only }).gate.options(options);
    expect(() => wrong(["Bsh"])).toThrow(/only names Bsh, which is not among the tools.*Did you mean Bash/);
    expect(() => wrong(["bash"])).toThrow(/Did you mean Bash/);
    expect(() => wrong(["mcp__files__remov"])).toThrow(/Did you mean mcp__files__remove/);
    expect(() => wrong(["mcp__file__remove"])).toThrow(/Did you mean mcp__files__remove/);
    expect(() => wrong(["Write"], { tools: ["Read", "Bash"] })).toThrow(/only names Write/);
    expect(() => wrong(["Bash"], { disallowedTools: ["Bash"] })).toThrow(/only names Bash/);
    expect(() => wrong(["Bash", "mcp__files__remove"])).not.toThrow();
    const elsewhere = { mcpServers: { files: { type: "http", url: "http://127.0.0.1:9" } } };
    expect(() => wrong(["mcp__files__remove"], elsewhere)).toThrow(
      /is not known here: give `only` as a function/,
    );
    const aliases = { toolAliases: { Bash: "mcp__files__remove" }, ...servers() };
    expect(() => wrong(["Bash"], aliases)).toThrow(/name both in `only`/);
  });

  test("hooks by themselves refuse calls as long as a name is not known", async () => {
    const { gateway, gate } = stage({ only: ["Bsh"] });
    const hook = gate.hooks.PreToolUse?.[0]?.hooks[0];
    const input = { hook_event_name: "PreToolUse", session_id: "s", tool_name: "Read", tool_input: {} };
    const said = await hook?.(input as never, "call-1", { signal: new AbortController().signal });
    expect(said).toMatchObject({
      hookSpecificOutput: {
        permissionDecision: "deny",
        permissionDecisionReason: expect.stringContaining("only names Bsh"),
      },
    });
    const { behavior } = await gate.canUseTool(
      "Read",
      {},
      { signal: AbortSignal.timeout(60_000), toolUseID: "2" },
    );
    expect([behavior, gateway.requests]).toEqual(["deny", []]);
  });

  test("a tool with two names is held by either", async () => {
    const { gate } = stage({ only: ["Task"] });
    const held = await coverage(gate.options({}));
    expect(held.gated.map(({ name }) => name).sort()).toEqual(["Agent", "Task"]);
  });

  test("coverage says what hooks hold, and what canUseTool is not called for", async () => {
    const { gate } = stage();
    const all = await coverage(
      gate.options({ permissionMode: "bypassPermissions", ...servers() } as Options),
    );
    expect(all.complete).toBe(true);
    expect(all.gated.map(({ name }) => name)).toEqual(expect.arrayContaining(["Bash", "mcp__files__remove"]));
    const { canUseTool, reports } = gate;
    const some = await coverage({ canUseTool, hooks: reports, allowedTools: ["Bash(ls:*)"] });
    expect(some.gated).toEqual([]);
    expect(some.uncovered).toMatchObject([{ name: "Bash", why: expect.stringContaining("allowedTools") }]);
    const none = await coverage({ canUseTool, permissionMode: "bypassPermissions" });
    expect(none.uncovered.length).toBeGreaterThan(10);
    expect(() => gate.options({ canUseTool } as Options)).toThrow(/leave canUseTool out/);
  });

  test("canUseTool under bypassPermissions runs nothing", async () => {
    const { session, gateway, gate } = stage();
    const told = new Map<string, string>();
    const args = { command: "echo ran", description: "Says something" };
    const { run, close } = await world({ [PROMPT]: [[{ id: session, tool: "Bash", args }]] }, told);
    await run({ canUseTool: gate.canUseTool, hooks: gate.reports });
    await close();
    expect(gateway.requests).toEqual([]);
    expect(told.get(session)).toMatch(/canUseTool is not called, so nobody is asked/);
    expect(told.get(session)).not.toMatch(/^ran/);
  });

  test("an unknown option is an error", () => {
    expect(() => stage({ onOutage: "allow" })).toThrow(/createGate has no option "onOutage"/);
    expect(() => stage({ holdfor: "1s" })).toThrow(/did you mean "holdFor"/);
  });
});
