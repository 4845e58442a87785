/** The queue as the page holds it: one row per request, in the newest version that the server sent. */

import { learnClock } from "@/lib/time";
import { sentenceOf } from "./card";
import { ApiError, send } from "./client";
import type { RequestRecord, Row, RowPage } from "./extra";
import { originOf } from "./origin";

export interface QueueData {
  rows: ReadonlyMap<string, Row>;
  /** How many of them are pending. */
  pending: number;
  /** The event after which the stream must begin, so that no event is missed. */
  eventId: string;
  /** Whether every pending request is loaded; false while further pages load. */
  complete: boolean;
  /**
   * Requests that were decided before the page that lists them came, with their version: a page that was read earlier
   * must not bring them back as pending. Empty once the list is complete.
   */
  gone: ReadonlyMap<string, number>;
}

const NOBODY: ReadonlyMap<string, number> = new Map();

/** Decided rows that are kept, dimmed, so that nothing vanishes under the cursor. */
export const KEPT = 300;

/** Puts newer rows in place of older ones. New requests are added, decided ones stay. */
export function patchQueue(data: QueueData, news: readonly Row[], eventId?: string): QueueData {
  let rows: Map<string, Row> | null = null;
  let gone: Map<string, number> | null = null;
  for (const row of news) {
    const known = (rows ?? data.rows).get(row.id)?.version;
    if ((known ?? (gone ?? data.gone).get(row.id) ?? -1) >= row.version) continue;
    if (known === undefined && row.state !== "pending") {
      if (data.complete) continue;
      gone ??= new Map(data.gone);
      gone.set(row.id, row.version);
      continue;
    }
    rows ??= new Map(data.rows);
    rows.set(row.id, row);
  }
  if (!rows && !gone) return eventId && eventId !== data.eventId ? { ...data, eventId } : data;
  const next = { ...data, gone: gone ?? data.gone, eventId: eventId ?? data.eventId };
  return rows ? { ...next, rows: trimmed(rows), pending: countPending(rows) } : next;
}

/** Adds a further page; `last` says that it was the last one. */
export function addPage(data: QueueData, page: readonly Row[], last: boolean): QueueData {
  const next = patchQueue(data, page);
  return last ? { ...next, complete: true, gone: NOBODY } : next;
}

/** Drops the oldest of the decided rows where there are too many. */
function trimmed(rows: Map<string, Row>): Map<string, Row> {
  const decided = [...rows.values()].filter((row) => row.state !== "pending");
  if (decided.length > KEPT) {
    decided.sort((a, b) => when(a) - when(b));
    for (const row of decided.slice(0, decided.length - KEPT)) rows.delete(row.id);
  }
  return rows;
}

/** Forgets decided rows. */
export function withoutDecided(data: QueueData, keep: (row: Row) => boolean = () => false): QueueData {
  const rows = new Map([...data.rows].filter(([, row]) => row.state === "pending" || keep(row)));
  return rows.size === data.rows.size ? data : { ...data, rows };
}

function when(row: Row): number {
  return Date.parse(row.decided_at ?? row.expires_at);
}

function countPending(rows: ReadonlyMap<string, Row>): number {
  let count = 0;
  for (const row of rows.values()) if (row.state === "pending") count += 1;
  return count;
}

/** A new list from a page, keeping decided rows that were on screen. */
export function replaceQueue(before: QueueData | undefined, page: RowPage): QueueData {
  const rows = new Map<string, Row>();
  for (const row of before?.rows.values() ?? []) if (row.state !== "pending") rows.set(row.id, row);
  for (const row of page.items) rows.set(row.id, row);
  return {
    rows,
    pending: countPending(rows),
    eventId: page.event_id,
    complete: !page.next_cursor,
    gone: NOBODY,
  };
}

let rowsOffered = true;

/** Whether the server has `view=row`; without it rows are made from whole records. */
export function serverHasRows(): boolean {
  return rowsOffered;
}
export function serverHasNoRows(): void {
  rowsOffered = false;
}

/** The first page is short, so that the first rows are there soon; the others are as long as the server allows. */
const FIRST = 200;
const FURTHER = 1000;

export async function pendingPage(cursor: string | null, signal?: AbortSignal): Promise<RowPage> {
  if (rowsOffered) {
    try {
      return await page({ state: "pending", view: "row", limit: cursor ? FURTHER : FIRST, cursor }, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 422) throw error;
      rowsOffered = false;
    }
  }
  return page({ state: "pending", limit: cursor ? FURTHER / 2 : FIRST, cursor }, signal);
}

async function page(query: Record<string, string | number | null>, signal?: AbortSignal): Promise<RowPage> {
  const response = await send("/v1/requests", { query, signal });
  learnClock(response.headers.get("date"));
  const body = (await response.json()) as Omit<RowPage, "items"> & { items: (Row | RequestRecord)[] };
  return { ...body, items: body.items.map(toRow) };
}

/** A record as a row. */
export function toRow(item: Row | RequestRecord): Row {
  if (!("needs" in item)) return item;
  const lineage = item.context?.lineage;
  return {
    id: item.id,
    version: item.version,
    kind: item.kind,
    state: item.state,
    agent: item.agent,
    session: item.session,
    source: item.source ?? null,
    origin: originOf(item),
    tool: item.tool,
    risk: item.risk,
    view:
      item.view && !("digest" in item.view)
        ? item.view
        : { sentence: sentenceOf(item), hidden: item.display?.fields.length ?? 1 },
    effect: sentenceOf(item),
    group: item.group,
    same: item.same ?? null,
    shape: null,
    digest: item.digest,
    votes: votesOf(item),
    needs_step_up: item.needs.step_up !== null,
    warnings: item.display?.warnings?.length ?? 0,
    created_at: item.created_at,
    expires_at: item.expires_at,
    decided_at: item.decision?.at ?? null,
    decided_by: item.decision?.by ?? [],
    grant: item.decision?.grant ?? null,
    decision: item.decision?.decision ?? null,
    lineage: Array.isArray(lineage) ? lineage.filter((name): name is string => typeof name === "string") : [],
  };
}

/** The people whose approval counts for the current content. With four eyes, the author of a replacement does not count. */
export function approversOf(record: RequestRecord): string[] {
  const digest = record.proposal?.digest ?? record.digest;
  const barred = record.needs.four_eyes ? record.proposal?.by : undefined;
  return record.votes
    .filter((vote) => vote.vote !== "deny" && vote.digest === digest && vote.by !== barred)
    .map((vote) => vote.by);
}

/** The votes so far, and the fewest that are enough. */
export function votesOf(record: RequestRecord): { have: number; need: number } {
  const have = approversOf(record).length;
  const sums = record.needs.any.map((one) => one.all.reduce((sum, seat) => sum + seat.people, 0));
  return { have, need: sums.length ? Math.min(...sums) : 1 };
}
