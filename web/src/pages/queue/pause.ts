/** Where a request comes from over A2A, and what else was asked in the same pause. Pure. */
import type { CardFlag } from "@/api/card";
import type { RequestRecord, Row } from "@/api/extra";
import { originOf, type WayIn } from "@/api/origin";

/** What the approval desk is called where other agents have a name. */
const DESK = "placet/desk";

/** The agent that a request came in through, as `namespace/agent`; null for any other door. */
export function viaOf(way: WayIn): string | null {
  const origin = originOf(way);
  return origin?.desk ? DESK : (origin?.agent ?? null);
}

/** Whether the agent runs behind the proxy, so that Placet itself wrote the context and hands on the answer. */
export function proxied(way: WayIn): boolean {
  return typeof originOf(way)?.agent === "string";
}

/** Whether a call came through a hook: its group is a whole turn, so only what waited at the same time belongs together. */
export function hooked(way: WayIn): boolean {
  return originOf(way)?.turn === true;
}

/** The text of a quoted value, without its quotes. */
export function bare(text: string): string {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}

export interface Lineage {
  via: string;
  /** Texts of the server's drawing, safe to show; null if it has none. */
  conversation: string | null;
  task: string | null;
  dialect: string | null;
  id: string | null;
  /** Which of the pause's items this is, from 1, and of how many. */
  item: number | null;
  items: number | null;
}

/** The lineage of a request that came in over A2A. */
export function lineageOf(record: RequestRecord): Lineage | null {
  const via = viaOf(record);
  if (via === null) return null;
  const field = (name: string) =>
    record.display?.fields.find((one) => one.pointer === `/context/a2a/${name}`)?.text ?? null;
  const text = (name: string) => {
    const value = field(name);
    return value === null || value === "null" ? null : bare(value);
  };
  const count = (name: string) => {
    const value = field(name);
    return value !== null && /^\d{1,6}$/.test(value) ? Number(value) : null;
  };
  const item = count("item");
  return {
    via,
    conversation: text("context"),
    task: text("task"),
    dialect: text("dialect"),
    id: text("id"),
    item: item === null ? null : item + 1,
    items: count("items"),
  };
}

/** Where the proxy writes its warnings. */
const NOTED = /^\/context\/warnings\/\d+$/;

/** What the proxy notes about the call. Any agent can write `warnings` into its context; only those of the proxy count. */
export function noted(record: RequestRecord): CardFlag[] {
  if (!proxied(record)) return [];
  const notes = (record.display?.fields ?? []).filter((field) => NOTED.test(field.pointer));
  return notes.map(({ pointer, text }) => ({ pointer, why: bare(text) }));
}

/** Why the decision could not be delivered to the agent behind the proxy; null if a tool reported the failure. */
export function lostOf(record: RequestRecord): string | null {
  if (record.state !== "failed" || !proxied(record)) return null;
  const lead = `${viaOf(record)}: upstream_lost: `;
  const note = record.outcome?.note ?? "";
  return note.startsWith(lead) ? note.slice(lead.length) : null;
}

/**
 * The items of one pause, in the order they were asked. `listed` is the server's answer for the group; newer rows of the
 * queue replace it. An agent chooses the name of a group, so agent, session and door must be equal as well. In a group of
 * a hook, only calls that waited at the same time belong together: they were asked at once.
 */
export function pauseOf(id: string, listed: readonly Row[], queue: Iterable<Row> = []): Row[] {
  const own = listed.find((row) => row.id === id);
  if (!own || own.group === null) return [];
  const together = (row: Row) =>
    row.group === own.group &&
    row.agent === own.agent &&
    row.session === own.session &&
    (row.source ?? null) === (own.source ?? null) &&
    (!hooked(own) || atOnce(row, own));
  const items = new Map<string, Row>();
  for (const row of [...listed, ...queue]) {
    if (together(row) && row.version > (items.get(row.id)?.version ?? 0)) items.set(row.id, row);
  }
  return [...items.values()].sort((a, b) => (moment(a) < moment(b) ? -1 : 1));
}

/** When it was asked, as text that sorts. Ids alone do not sort items of the same millisecond. */
function moment(row: Row): string {
  return `${sortable(row.created_at)} ${row.id}`;
}

/** A time as text that sorts. */
export function sortable(time: string): string {
  return time.replace(/(?:\.(\d+))?Z$/, (_, fraction = "") => `.${fraction.padEnd(9, "0")}`);
}

/** After every time. */
const OPEN = "~";

/** Until when it waited, as text that sorts. */
export function waitedUntil(row: Row): string {
  if (row.state === "pending") return OPEN;
  if (row.decided_at) return sortable(row.decided_at);
  // A withdrawn request has no time of its end.
  return sortable(row.state === "expired" ? row.expires_at : row.created_at);
}

function atOnce(a: Row, b: Row): boolean {
  return sortable(a.created_at) <= waitedUntil(b) && sortable(b.created_at) <= waitedUntil(a);
}
