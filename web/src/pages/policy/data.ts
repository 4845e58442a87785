/** Reading, checking and trying policies. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError, call, send } from "@/api/client";
import type { PolicyNote } from "@/api/extra";
import { keys } from "@/api/keys";
import { ndjson } from "../shared/ndjson";
import type { Report, SimulateLine } from "./report";

export interface Version {
  hash: string;
  source: string;
  at: string;
  by: string;
  active: boolean;
}
export interface Policy {
  hash: string;
  name: string | null;
  source: string;
  at: string | null;
  by: string | null;
  text: string;
  warnings: PolicyNote[];
  findings: PolicyNote[];
  broken: string | null;
  versions?: Version[];
}
export interface PolicyCheck {
  hash: string;
  name?: string | null;
  changed?: boolean | null;
  warnings: PolicyNote[];
  findings: PolicyNote[];
}
export interface Shadow {
  hash: string;
  since: string;
  by: string;
  report: Report;
}

export const policyQuery = queryOptions({
  queryKey: keys.policy,
  queryFn: ({ signal }) => call<Policy>("/v1/policy", { signal }),
});

export function versionQuery(hash: string) {
  return queryOptions({
    queryKey: keys.policyVersion(hash),
    queryFn: ({ signal }) => call<Policy>(`/v1/policy/${encodeURIComponent(hash)}`, { signal }),
    // Named by its own hash: it never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export const shadowQuery = queryOptions({
  queryKey: ["policy-shadow"],
  queryFn: async ({ signal }) => {
    try {
      return await call<Shadow>("/v1/policy/shadow", { signal });
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }
  },
  refetchInterval: 15_000,
});

/** The server's check of a text. */
export interface Verdict {
  checking: boolean;
  problems: PolicyNote[];
  warnings: PolicyNote[];
  findings: PolicyNote[];
  error: Error | null;
  /** Whether this text was found valid. */
  valid: boolean;
}

/** The text after a pause in typing, so that not every key press makes a call. */
function useSettled(text: string, milliseconds: number): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), milliseconds);
    return () => clearTimeout(timer);
  }, [text, milliseconds]);
  return settled;
}

export function useCheck(text: string): Verdict {
  const settled = useSettled(text, 350);
  const query = useQuery({
    queryKey: ["policy-check", settled],
    queryFn: async ({ signal }): Promise<{ problems: PolicyNote[]; checked: PolicyCheck | null }> => {
      try {
        const checked = await call<PolicyCheck>("/v1/policy/check", {
          method: "POST",
          body: { policy: settled },
          signal,
        });
        return { problems: [], checked };
      } catch (error) {
        if (error instanceof ApiError && error.code === "bad_policy") {
          return { problems: error.problem?.problems ?? [{ message: error.message }], checked: null };
        }
        throw error;
      }
    },
    staleTime: 30_000,
    gcTime: 30_000,
    placeholderData: (before) => before,
    retry: false,
  });
  const checking = settled !== text || query.isFetching || query.isPlaceholderData;
  return {
    checking,
    problems: query.data?.problems ?? [],
    warnings: query.data?.checked?.warnings ?? [],
    findings: query.data?.checked?.findings ?? [],
    error: query.error,
    valid: !checking && !query.error && query.data?.checked != null,
  };
}

export interface Simulation {
  /** The text that was tried. */
  text: string | null;
  running: { done: number; of: number; requests: number } | null;
  report: Report | null;
  error: string | null;
  run(text: string): void;
  stop(): void;
}

/** Simulates a text on all stored requests, with progress. */
export function useSimulation(): Simulation {
  const [state, setState] = useState<Omit<Simulation, "run" | "stop">>({
    text: null,
    running: null,
    report: null,
    error: null,
  });
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const run = useCallback(async (text: string) => {
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    setState({ text, running: { done: 0, of: 0, requests: 0 }, report: null, error: null });
    try {
      const response = await send("/v1/policy/simulate", {
        method: "POST",
        query: { progress: true },
        body: { policy: text },
        signal: controller.signal,
      });
      let report: Report | null = null;
      for await (const line of ndjson<SimulateLine>(response)) {
        if ("report" in line) report = line.report;
        else setState((before) => ({ ...before, running: line }));
      }
      setState({ text, running: null, report, error: report ? null : "The answer ended before the report." });
    } catch (error) {
      if (!controller.signal.aborted)
        setState({ text, running: null, report: null, error: (error as Error).message });
    }
  }, []);
  const stop = useCallback(() => {
    abort.current?.abort();
    setState({ text: null, running: null, report: null, error: null });
  }, []);
  return { ...state, run, stop };
}
