/** Agents, as people see them: who answers for each, and its folders. */
import { queryOptions } from "@tanstack/react-query";
import type { components } from "../../../sdk/typescript/src/api";
import { call } from "./client";
import { keys } from "./keys";

export type Agent = components["schemas"]["AgentRecord"];

export const agentsQuery = queryOptions({
  queryKey: keys.agents,
  queryFn: async ({ signal }) => (await call<{ items: Agent[] }>("/v1/agents", { signal })).items,
  staleTime: 15_000,
  refetchOnWindowFocus: true,
});
