/**
 * The part of JSON Schema that tools use, for a second look at edited arguments. The server has checked the whole
 * schema before it accepted the edit; keywords that are not here are left to it.
 */
import { canonical } from "./json.js";
import type { Json, JsonObject } from "./wire.js";

/** One sentence with a JSON pointer about what does not fit, or nothing. */
export function schemaProblem(schema: Json | undefined, value: Json): string | undefined {
  return look(schema, value, "", schema, 0);
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function look(
  schema: Json | undefined,
  value: Json,
  at: string,
  root: Json | undefined,
  depth: number,
): string | undefined {
  const says = (what: string) => `${at === "" ? "the arguments" : at}: ${what}`;
  if (schema === undefined || schema === true) return undefined;
  if (schema === false) return says("nothing is allowed here");
  if (!isObject(schema)) return says("the schema is neither an object nor true or false");
  if (depth > 100) return says("the schema refers to itself without end");
  const below = (inner: Json | undefined, of: Json, place: string) => look(inner, of, place, root, depth + 1);

  if (typeof schema.$ref === "string") {
    const target = resolve(schema.$ref, root);
    if (target === undefined) return says(`the schema refers to ${schema.$ref}, which is not in it`);
    const problem = below(target, value, at);
    if (problem) return problem;
  }
  if (schema.type !== undefined) {
    const types = Array.isArray(schema.type) ? schema.type : [schema.type];
    if (!types.some((type) => isOf(type, value))) return says(`must be ${types.join(" or ")}`);
  }
  const same = (other: Json) => canonical(other) === canonical(value);
  if (schema.const !== undefined && !same(schema.const)) return says(`must be ${canonical(schema.const)}`);
  if (Array.isArray(schema.enum) && !schema.enum.some(same))
    return says(`must be one of ${canonical(schema.enum)}`);

  if (Array.isArray(schema.allOf)) {
    for (const each of schema.allOf) {
      const problem = below(each, value, at);
      if (problem) return problem;
    }
  }
  if (Array.isArray(schema.anyOf) && !schema.anyOf.some((each) => !below(each, value, at))) {
    return says("fits none of the forms that are allowed");
  }
  if (Array.isArray(schema.oneOf)) {
    const fit = schema.oneOf.filter((each) => !below(each, value, at));
    // Two matches of `oneOf` are an error only if both were checked completely.
    if (fit.length === 0 || (fit.length > 1 && fit.every((each) => whole(each, root, depth)))) {
      return says("must fit exactly one of the forms that are allowed");
    }
  }
  if (schema.not !== undefined && whole(schema.not, root, depth) && !below(schema.not, value, at)) {
    return says("is what the schema excludes");
  }

  if (typeof value === "number") return number(schema, value, says);
  if (typeof value === "string") return text(schema, value, says);
  if (Array.isArray(value)) return list(schema, value, at, says, below);
  if (isObject(value)) return object(schema, value, at, says, below);
  return undefined;
}

type Describe = (what: string) => string;
type InnerCheck = (inner: Json | undefined, of: Json, place: string) => string | undefined;

function number(schema: JsonObject, value: number, says: Describe): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === "number" && value < minimum) return says(`must be at least ${minimum}`);
  if (typeof maximum === "number" && value > maximum) return says(`must be at most ${maximum}`);
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
    return says(`must be more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
    return says(`must be less than ${exclusiveMaximum}`);
  if (typeof multipleOf === "number" && Number.isInteger(multipleOf) && value % multipleOf !== 0) {
    return says(`must be a multiple of ${multipleOf}`);
  }
  return undefined;
}

function text(schema: JsonObject, value: string, says: Describe): string | undefined {
  const length = [...value].length;
  if (typeof schema.minLength === "number" && length < schema.minLength)
    return says(`must have at least ${schema.minLength} characters`);
  if (typeof schema.maxLength === "number" && length > schema.maxLength)
    return says(`must have at most ${schema.maxLength} characters`);
  return undefined;
}

function list(
  schema: JsonObject,
  value: Json[],
  at: string,
  says: Describe,
  below: InnerCheck,
): string | undefined {
  if (typeof schema.minItems === "number" && value.length < schema.minItems)
    return says(`must have at least ${schema.minItems} items`);
  if (typeof schema.maxItems === "number" && value.length > schema.maxItems)
    return says(`must have at most ${schema.maxItems} items`);
  if (schema.uniqueItems === true && new Set(value.map(canonical)).size < value.length)
    return says("must not repeat an item");
  const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  // A list of items is how older schemas write a tuple.
  const others = Array.isArray(schema.items) ? undefined : schema.items;
  for (const [index, item] of value.entries()) {
    const problem = below(index < first.length ? first[index] : others, item, `${at}/${index}`);
    if (problem) return problem;
  }
  return undefined;
}

function object(
  schema: JsonObject,
  value: JsonObject,
  at: string,
  says: Describe,
  below: InnerCheck,
): string | undefined {
  const properties = isObject(schema.properties) ? schema.properties : {};
  for (const name of Array.isArray(schema.required) ? schema.required : []) {
    if (typeof name === "string" && !Object.hasOwn(value, name))
      return says(`${JSON.stringify(name)} is missing`);
  }
  const names = Object.keys(value);
  if (typeof schema.minProperties === "number" && names.length < schema.minProperties)
    return says("has too few properties");
  if (typeof schema.maxProperties === "number" && names.length > schema.maxProperties)
    return says("has too many properties");
  // Names matched by a pattern are left to the server: a pattern of its dialect may mean something else here.
  const patterns = isObject(schema.patternProperties);
  for (const name of names) {
    const place = `${at}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const known = Object.hasOwn(properties, name);
    if (!known && patterns) continue;
    const problem = below(known ? properties[name] : schema.additionalProperties, value[name] as Json, place);
    if (problem === undefined) continue;
    return known || schema.additionalProperties !== false
      ? problem
      : `${place}: is not an argument of this tool`;
  }
  return undefined;
}

const SAYS_NOTHING =
  "title description default examples $schema $id $comment $defs definitions deprecated readOnly writeOnly format";
const LOOKED_AT =
  "type const enum minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems " +
  "uniqueItems required minProperties maxProperties";
const PLAIN = new Set(`${SAYS_NOTHING} ${LOOKED_AT}`.split(" "));

/** Whether everything this schema says is looked at here, so that no problem means that it fits. */
function whole(schema: Json | undefined, root: Json | undefined, depth: number): boolean {
  if (!isObject(schema)) return typeof schema === "boolean";
  if (depth > 100) return false;
  const inner = (each: Json | undefined) => whole(each, root, depth + 1);
  return Object.entries(schema).every(([keyword, value]) => {
    if (PLAIN.has(keyword)) return true;
    if (keyword === "$ref") return typeof value === "string" && inner(resolve(value, root));
    if (["allOf", "anyOf", "oneOf", "prefixItems"].includes(keyword))
      return Array.isArray(value) && value.every(inner);
    if (keyword === "properties") return isObject(value) && Object.values(value).every(inner);
    if (["not", "items", "additionalProperties"].includes(keyword)) return inner(value);
    return keyword === "multipleOf" && Number.isInteger(value);
  });
}

function isOf(type: Json, value: Json): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return typeof value === "number" && Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** A reference inside the same document, such as `#/$defs/point`. */
function resolve(reference: string, root: Json | undefined): Json | undefined {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let found: Json | undefined = root;
  for (const part of reference.slice(2).split("/")) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as { [key: string]: Json })[name];
  }
  return found;
}
