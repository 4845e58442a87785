/** How often people are asked, as the server knows it. */
import { queryOptions } from "@tanstack/react-query";
import type { components } from "../../../sdk/typescript/src/api";
import { ApiError, call } from "./client";
import { keys } from "./keys";

type Schemas = components["schemas"];
export type Attention = Schemas["AttentionRecord"];
export type Pace = Schemas["PaceRecord"];
export type Summary = Schemas["SummaryRecord"];
export type Suggestions = Schemas["SuggestionsRecord"];

export const PARTS = ["asked", "remembered", "confined", "refused", "passed"] as const;

/** The pace of the person who is signed in. */
export const paceQuery = queryOptions({
  queryKey: ["pace"],
  queryFn: ({ signal }) => call<Pace>("/v1/me/pace", { signal }),
  refetchInterval: 15_000,
});

/** What happened in a session; in the one that asked last when none is named. Null when there is none. */
export function summaryQuery(session: string | undefined, agent: string | undefined) {
  return queryOptions({
    queryKey: ["summary", session, agent],
    queryFn: async ({ signal }) => {
      try {
        return await call<Summary>("/v1/summary", { signal, query: { session, agent } });
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
    refetchInterval: 30_000,
  });
}

export const suggestQuery = queryOptions({
  queryKey: keys.policySuggestions,
  queryFn: ({ signal }) => call<Suggestions>("/v1/policy/suggestions", { signal }),
  // It reads all of history.
  staleTime: 5 * 60_000,
});

/** A share as text. */
export function percent(share: number | null | undefined): string {
  return share === null || share === undefined ? "–" : `${share.toFixed(1)} %`;
}

/** Prompts per active hour as text. */
export function perHour(attention: Attention): string {
  const prompts = attention.prompts_per_active_hour;
  return prompts === null || prompts === undefined ? "–" : prompts.toFixed(1);
}
