/** Decisions that are sent after five seconds, so that they can be undone. A closed page sends none. */
import { useSyncExternalStore } from "react";

export const WINDOW = 5000;

export interface DelayedDecision {
  /** The request. */
  id: string;
  label: string;
  /** Local milliseconds. */
  due: number;
}
interface Entry extends DelayedDecision {
  timer: ReturnType<typeof setTimeout>;
  send(): void;
}

/** A queue of decisions that are sent when their time has come, unless undone. */
export function undoQueue(clock: () => number = Date.now) {
  let entries: Entry[] = [];
  let shown: readonly DelayedDecision[] = [];
  const watchers = new Set<() => void>();

  function changed(): void {
    shown = entries.map(({ id, label, due }) => ({ id, label, due }));
    for (const watcher of watchers) watcher();
  }
  function take(id: string): Entry | undefined {
    const entry = entries.find((one) => one.id === id);
    if (!entry) return undefined;
    clearTimeout(entry.timer);
    entries = entries.filter((one) => one !== entry);
    changed();
    return entry;
  }

  return {
    /** Sends after the window. A second decision on the same request takes the place of the first. */
    add(id: string, label: string, send: () => void, wait: number = WINDOW): void {
      take(id);
      const timer = setTimeout(() => take(id)?.send(), wait);
      entries = [...entries, { id, label, due: clock() + wait, timer, send }];
      changed();
    },
    /** Drops one decision, or the newest; returns the id of its request. */
    undo(id?: string): string | null {
      const target = id ?? entries.at(-1)?.id;
      return target === undefined ? null : (take(target)?.id ?? null);
    },
    /** Drops everything, sending nothing. */
    clear(): void {
      for (const entry of entries) clearTimeout(entry.timer);
      entries = [];
      changed();
    },
    waiting: () => shown,
    subscribe(watcher: () => void): () => void {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

export const undos = undoQueue();

export function useDelayedDecisions(): readonly DelayedDecision[] {
  return useSyncExternalStore(undos.subscribe, undos.waiting);
}
