/**
 * Claude Agent SDK: hooks for `query({ options: gate.options({…}) })`. They run before Claude Code's own rules and in
 * every permission mode, subagents included. Nothing of the SDK is imported.
 */
import {
  BUILT_IN,
  type ClaudeOptions,
  claudeCoverage,
  keptOn,
  namesOf,
  rememberHolding,
  serverTools,
} from "../coverage/claude.js";
import { mark, marked } from "../coverage/report.js";
import { type Duration, milliseconds } from "../duration.js";
import { ConfigError } from "../errors.js";
import type { Held } from "../held.js";
import type { JsonObject } from "../wire.js";
import { type AdapterOptions, Gate, type Ruling, type ToolCall } from "./common.js";

export type { AdapterOptions } from "./common.js";

interface HookInput {
  hook_event_name: string;
  session_id: string;
  cwd?: string;
  agent_id?: string;
  agent_type?: string;
  permission_mode?: string;
  tool_name?: string;
  tool_input?: unknown;
  tool_response?: unknown;
  error?: string;
}
interface HookMatcher {
  matcher?: string;
  hooks: ((
    input: never,
    toolUseID: string | undefined,
    options: { signal: AbortSignal },
  ) => Promise<JsonObject>)[];
  timeout?: number;
  onFailure?: "continue" | "block";
}
type Hooks = { [event: string]: HookMatcher[] };

type Permission =
  | { behavior: "allow"; updatedInput: Record<string, unknown>; toolUseID?: string }
  | { behavior: "deny"; message: string; toolUseID?: string };

export interface ClaudeGate {
  /** For `query`: your options with our hooks in front of yours. */
  options<O extends object>(options?: O): O;
  /** The hooks by themselves. */
  hooks: Hooks;
  /**
   * In place of the hooks, for programs that hold only what Claude Code would ask about. It is not called for tools in
   * `allowedTools`, nor under `bypassPermissions`. Add `reports` to the hooks, or outcomes are never reported.
   */
  canUseTool(
    tool: string,
    input: Record<string, unknown>,
    options: { signal: AbortSignal; toolUseID: string; agentID?: string },
  ): Promise<Permission>;
  /** The hooks that go with `canUseTool`: they report what became of a call, and refuse calls under `bypassPermissions`. */
  reports: Hooks;
}

/** Claude Code blocks a call whose hook is late, and 60 seconds is not long for a person: about 23 days, in seconds. */
const PATIENT = 2_000_000;
const NO_PAUSE =
  'there is no mode "pause" for Claude: a program that resumes a session may carry out a call that was put off before it ' +
  "knows the hooks, and then nobody is asked; leave `mode` out, and calls wait";
const EDITED =
  "Another hook changed the arguments of this call. A person decides about what will run, so it was not run.";
const BYPASSED =
  "Under bypassPermissions canUseTool is not called, so nobody is asked. Use gate.options({…}), or pass " +
  'uncovered: "allow".';
/** How many calls may be running; the oldest is forgotten first, and its outcome stays unknown. */
const RUNNING = 10_000;

export function createGate(options: Omit<AdapterOptions, "mode"> = {}): ClaudeGate {
  if ((options as AdapterOptions).mode === "pause") throw new ConfigError(NO_PAUSE);
  const gate = new Gate("claude-agent-sdk", options);
  const holds = (tool: string) =>
    gate.only.names.length === 0 ? gate.holds(tool) : namesOf(tool).some((name) => gate.holds(name));
  /** Tools of Claude Code are known; which MCP servers there are is known when the options of a query were seen. */
  gate.only.see(...BUILT_IN);
  const running = new Map<string, Held>();
  /** Calls that were edited, and whose model does not know yet what runs: `canUseTool` has no words for that. */
  const untold = new WeakSet<Held>();
  const started = (callId: string | undefined, held: Held) => {
    if (callId === undefined) return;
    running.set(callId, held);
    if (running.size > RUNNING) running.delete(running.keys().next().value as string);
  };
  const ended = (callId: string | undefined): Held | undefined => {
    const held = running.get(callId ?? "");
    running.delete(callId ?? "");
    return held;
  };

  const before = async (input: HookInput, callId: string | undefined, signal: AbortSignal) => {
    const tool = input.tool_name ?? "";
    let ruling: Ruling;
    try {
      gate.only.check();
      if (!holds(tool)) return {};
      ruling = await gate.rule(described(input, callId, signal));
    } catch (error) {
      // A hook that throws is a hook that failed; said as a no, it is one in every version.
      return decision("deny", {
        permissionDecisionReason: error instanceof Error ? error.message : String(error),
      });
    }
    if (!ruling.go) return decision("deny", { permissionDecisionReason: JSON.stringify(ruling.result) });
    const { held } = ruling;
    started(callId, held);
    if (!held.edited) return decision("allow", {});
    return decision("allow", {
      updatedInput: held.arguments,
      additionalContext: JSON.stringify(held.note()),
    });
  };

  /** Claude Code runs these hooks side by side and takes the last edit: an edit of another hook is one nobody approved. */
  const unedited = (theirs: HookMatcher): HookMatcher => ({
    ...theirs,
    hooks: theirs.hooks.map((hook) => async (input: HookInput, callId, given) => {
      const said = await hook(input as never, callId, given);
      const more = said?.hookSpecificOutput as JsonObject | undefined;
      if (more?.updatedInput === undefined || !holds(input.tool_name ?? "")) return said;
      return decision("deny", { permissionDecisionReason: EDITED });
    }),
  });

  const after = async (input: HookInput, callId: string | undefined): Promise<JsonObject> => {
    const held = ended(callId);
    if (input.hook_event_name === "PostToolUseFailure") await held?.failed(input.error ?? "it failed");
    else await held?.succeeded(input.tool_response);
    if (held === undefined || !untold.has(held)) return {};
    const additionalContext = JSON.stringify(held.note());
    return { hookSpecificOutput: { hookEventName: input.hook_event_name, additionalContext } };
  };

  const outcomes: Hooks = { PostToolUse: [{ hooks: [after] }], PostToolUseFailure: [{ hooks: [after] }] };
  /** For `canUseTool`, which nobody calls in this mode. */
  const bypassed = async (input: HookInput) => {
    if (input.permission_mode !== "bypassPermissions" || options.uncovered === "allow") return {};
    return decision("deny", { permissionDecisionReason: BYPASSED });
  };
  const reports: Hooks = { PreToolUse: [{ hooks: [bypassed], onFailure: "block" }], ...outcomes };
  const timeout = patience(options.holdFor);
  const asks: HookMatcher["hooks"][number] = (input, callId, { signal }) => before(input, callId, signal);
  rememberHolding(mark(asks, "gated"), holds);
  const hooks: Hooks = { PreToolUse: [{ hooks: [asks], timeout, onFailure: "block" }], ...outcomes };
  const canUseTool: ClaudeGate["canUseTool"] = async (tool, input, { signal, toolUseID, agentID }) => {
    const context: JsonObject = agentID === undefined ? {} : { agent_id: agentID };
    let ruling: Ruling;
    try {
      gate.only.check();
      if (!holds(tool)) return { behavior: "allow", updatedInput: input, toolUseID };
      ruling = await gate.rule({ tool, arguments: input, callId: toolUseID, context, signal });
    } catch (error) {
      return { behavior: "deny", message: error instanceof Error ? error.message : String(error), toolUseID };
    }
    if (!ruling.go) return { behavior: "deny", message: JSON.stringify(ruling.result), toolUseID };
    started(toolUseID, ruling.held);
    if (ruling.held.edited) untold.add(ruling.held);
    return { behavior: "allow", updatedInput: ruling.held.arguments, toolUseID };
  };
  mark(canUseTool, "gated");
  return {
    hooks,
    reports,
    options(given) {
      checkQuery(gate, (given ?? {}) as ClaudeOptions);
      const own = ((given as { hooks?: object } | undefined)?.hooks ?? {}) as Hooks;
      const merged: Hooks = { ...own };
      for (const [event, ours] of Object.entries(hooks)) {
        const theirs = own[event] ?? [];
        merged[event] = [...ours, ...(event === "PreToolUse" ? theirs.map(unedited) : theirs)];
      }
      const held = { ...given, hooks: merged } as ClaudeOptions;
      gate.covers(claudeCoverage(held), "Take it out");
      return { ...held, settings: keptOn(held) } as object as NonNullable<typeof given>;
    },
    canUseTool,
  };
}

/** Refuses options with which a tool that `only` names would not be held. */
function checkQuery(gate: Gate, given: ClaudeOptions): void {
  if (marked(given.canUseTool) === "gated") {
    throw new ConfigError("gate.options and gate.canUseTool both ask about a call: leave canUseTool out");
  }
  const { toolAliases, mcpServers = {}, tools } = given;
  for (const [from, to] of Object.entries(toolAliases ?? {})) {
    if (gate.holds(from) === gate.holds(to)) continue;
    throw new ConfigError(
      `toolAliases makes ${to} of ${from}, and only one of them is held: name both in \`only\``,
    );
  }
  const theirs = Object.entries(mcpServers).map(([name, server]) => ({
    name,
    known: serverTools(name, server),
  }));
  for (const name of gate.only.names) {
    const elsewhere = theirs.find(
      (each) => each.known === undefined && name.startsWith(`mcp__${each.name}__`),
    );
    if (elsewhere === undefined) continue;
    throw new ConfigError(
      `only names ${name}, and which tools the MCP server ${elsewhere.name} has is not known here: give \`only\` as a function`,
    );
  }
  const own = Array.isArray(tools) ? (tools as string[]) : BUILT_IN;
  const all = [...own, ...theirs.flatMap(({ known }) => known ?? [])];
  gate.only.see(...all);
  gate.only.among(all.filter((tool) => !given.disallowedTools?.includes(tool)));
}

function described(input: HookInput, callId: string | undefined, signal: AbortSignal): ToolCall {
  const { cwd, agent_id, agent_type } = input;
  const context: JsonObject = {
    ...(cwd === undefined ? {} : { cwd }),
    ...(agent_id === undefined ? {} : { lineage: [agent_type ?? "subagent", agent_id] }),
  };
  return {
    tool: input.tool_name ?? "",
    arguments: input.tool_input,
    callId,
    session: input.session_id,
    context,
    signal,
  };
}

function decision(permissionDecision: "allow" | "deny", more: JsonObject): JsonObject {
  return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, ...more } };
}

/** Seconds: longer than we wait ourselves, so that it is we who say no. */
function patience(holdFor: Duration | undefined): number {
  if (holdFor === undefined) return PATIENT;
  return Math.min(PATIENT, Math.ceil(milliseconds(holdFor, "holdFor") / 1_000) + 120);
}
