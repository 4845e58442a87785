/** A tool's input schema, in the two forms a request needs: JSON Schema for the server, a check for edits. */
import type { EditCheck } from "../check.js";
import { canonical } from "../json.js";
import type { Json, JsonObject } from "../wire.js";

/** More than this is not worth sending with every request; edits are still checked before the run. */
const LARGEST = 32_768;

type LooseObject = { [key: string]: unknown };
const isObject = (value: unknown): value is LooseObject =>
  (typeof value === "object" || typeof value === "function") && value !== null && !Array.isArray(value);

/**
 * JSON Schema of whatever the frameworks take: a Standard Schema that can say it (zod 4), an AI SDK `Schema`, plain
 * JSON Schema. Nothing when it cannot be told: then the server takes any edit, and the check below decides.
 */
export async function jsonSchema(schema: unknown): Promise<JsonObject | undefined> {
  try {
    const found = await wanted(schema);
    if (!isObject(found)) return undefined;
    const clean = JSON.parse(JSON.stringify(plain(found))) as JsonObject;
    if (
      clean.type === "object" &&
      clean.properties !== undefined &&
      clean.additionalProperties === undefined
    ) {
      clean.additionalProperties = false;
    }
    return canonical(clean).length > LARGEST ? undefined : clean;
  } catch {
    return undefined;
  }
}

async function wanted(schema: unknown): Promise<unknown> {
  if (!isObject(schema)) return undefined;
  const standard = schema["~standard"];
  if (isObject(standard)) {
    const converter = standard.jsonSchema;
    if (!isObject(converter) || typeof converter.input !== "function") return undefined;
    return converter.input({ target: "draft-2020-12" });
  }
  if (typeof schema === "function") return wanted((schema as () => unknown)());
  if ("jsonSchema" in schema) return await schema.jsonSchema;
  return typeof schema.type === "string" || isObject(schema.properties) ? schema : undefined;
}

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = ["items", "additionalProperties", "contains", "propertyNames"];
const MANY = ["allOf", "anyOf", "prefixItems"];
const NAMED = ["properties", "$defs", "definitions"];
/** Keywords that say something about a value by themselves. */
const KEPT = [
  ...["type", "enum", "const", "required", "description", "title", "default", "$ref"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"],
];

/**
 * Only keywords that every validator reads alike. Patterns go: the server refuses those that backtrack, and with them
 * the call. Leaving a keyword out makes the schema wider, never narrower, so `not` and `if` go too and `oneOf` becomes
 * `anyOf`; the tool's own schema has the last word on an edit.
 */
function plain(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const out: LooseObject = {};
  for (const key of KEPT) if (schema[key] !== undefined) out[key] = schema[key];
  for (const key of ONE) if (schema[key] !== undefined) out[key] = plain(schema[key]);
  for (const key of MANY) if (Array.isArray(schema[key])) out[key] = schema[key].map(plain);
  if (Array.isArray(schema.oneOf) && out.anyOf === undefined) out.anyOf = schema.oneOf.map(plain);
  for (const key of NAMED) {
    const named = schema[key];
    if (isObject(named))
      out[key] = Object.fromEntries(Object.entries(named).map(([name, each]) => [name, plain(each)]));
  }
  return out;
}

/**
 * Refuses an edit that the tool's own schema does not take, and one that it would change: what a person approved is
 * what runs, so nothing is filled in, converted or dropped on the way.
 */
export function editCheck(schema: unknown): EditCheck | undefined {
  if (!isObject(schema)) return undefined;
  return async (args: JsonObject) => {
    const validated = await validate(schema, args);
    if (validated === undefined) return;
    let same = false;
    try {
      same = canonical(validated as Json) === canonical(args);
    } catch {
      // Not JSON any more: certainly not what was approved.
    }
    if (!same)
      throw new Error("the tool's schema would change them (a default, a conversion or an unknown name)");
  };
}

/** The validated value; nothing where the schema cannot validate. Throws what does not fit. */
async function validate(schema: LooseObject, args: JsonObject): Promise<unknown> {
  const standard = schema["~standard"];
  if (isObject(standard) && typeof standard.validate === "function") {
    const answer = (await standard.validate(args)) as { value?: unknown; issues?: readonly LooseObject[] };
    if (answer.issues) throw new Error(issue(answer.issues[0]));
    return answer.value;
  }
  if (typeof schema === "function") return validate((schema as unknown as () => LooseObject)(), args);
  if (typeof schema.validate === "function") {
    const answer = (await schema.validate(args)) as { success?: boolean; value?: unknown; error?: unknown };
    if (answer.success !== true)
      throw answer.error instanceof Error ? answer.error : new Error("it does not fit");
    return answer.value;
  }
  return undefined;
}

function issue(first: LooseObject | undefined): string {
  const path = Array.isArray(first?.path)
    ? first.path.map((part) => `/${String(isObject(part) ? part.key : part)}`).join("")
    : "";
  return `${path === "" ? "" : `${path}: `}${String(first?.message ?? "it does not fit the schema")}`;
}
