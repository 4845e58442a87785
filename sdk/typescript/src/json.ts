/** JSON that a person can be shown and a digest can be taken of: what counts as JSON, and its one canonical form. */
import { NotJson } from "./errors.js";
import type { Json, JsonObject } from "./wire.js";

/** As deep as the server reads. It also ends the walk through a cycle. */
const DEPTH = 64;
/** From here on JavaScript writes an exponent, so readers take it for a float and not for an integer. */
const EXPONENT = 1e21;

/** Throws `NotJson` with the place, unless the value is JSON that every reader reads alike. Nothing is converted. */
export function checkJson(value: unknown): asserts value is Json {
  check(value, "", 0);
}

/** The same, for the arguments of a call: an object. */
export function checkArguments(value: unknown): asserts value is JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new NotJson("", `arguments must be an object with a name for each, not ${named(value)}`);
  }
  check(value, "", 0);
}

function check(value: unknown, path: string, depth: number): void {
  switch (typeof value) {
    case "boolean":
      return;
    case "string":
      checkString(value, path);
      return;
    case "number":
      checkNumber(value, path);
      return;
    case "object":
      break;
    default:
      throw new NotJson(path, `${named(value)} is not JSON${advice(value)}`);
  }
  if (value === null) return;
  if (depth >= DEPTH) {
    throw new NotJson(path.slice(0, 80), `deeper than ${DEPTH} levels, or an object that contains itself`);
  }
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) check(value[at], `${path}/${at}`, depth + 1);
    return;
  }
  const shape = Object.getPrototypeOf(value);
  if (shape !== Object.prototype && shape !== null && Object.getPrototypeOf(shape) !== null) {
    throw new NotJson(path, `${named(value)} is not JSON${advice(value)}`);
  }
  for (const key of Reflect.ownKeys(value)) {
    if (typeof key === "symbol") throw new NotJson(path, "a property named by a symbol is not JSON");
    const inside = `${path}/${escaped(key)}`;
    checkString(key, inside);
    const property = Object.getOwnPropertyDescriptor(value, key) as PropertyDescriptor;
    if (!("value" in property)) {
      throw new NotJson(
        inside,
        "a getter is not JSON: it may say one thing to the reviewer and another to the tool",
      );
    }
    if (!property.enumerable) throw new NotJson(inside, "a hidden property is not JSON");
    check(property.value, inside, depth + 1);
  }
}

function checkString(text: string, path: string): void {
  if (/\p{Surrogate}/u.test(text)) {
    throw new NotJson(path, "half of a surrogate pair is not text that JSON can carry");
  }
}

function checkNumber(number: number, path: string): void {
  if (!Number.isFinite(number)) throw new NotJson(path, `${number} is not JSON`);
  const size = Math.abs(number);
  if (Number.isInteger(number) && size > Number.MAX_SAFE_INTEGER && size < EXPONENT) {
    throw new NotJson(path, "integers beyond ±(2^53-1) are not exact: pass it as a string");
  }
}

function escaped(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** What a value is, in a few words. */
function named(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value !== "object") return value === undefined ? "undefined" : `a ${typeof value}`;
  return `an object of class ${value.constructor?.name ?? "unknown"}`;
}

function advice(value: unknown): string {
  if (value === undefined) return ": leave it out, or pass null";
  if (typeof value === "bigint") return ": pass it as a string";
  if (value instanceof Date) return ": pass date.toISOString()";
  if (value instanceof Map) return ": pass Object.fromEntries(map)";
  if (value instanceof Set) return ": pass [...set]";
  return ": pass plain objects, lists, text, numbers and booleans, or use `describe`";
}

/** The RFC 8785 form: names sorted by UTF-16 code units, numbers as ECMAScript writes them, no spaces. */
export function canonical(value: unknown): string {
  checkJson(value);
  return write(value);
}

function write(value: Json): string {
  if (value === null || typeof value !== "object") return JSON.stringify(Object.is(value, -0) ? 0 : value);
  if (Array.isArray(value)) return `[${value.map(write).join(",")}]`;
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${write(value[key] as Json)}`);
  return `{${members.join(",")}}`;
}

/** A copy that shares nothing with the value, for a value that was checked. */
export function copied(value: Json): Json {
  return JSON.parse(write(value)) as Json;
}
