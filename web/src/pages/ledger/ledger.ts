/** Reading the ledger: pages by number, and entries in a few words. */
import { useQueries } from "@tanstack/react-query";
import { call } from "@/api/client";
import { keys } from "@/api/keys";

export interface Entry {
  at: string;
  by: { name: string; role: string; auth: string };
  data: { type: string; [name: string]: unknown };
  prev: string;
  request?: string;
  seq: number;
}
export interface LedgerItem {
  seq: number;
  hash: string;
  entry: Entry;
}
interface LedgerPage {
  items: LedgerItem[];
  next_after: number | null;
}

export const PAGE = 100;

/** The page of an entry. Pages count from the oldest entry, so they do not move. */
export function pageOf(seq: number): number {
  return Math.floor((seq - 1) / PAGE);
}

/** Entries by number, for these pages; entries that load are missing. */
export function useEntries(
  pages: number[],
  head: number,
): { find(seq: number): LedgerItem | null | undefined; error: unknown } {
  const results = useQueries({
    queries: pages.map((page) => {
      const whole = (page + 1) * PAGE <= head;
      return {
        queryKey: [...keys.ledger, page, whole ? "whole" : head],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          call<LedgerPage>("/v1/ledger", { signal, query: { after: page * PAGE, limit: PAGE } }),
        // A whole page never changes again.
        staleTime: Number.POSITIVE_INFINITY,
      };
    }),
  });
  const found = new Map<number, Map<number, LedgerItem>>();
  results.forEach((result, at) => {
    const page = pages[at];
    if (page !== undefined && result.data) {
      found.set(page, new Map(result.data.items.map((item) => [item.seq, item])));
    }
  });
  return {
    /** Undefined while it loads, null if the database does not have it any more. */
    find: (seq) => {
      const page = found.get(pageOf(seq));
      return page ? (page.get(seq) ?? null) : undefined;
    },
    error: results.find((result) => result.error)?.error,
  };
}

/** What an entry is about: a tool, a person, a key, a policy. */
export function subject(entry: Entry): string {
  const { data } = entry;
  for (const name of ["tool", "decision", "name", "source", "reason", "id", "hash"]) {
    const value = data[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return entry.request ?? "";
}
