/** The stop switch, as the server knows it. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { call } from "./client";
import { keys } from "./keys";

export interface Freeze {
  id: string;
  agent: string | null;
  tool: string | null;
  by: string;
  reason: string;
  at: string;
}

/** What to stop: both empty means everything. */
export interface NewFreeze {
  agent: string;
  tool: string;
  reason: string;
}

/** The stream carries news of requests only, so freezes are polled. */
const EVERY = 10_000;

const freezeQuery = queryOptions({
  queryKey: keys.freezes,
  queryFn: async () => (await call<{ items: Freeze[] }>("/v1/freeze")).items,
  refetchInterval: EVERY,
  refetchOnWindowFocus: true,
});

export function useFreezes(): Freeze[] {
  return useQuery(freezeQuery).data ?? [];
}

export function freeze({ agent, tool, reason }: NewFreeze): Promise<Freeze> {
  const what = agent || tool ? { agent: agent || null, tool: tool || null } : { all: true };
  return call("/v1/freeze", { method: "POST", body: { ...what, reason } });
}

export function unfreeze(id: string): Promise<void> {
  return call(`/v1/freeze/${id}`, { method: "DELETE" });
}
