/** Reading one request and what happened to it, and deciding. */
import { queryOptions } from "@tanstack/react-query";
import { ApiError, call, idempotencyKey } from "./client";
import type { BatchResults, Decide, DryRun, RequestHistory, RequestRecord, RowPage } from "./extra";
import { keys } from "./keys";
import { toRow } from "./queue";

const path = (id: string) => `/v1/requests/${encodeURIComponent(id)}`;

export function requestQuery(id: string) {
  return queryOptions({
    queryKey: keys.request(id),
    queryFn: ({ signal }) => call<RequestRecord>(path(id), { signal }),
    staleTime: 15_000,
    // An answer that was slower than the stream must not replace a newer record.
    structuralSharing: (before, after) => {
      const [old, fresh] = [before as RequestRecord | undefined, after as RequestRecord];
      return old && old.version > fresh.version ? old : fresh;
    },
  });
}

export function historyQuery(id: string) {
  return queryOptions({
    queryKey: keys.requestHistory(id),
    queryFn: async ({ signal }) => {
      try {
        return await call<RequestHistory>(`${path(id)}/history`, { signal });
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
    staleTime: 15_000,
  });
}

/** Rows of the same group and agent. The caller checks whether they belong to the same pause. */
export function groupQuery({ agent, group }: Pick<RequestRecord, "agent" | "group">) {
  return queryOptions({
    queryKey: [...keys.requests, "group", agent, group],
    queryFn: async ({ signal }) => {
      const query = { agent, group: group ?? undefined, view: "row", limit: 1000 };
      return (await call<RowPage>("/v1/requests", { query, signal })).items.map(toRow);
    },
    staleTime: 15_000,
  });
}

export function decide(id: string, body: Decide, key: string = idempotencyKey()): Promise<RequestRecord> {
  return call(`${path(id)}/decision`, { method: "POST", body, headers: { "idempotency-key": key } });
}

export function dryRun(id: string, body: Decide, signal?: AbortSignal): Promise<DryRun> {
  return call(`${path(id)}/decision`, { method: "POST", body, query: { dry_run: true }, signal });
}

export async function decideMany(items: (Decide & { id: string })[], atomic: boolean): Promise<BatchResults> {
  try {
    return await call<BatchResults>("/v1/decisions", {
      method: "POST",
      body: items,
      query: { atomic: atomic || undefined },
      headers: { "idempotency-key": idempotencyKey() },
    });
  } catch (error) {
    // An atomic batch was refused: the body says why for each request.
    if (error instanceof ApiError && error.status === 409 && isResults(error.body)) return error.body;
    throw error;
  }
}

function isResults(body: unknown): body is BatchResults {
  return typeof body === "object" && body !== null && "results" in body && "applied" in body;
}

export function reassign(id: string, to: string[], reason?: string): Promise<RequestRecord> {
  return call(`${path(id)}/reassign`, { method: "POST", body: { to, ...(reason ? { reason } : {}) } });
}

export function revoke(id: string, reason?: string): Promise<RequestRecord> {
  return call(`${path(id)}/revoke`, { method: "POST", body: reason ? { reason } : {} });
}

export function resolve(id: string, status: "succeeded" | "failed", reason: string): Promise<RequestRecord> {
  return call(`${path(id)}/resolve`, { method: "POST", body: { status, reason } });
}
