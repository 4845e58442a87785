/** The live connection: events of the server patch the cache. */
import type { QueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { address } from "./client";
import type { RequestRecord, Row } from "./extra";
import { keys } from "./keys";
import { proved } from "./proof";
import {
  addPage,
  patchQueue,
  pendingPage,
  type QueueData,
  replaceQueue,
  serverHasNoRows,
  serverHasRows,
  toRow,
} from "./queue";
import { sseParser } from "./sse";

export interface LiveState {
  status: "off" | "connecting" | "open" | "lost";
  /** When the next attempt is made, in local milliseconds. */
  retryAt: number | null;
}

export interface LiveEvent {
  type: string;
  row: Row;
}

/** Longest silence before the connection counts as dead; the server speaks every 10 s. */
const SILENCE = 25_000;
/** Milliseconds between updates of the cache in a burst. A single event is applied at once. */
const FLUSH = 50;
const BACKOFF = [500, 1000, 2000, 4000, 8000, 15_000];

/** How long to wait after so many failures, with jitter. */
function pauseAfter(failures: number): number {
  return (BACKOFF[Math.min(failures, BACKOFF.length) - 1] ?? 15_000) * (0.8 + Math.random() * 0.4);
}

let state: LiveState = { status: "off", retryAt: null };
const watchers = new Set<() => void>();
const listeners = new Set<(events: LiveEvent[]) => void>();

function set(next: LiveState): void {
  state = next;
  for (const watcher of watchers) watcher();
}

export function useLive(): LiveState {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => state,
  );
}

/** Calls `listener` with every batch of events, until the returned function is called. */
export function onLiveEvents(listener: (events: LiveEvent[]) => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

/** The same for a component. */
export function useLiveEvents(listener: (events: LiveEvent[]) => void): void {
  useEffect(() => onLiveEvents(listener), [listener]);
}

let again: () => void = () => {};

/** Does not wait for the next attempt. */
export function retryNow(): void {
  again();
}

/** Loads the queue and follows it until the returned function is called. */
export function startLive(client: QueryClient, signedOut: () => void): () => void {
  let stopped = false;
  let failures = 0;
  let abort = new AbortController();
  let wake: (() => void) | null = null;
  let waiting: LiveEvent[] = [];
  let lastId: string | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let flushed = Number.NEGATIVE_INFINITY;
  /** Ends the reading of further pages when the list is begun anew. */
  let pages = new AbortController();
  let stale: ReturnType<typeof setTimeout> | null = null;

  again = () => {
    failures = 0;
    wake?.();
  };

  function flush(): void {
    timer = null;
    flushed = performance.now();
    const events = waiting;
    waiting = [];
    const rows = events.map((event) => event.row);
    const id = lastId ?? undefined;
    client.setQueryData<QueueData>(keys.queue, (data) => data && patchQueue(data, rows, id));
    const newest = new Map(rows.map((row) => [row.id, row]));
    for (const [id, row] of newest) {
      const shown = client.getQueryData<RequestRecord>(keys.request(id));
      if (shown && shown.version < row.version) {
        client.invalidateQueries({ queryKey: keys.request(id) });
        client.invalidateQueries({ queryKey: keys.requestHistory(id) });
      }
    }
    if (events.length > 0 && stale === null) {
      // Lists of the past are read again, but not for every event of a burst.
      stale = setTimeout(() => {
        stale = null;
        client.invalidateQueries({ queryKey: keys.requests });
      }, 1500);
    }
    for (const listener of listeners) listener(events);
  }

  function take(events: LiveEvent[], id: string | null): void {
    if (id) lastId = id;
    if (events.length === 0) return;
    waiting.push(...events);
    if (timer !== null) return;
    const wait = flushed + FLUSH - performance.now();
    if (wait <= 0) flush();
    else timer = setTimeout(flush, wait);
  }

  async function load(): Promise<string> {
    pages.abort();
    pages = new AbortController();
    const first = await pendingPage(null, abort.signal);
    client.setQueryData<QueueData>(keys.queue, (before) => replaceQueue(before, first));
    void rest(first.next_cursor ?? null, pages.signal);
    return first.event_id;
  }

  /**
   * Reads the further pages beside the stream, which began where the first page was read: what happens in between comes
   * by it. A page that fails is asked for again, so the list does not stay short.
   */
  async function rest(cursor: string | null, signal: AbortSignal): Promise<void> {
    let next = cursor;
    for (let attempt = 0; next && !signal.aborted; ) {
      try {
        const page = await pendingPage(next, signal);
        if (signal.aborted) return;
        next = page.next_cursor ?? null;
        attempt = 0;
        client.setQueryData<QueueData>(keys.queue, (data) => data && addPage(data, page.items, !next));
      } catch {
        await new Promise((resolve) => setTimeout(resolve, pauseAfter(++attempt)));
      }
    }
  }

  async function follow(from: string): Promise<"again" | "reset"> {
    const query = serverHasRows() ? { view: "row" } : undefined;
    const response = await proved(address("/v1/stream", query), {
      headers: { accept: "text/event-stream", "last-event-id": from },
      credentials: "same-origin",
      cache: "no-store",
      signal: abort.signal,
    });
    if (response.status === 422 && query) {
      serverHasNoRows();
      return "again";
    }
    if (response.status === 401) {
      signedOut();
      throw new Error("signed out");
    }
    if (!response.ok || !response.body) throw new Error(`stream: ${response.status}`);
    failures = 0;
    set({ status: "open", retryAt: null });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parse = sseParser();
    let silence = setTimeout(() => abort.abort(), SILENCE);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        clearTimeout(silence);
        if (done) return "again";
        silence = setTimeout(() => abort.abort(), SILENCE);
        const events: LiveEvent[] = [];
        let id: string | null = null;
        for (const item of parse(value)) {
          id = item.id ?? id;
          if (item.event === "reset") return "reset";
          if (!item.data) continue;
          const data = JSON.parse(item.data) as {
            record?: Row | RequestRecord;
            request?: Row | RequestRecord;
          };
          const request = data.request ?? data.record;
          if (request) events.push({ type: item.event, row: toRow(request) });
        }
        take(events, id);
      }
    } finally {
      clearTimeout(silence);
    }
  }

  async function run(): Promise<void> {
    while (!stopped) {
      abort = new AbortController();
      if (state.status !== "lost") set({ status: "connecting", retryAt: null });
      try {
        lastId ??= await load();
        if ((await follow(lastId)) === "reset") lastId = null;
        if (stopped) return;
        failures += 1;
      } catch {
        if (stopped) return;
        failures += 1;
      }
      if (failures === 0) continue;
      const pause = pauseAfter(failures);
      // The first retry is silent, because a restart of the server needs no warning.
      if (failures > 1) set({ status: "lost", retryAt: Date.now() + pause });
      await new Promise<void>((resolve) => {
        const wait = setTimeout(resolve, pause);
        wake = () => {
          clearTimeout(wait);
          resolve();
        };
      });
      wake = null;
    }
  }

  const online = () => again();
  const offline = () => {
    failures = 1;
    set({ status: "lost", retryAt: null });
    abort.abort();
  };
  const visible = () => {
    if (document.visibilityState === "visible" && state.status === "lost") again();
  };
  window.addEventListener("online", online);
  window.addEventListener("offline", offline);
  document.addEventListener("visibilitychange", visible);
  void run();

  return () => {
    stopped = true;
    abort.abort();
    pages.abort();
    wake?.();
    if (timer !== null) clearTimeout(timer);
    if (stale !== null) clearTimeout(stale);
    window.removeEventListener("online", online);
    window.removeEventListener("offline", offline);
    document.removeEventListener("visibilitychange", visible);
    set({ status: "off", retryAt: null });
  };
}
