/** Whether edited arguments still fit the tool. A parser's output is not used: the approved arguments run. */

import { schemaProblem } from "./schema.js";
import type { Json, JsonObject } from "./wire.js";

/** https://standardschema.dev: zod, valibot, arktype and others. */
export interface StandardSchema {
  readonly "~standard": {
    readonly validate: (value: unknown) => unknown;
  };
}
/** Anything that throws when a value does not fit. */
export interface Parser {
  parse(value: unknown): unknown;
}

export type EditCheck = StandardSchema | Parser | JsonObject | ((args: JsonObject) => unknown);

/** One sentence about what does not fit, or nothing. A check that throws counts as a refusal. */
export async function misfit(check: EditCheck, args: JsonObject): Promise<string | undefined> {
  try {
    if (typeof check === "function" && !("~standard" in check)) {
      await check(args);
      return undefined;
    }
    if ("~standard" in check) return standard(await (check as StandardSchema)["~standard"].validate(args));
    if (typeof (check as Parser).parse === "function") {
      await (check as Parser).parse(args);
      return undefined;
    }
    return schemaProblem(check as Json, args);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function standard(answer: unknown): string | undefined {
  const issues = (answer as { issues?: unknown } | null)?.issues;
  if (issues === undefined || issues === null) return undefined;
  if (!Array.isArray(issues)) return "the schema gave an answer that cannot be read";
  const first = issues[0] as { message?: unknown; path?: unknown } | undefined;
  const path = Array.isArray(first?.path)
    ? first.path.map((part) => `/${String((part as { key?: unknown } | null)?.key ?? part)}`).join("")
    : "";
  return `${path === "" ? "" : `${path}: `}${String(first?.message ?? "it does not fit the schema")}`;
}
