/** Claude Agent SDK: the options of a `query`. */
import { ConfigError } from "../errors.js";
import { builtin, env } from "../runtime.js";
import { type Coverage, Findings, marked } from "./report.js";

interface Matcher {
  matcher?: string;
  hooks?: unknown[];
}
type Environment = Record<string, string | undefined>;
interface Settings {
  env?: Environment;
}
export interface ClaudeOptions {
  agent?: string;
  agents?: Record<string, unknown>;
  tools?: unknown;
  allowedTools?: string[];
  disallowedTools?: string[];
  toolAliases?: Record<string, string>;
  canUseTool?: unknown;
  permissionMode?: string;
  hooks?: Record<string, Matcher[]>;
  mcpServers?: Record<string, { type?: string; instance?: unknown }>;
  settings?: string | Settings;
  managedSettings?: Settings;
  env?: Environment;
  extraArgs?: Record<string, unknown>;
}

/** Tools of Claude Code itself, as of the version that the adapter is tested with. */
export const BUILT_IN = [
  ...["Agent", "AskUserQuestion", "Bash", "BashOutput", "CronCreate", "CronDelete", "CronList", "Edit"],
  ...[
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "Glob",
    "Grep",
    "KillShell",
    "ListAgents",
  ],
  ...["ListMcpResourcesTool", "LSP", "Monitor", "MultiEdit", "NotebookEdit", "PushNotification", "Read"],
  ...["ReadMcpResourceTool", "RemoteTrigger", "ReportFindings", "ScheduleWakeup", "SendMessage", "Skill"],
  ...["SlashCommand", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate"],
  ...["TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Workflow", "Write"],
];
/** Tools with several names: Claude Code lists one, and calls hooks with another. */
const SAME = [
  ["Agent", "Task"],
  ["TaskOutput", "BashOutput"],
  ["TaskStop", "KillShell"],
];

/** All names that a tool has. */
export function namesOf(tool: string): readonly string[] {
  return SAME.find((names) => names.includes(tool)) ?? [tool];
}

const KEYS = [
  "hooks",
  "canUseTool",
  "mcpServers",
  "permissionMode",
  "allowedTools",
  "settingSources",
  "cwd",
  "agents",
];

export function isClaudeOptions(value: object): value is ClaudeOptions {
  return KEYS.some((key) => key in value);
}

/** The names of an MCP server's tools as Claude Code knows them; nothing if the server is elsewhere. */
export function serverTools(name: string, server: { instance?: unknown } | undefined): string[] | undefined {
  const { _registeredTools: registered } = (server?.instance ?? {}) as { _registeredTools?: object };
  if (typeof registered !== "object" || registered === null) return undefined;
  return Object.keys(registered).map((tool) => `mcp__${name}__${tool}`);
}

/** The mode of Claude Code in which no hook is called. */
const SIMPLE = "CLAUDE_CODE_SIMPLE";

/** Settings that switch off all hooks, ours too. */
export function switchedOff(options: ClaudeOptions, settings = settingsOf(options)): string[] {
  const inherited = { [SIMPLE]: env(SIMPLE) };
  const places: [string, Environment | undefined][] = [
    [options.env ? "env" : "the environment", options.env ?? inherited],
    ["settings.env", settings.env],
    ["managedSettings.env", options.managedSettings?.env],
  ];
  return [
    ...places
      .filter(([, each]) => !["", "0", "false", "no", "off"].includes(each?.[SIMPLE]?.toLowerCase() ?? ""))
      .map(([where]) => `${SIMPLE} in ${where}`),
    ...Object.keys(options.extraArgs ?? {})
      .filter((name) => ["bare", "settings"].includes(name))
      .map((name) => `extraArgs.${name}`),
  ];
}

/** Inline settings win over those of a user's home, which can switch hooks off too. */
export function keptOn(options: ClaudeOptions): Settings {
  const settings = settingsOf(options);
  return { ...settings, env: { ...settings.env, [SIMPLE]: settings.env?.[SIMPLE] ?? "0" } };
}

/** The settings of a query as an object: they may be text, or the path of a file. */
function settingsOf({ settings = {} }: ClaudeOptions): Settings {
  if (typeof settings !== "string") return settings;
  try {
    const fs = builtin<{ readFileSync(path: string, encoding: string): string }>("node:fs");
    const text = settings.trimStart().startsWith("{") ? settings : fs?.readFileSync(settings, "utf8");
    return JSON.parse(text ?? "") as Settings;
  } catch (error) {
    throw new ConfigError(`the settings of the query cannot be read: ${(error as Error).message}`);
  }
}

/** Whether the gate that made these hooks holds a tool. */
const holding = new WeakMap<object, (tool: string) => boolean>();

export function rememberHolding(hook: object, holds: (tool: string) => boolean): void {
  holding.set(hook, holds);
}

export function claudeCoverage(options: ClaudeOptions): Coverage {
  const found = new Findings("claude-agent-sdk", options.agent ?? "query");
  const ours = (options.hooks?.PreToolUse ?? [])
    .filter(({ matcher }) => matcher === undefined)
    .flatMap(({ hooks = [] }) => hooks)
    .find((hook) => marked(hook) === "gated");
  const holds = ours === undefined ? undefined : holding.get(ours as object);
  const off = switchedOff(options);
  for (const where of off)
    found.misses(where, "settings", "Claude Code then calls no hooks, and hooks hold the calls");
  const names = new Set([...BUILT_IN, ...(Array.isArray(options.tools) ? (options.tools as string[]) : [])]);
  const servers = Object.entries(options.mcpServers ?? {});
  const known = servers.flatMap(([name, server]) => serverTools(name, server) ?? [`mcp__${name}__*`]);
  const bypass = options.permissionMode === "bypassPermissions";
  for (const tool of [...names, ...known]) {
    if (Array.isArray(options.tools) && !tool.startsWith("mcp__") && !options.tools.includes(tool)) continue;
    if (options.disallowedTools?.includes(tool)) continue;
    if (ours !== undefined && off.length === 0) {
      if (holds?.(tool) !== false) found.holds(tool);
      else found.misses(tool, "tool", "left out by `only`", { chosen: true });
    } else if (marked(options.canUseTool) === "gated" && !bypass) {
      const rule = options.allowedTools?.find((each) => each === tool || each.startsWith(`${tool}(`));
      if (rule) found.misses(tool, "tool", "it is in allowedTools, and canUseTool is not called for it");
      else
        found.misses(tool, "tool", "canUseTool is called only where Claude Code would ask", { chosen: true });
    } else found.misses(tool, "tool", "the options did not go through gate.options({…})");
  }
  return found.report();
}
