/** The shapes of the wire, named; `api.ts` is generated from the server's own document. */
import type { components } from "./api.js";

type Schemas = components["schemas"];

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** A request as every read, stream and answer shows it. */
export type RequestRecord = Omit<
  Schemas["Record"],
  "arguments" | "context" | "decision" | "arguments_schema" | "default"
> & {
  arguments?: JsonObject | null;
  context?: JsonObject | null;
  arguments_schema?: Json;
  default?: Json;
  decision?: Decision | null;
};
export type Decision = Omit<Schemas["DecisionRecord"], "arguments" | "answer"> & {
  arguments?: JsonObject | null;
  answer?: Json;
};
export type State = Schemas["State"];
export type Risk = Schemas["Risk"];
export type DecisionWord = Schemas["DecisionWord"];
export type InputSpec = Schemas["InputSpec"];
export type Step = Omit<Schemas["Step"], "arguments"> & { arguments?: JsonObject | null };
export type StepDecision = Omit<Schemas["StepDecision"], "arguments"> & { arguments?: JsonObject | null };

/** A field of a create of any kind. */
type Field<Name extends string, One = Schemas["Create"]> = One extends { [Key in Name]?: infer Value }
  ? Value
  : never;
type FieldName<One> = One extends unknown ? keyof One & string : never;
type LooseField = "arguments" | "context" | "arguments_schema" | "default" | "steps";

/** The body of a create: the fields that all kinds have, and those of each. */
export type CreateBody = { kind: Schemas["Kind"]; session: string } & {
  [Name in Exclude<FieldName<Schemas["Create"]>, "kind" | "session" | LooseField>]?: Field<Name>;
} & {
  arguments?: JsonObject | null;
  context?: JsonObject | null;
  arguments_schema?: Json;
  default?: Json;
  steps?: Step[] | null;
};

/** The answer to a claim: run these arguments, then report with the permit. */
export interface Claimed {
  permit: string;
  arguments: JsonObject;
  digest: string;
  report_by: string;
}

/** One event of a stream. */
export interface StreamEvent {
  id: string;
  type: string;
  at?: string;
  record?: RequestRecord;
}
