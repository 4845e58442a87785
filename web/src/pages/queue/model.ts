/** The order of the queue: what is urgent first, groups, filters. Pure. */
import { lineOf } from "@/api/card";
import type { Risk, Row } from "@/api/extra";
import { cardsOf } from "./cards";

export const RISKS: readonly Risk[] = ["low", "medium", "high", "critical"];

export function riskLevel(risk: Risk): number {
  return RISKS.indexOf(risk);
}

/** Nearest deadline first, then the higher risk, then the older. */
export function byUrgency(a: Row, b: Row): number {
  // RFC 3339 in UTC with the same number of digits sorts as text; others are read.
  const deadline = a.expires_at === b.expires_at ? 0 : time(a.expires_at) - time(b.expires_at);
  if (deadline !== 0) return deadline;
  const risk = riskLevel(b.risk) - riskLevel(a.risk);
  if (risk !== 0) return risk;
  if (a.created_at !== b.created_at) return time(a.created_at) - time(b.created_at);
  return a.id < b.id ? -1 : 1;
}

const times = new Map<string, number>();
function time(text: string): number {
  let value = times.get(text);
  if (value === undefined) {
    value = Date.parse(text);
    if (times.size > 50_000) times.clear();
    times.set(text, value);
  }
  return value;
}

export interface Filters {
  q?: string;
  risk?: string;
  kind?: string;
  agent?: string;
  tool?: string;
  session?: string;
}

/** Whether a row fits: `risk` is the least, words of `q` must all occur somewhere. */
export function matches(row: Row, filters: Filters): boolean {
  if (filters.risk && riskLevel(row.risk) < riskLevel(filters.risk as Risk)) return false;
  if (filters.kind && row.kind !== filters.kind) return false;
  if (filters.agent && row.agent !== filters.agent) return false;
  if (filters.tool && row.tool !== filters.tool) return false;
  if (filters.session && row.session !== filters.session) return false;
  if (!filters.q) return true;
  const text =
    `${row.id} ${row.agent} ${row.source ?? ""} ${row.tool ?? ""} ${row.session} ${lineOf(row).sentence} ${row.group ?? ""}`.toLowerCase();
  return filters.q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export function anyFilter(filters: Filters): boolean {
  return Boolean(
    filters.q || filters.risk || filters.kind || filters.agent || filters.tool || filters.session,
  );
}

export type Grouping = "none" | "session" | "same";
export interface GroupItem {
  type: "group";
  key: string;
  label: string;
  /** `pause`: what was asked at once, a card of its own wherever nothing else groups the list. */
  by: Exclude<Grouping, "none"> | "pause";
  rows: Row[];
  pending: number;
  risk: Risk;
  folded: boolean;
}
export interface RowItem {
  type: "row";
  key: string;
  row: Row;
  /** It is part of a card. */
  carded: boolean;
}
export type Item = GroupItem | RowItem;

type GroupHead = Pick<GroupItem, "key" | "label" | "by">;

function groupOf(row: Row, by: Exclude<Grouping, "none">): GroupHead {
  if (by === "session")
    return { by, key: `session:${row.agent}\n${row.session}`, label: `${row.agent} · ${row.session}` };
  return {
    by,
    key: `same:${row.kind}\n${row.tool ?? ""}\n${row.shape ?? ""}`,
    label: row.tool ?? row.kind,
  };
}

/**
 * Rows in order, under group heads where asked; groups in the order of their most urgent row. Where nothing is asked, what
 * an agent asked for at once stands together.
 */
export function arrange(rows: readonly Row[], by: Grouping, folded: ReadonlySet<string>): Item[] {
  const cards = by === "none" ? cardsOf(rows) : null;
  const headOf = (row: Row): GroupHead | null => {
    if (by !== "none") return groupOf(row, by);
    const key = cards?.get(row.id);
    return key === undefined ? null : { by: "pause", key, label: row.agent };
  };
  const groups = new Map<string, GroupItem>();
  const order: (GroupItem | RowItem)[] = [];
  for (const row of rows) {
    const head = headOf(row);
    if (!head) {
      order.push({ type: "row", key: row.id, row, carded: false });
      continue;
    }
    let group = groups.get(head.key);
    if (!group) {
      group = { type: "group", ...head, rows: [], pending: 0, risk: "low", folded: folded.has(head.key) };
      groups.set(head.key, group);
      order.push(group);
    }
    group.rows.push(row);
    if (row.state === "pending") {
      group.pending += 1;
      if (riskLevel(row.risk) > riskLevel(group.risk)) group.risk = row.risk;
    }
  }
  if (by === "same") tellApart([...groups.values()]);
  const out: Item[] = [];
  for (const item of order) {
    out.push(item);
    if (item.type === "row" || item.folded) continue;
    const carded = item.by === "pause";
    for (const row of item.rows) out.push({ type: "row", key: row.id, row, carded });
  }
  return out;
}

/** Names groups of one tool with different shapes by what their first row does as well. */
function tellApart(groups: readonly GroupItem[]): void {
  const times = new Map<string, number>();
  for (const { label } of groups) times.set(label, (times.get(label) ?? 0) + 1);
  for (const group of groups) {
    const [row] = group.rows;
    if (row && (times.get(group.label) ?? 0) > 1) group.label = `${group.label} · ${lineOf(row).sentence}`;
  }
}

/**
 * Rows in the order they had, new ones at the end: used while a pointer is over the list, so that nothing moves under
 * it.
 */
export function holdOrder(before: readonly string[], sorted: readonly Row[]): Row[] {
  const byId = new Map(sorted.map((row) => [row.id, row]));
  const out: Row[] = [];
  for (const id of before) {
    const row = byId.get(id);
    if (!row) continue;
    out.push(row);
    byId.delete(id);
  }
  for (const row of sorted) if (byId.has(row.id)) out.push(row);
  return out;
}

/** Where the cursor goes: heads of open groups are stepped over. */
export function move(items: readonly Item[], cursor: string | null, step: 1 | -1): string | null {
  const stops = (item: Item | undefined) => item && (item.type === "row" || item.folded);
  let at = items.findIndex((item) => item.key === cursor);
  if (at < 0) at = step === 1 ? -1 : items.length;
  for (let next = at + step; next >= 0 && next < items.length; next += step) {
    if (stops(items[next])) return items[next]?.key ?? null;
  }
  return cursor !== null && at >= 0 && at < items.length ? cursor : null;
}

export function first(items: readonly Item[]): string | null {
  return move(items, null, 1);
}
export function last(items: readonly Item[]): string | null {
  return move(items, null, -1);
}

/** Where the cursor goes when the row it is on was decided: the next pending one, else the one before. */
export function nextPending(items: readonly Item[], from: string): string | null {
  const at = items.findIndex((item) => item.key === from);
  const pending = (item: Item | undefined) => item?.type === "row" && item.row.state === "pending";
  for (let next = at + 1; next < items.length; next += 1)
    if (pending(items[next])) return items[next]?.key ?? null;
  for (let next = at - 1; next >= 0; next -= 1) if (pending(items[next])) return items[next]?.key ?? null;
  return null;
}

/** How many pending rows ask for the very same call. */
export function countSame(rows: Iterable<Row>): Map<string, number> {
  const out = new Map<string, number>();
  for (const row of rows) {
    if (row.same && row.state === "pending") out.set(row.same, (out.get(row.same) ?? 0) + 1);
  }
  return out;
}

/** Splits a batch for approval: what may be approved together, and what must be looked at alone. */
export function splitBatch(rows: readonly Row[]): { together: Row[]; alone: Row[] } {
  const together: Row[] = [];
  const alone: Row[] = [];
  for (const row of rows) {
    const fits = riskLevel(row.risk) < riskLevel("high") && !row.needs_step_up && row.kind !== "input";
    (fits ? together : alone).push(row);
  }
  return { together, alone };
}

export function highest(rows: readonly Row[]): Risk {
  return rows.reduce<Risk>((max, row) => (riskLevel(row.risk) > riskLevel(max) ? row.risk : max), "low");
}
