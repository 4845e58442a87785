import { createSdkMcpServer, type Options, tool } from "@anthropic-ai/claude-agent-sdk";
import { createGate } from "placet/claude";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { PROMPT, world } from "./claude-world.js";
import { scenarios } from "./scenarios.js";
import {
  about,
  call,
  Effect,
  fresh,
  inSession,
  type ModelCall,
  onStage,
  type Play,
  type Told,
  type Tools,
  text,
} from "./stage.js";

const ERRAND = "Run the errand.";
const named = (name: string) => `mcp__files__${name}`;

const made = (tools: Tools) =>
  createSdkMcpServer({
    name: "files",
    alwaysLoad: true,
    tools: Object.entries(tools).map(([name, run]) =>
      tool(name, `does ${name}`, { files: z.array(z.string()) }, async (args) => ({
        content: [{ type: "text", text: text(run(args)) }],
      })),
    ),
  });

const script = (turns: ModelCall[][]) =>
  turns.map((calls) => calls.map((call) => ({ ...call, tool: named(call.tool) })));

async function run({ turns, tools, gate, signal }: Play): Promise<Told> {
  const told: Told = new Map();
  const { run, close } = await world({ [PROMPT]: script(turns) }, told);
  const abortController = new AbortController();
  signal?.addEventListener("abort", () => abortController.abort());
  try {
    await run(createGate(gate).options<Options>({ mcpServers: { files: made(tools) }, abortController }));
  } finally {
    await close();
  }
  return told;
}

/** A subagent, which Claude Code starts by a tool that is not held. */
async function nested({ turns, tools, gate }: Play): Promise<Told> {
  const told: Told = new Map();
  const input = {
    description: "Help",
    prompt: ERRAND,
    subagent_type: "general-purpose",
    run_in_background: false,
  };
  const delegate = [[{ id: fresh("delegate"), tool: "Agent", args: input }]];
  const { run, close } = await world({ [PROMPT]: delegate, [ERRAND]: script(turns) }, told);
  try {
    const held = createGate({ ...gate, only: (name) => name !== "Agent" });
    await run(held.options<Options>({ mcpServers: { files: made(tools) } }));
  } finally {
    await close();
  }
  return told;
}

scenarios({ name: "Claude Agent SDK, hooks", run, nested, named, sequential: true, untyped: true });

describe("Claude Agent SDK", () => {
  const stage = onStage();

  test("tools of Claude Code itself are held, and an edited command is the one that runs", async () => {
    const session = fresh("bash");
    const told: Told = new Map();
    const args = (command: string) => ({ command, description: "Says something" });
    const turns = [[{ id: `${session}-1`, tool: "Bash", args: args("echo wrong") }]];
    const { run, close } = await world({ [PROMPT]: turns }, told);
    const running = run(createGate(stage.gate(session)).options<Options>());
    await stage.ann.edit(args("echo right"), inSession(session));
    await running;
    await close();
    expect(told.get(`${session}-1`)).toMatch(/^right/);
    expect(told.get(`${session}-1`)).not.toMatch(/^wrong/);
    expect(await stage.states(session)).toEqual(["succeeded"]);
  });

  test("a command that fails is on record as failed", async () => {
    const session = fresh("bash-fails");
    const args = { command: "exit 3", description: "Fails" };
    const { run, close } = await world(
      { [PROMPT]: [[{ id: `${session}-1`, tool: "Bash", args }]] },
      new Map(),
    );
    const running = run(createGate(stage.gate(session)).options<Options>());
    await stage.ann.approve(inSession(session));
    await running;
    await close();
    expect(await stage.states(session)).toEqual(["failed"]);
  });

  test("the session is Claude Code's own where none is named, and subagents are in the lineage", async () => {
    const session = fresh("lineage");
    const effect = new Effect();
    const client = stage.server.agent();
    const running = nested({
      turns: [[call(session, 1, ["a.md"])]],
      tools: { delete_files: effect.run },
      gate: { client },
    });
    const asked = await stage.ann.pending((record) => record.context?.call_id === `${session}-1`);
    expect(asked.session).toMatch(/^[0-9a-f-]{36}$/);
    expect(asked.context).toMatchObject({ lineage: ["general-purpose", expect.any(String)] });
    await stage.ann.approve(asked.id);
    await running;
    expect(effect.ran).toHaveLength(1);
  });

  test("hooks of the program stay in place, and cannot open what is held", async () => {
    const session = fresh("hooks");
    const effect = new Effect();
    const seen: string[] = [];
    const { run, close } = await world({ [PROMPT]: script([[call(session, 1, ["a.md"])]]) }, new Map());
    const own: Options = {
      mcpServers: { files: made({ delete_files: effect.run }) },
      hooks: {
        PreToolUse: [
          {
            hooks: [
              async (input) => {
                seen.push(input.hook_event_name);
                return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow" } };
              },
            ],
          },
        ],
      },
    };
    const running = run(createGate(stage.gate(session)).options(own));
    await stage.ann.deny("no", inSession(session));
    await running;
    await close();
    expect(seen).toEqual(["PreToolUse"]);
    expect(effect.ran).toEqual([]);
  });

  test("canUseTool holds what Claude Code would ask about, and its outcome is reported", async () => {
    const session = fresh("can-use");
    const effect = new Effect();
    const told: Told = new Map();
    const turns = script([
      [call(session, 1, ["yes.md"]), call(session, 2, ["no.md"]), call(session, 3, ["other.md"])],
    ]);
    const { run, close } = await world({ [PROMPT]: turns }, told);
    const { canUseTool, reports } = createGate(stage.gate(session));
    const running = run({
      mcpServers: { files: made({ delete_files: effect.run }) },
      permissionMode: "default",
      allowDangerouslySkipPermissions: false,
      canUseTool,
      hooks: reports,
    });
    await stage.ann.approve(about(session, "yes.md"));
    await stage.ann.deny("not on a Friday", about(session, "no.md"));
    await stage.ann.edit({ files: ["edited.md"] }, about(session, "other.md"));
    await running;
    await close();
    expect(effect.ran).toEqual(expect.arrayContaining([{ files: ["yes.md"] }, { files: ["edited.md"] }]));
    expect(effect.ran).toHaveLength(2);
    expect(told.get(`${session}-2`)).toContain("not on a Friday");
    expect(told.get(`${session}-3`)).toMatch(/executed_arguments.*edited\.md/s);
    expect((await stage.states(session)).sort()).toEqual(["denied", "succeeded", "succeeded"]);
  });

  test("a hook of the program cannot change what was approved", async () => {
    const session = fresh("hook-edit");
    const effect = new Effect();
    const told: Told = new Map();
    const { run, close } = await world({ [PROMPT]: script([[call(session, 1, ["a.md"])]]) }, told);
    const edited = { permissionDecision: "allow" as const, updatedInput: { files: ["b.md"] } };
    const own: Options = {
      mcpServers: { files: made({ delete_files: effect.run }) },
      hooks: {
        PreToolUse: [
          { hooks: [async () => ({ hookSpecificOutput: { hookEventName: "PreToolUse", ...edited } })] },
        ],
      },
    };
    const running = run(createGate(stage.gate(session)).options(own));
    await stage.ann.approve(inSession(session));
    await running;
    await close();
    expect(effect.ran).toEqual([]);
    expect(told.get(`${session}-1`)).toContain("Another hook changed the arguments");
  });

  test("there is no pausing, which could let a call run before the hooks are known", () => {
    const options = stage.gate(fresh("pause"), { mode: "pause" });
    expect(() => createGate(options)).toThrow(/no mode "pause" for Claude/);
  });
});
