/** JSON that a person can be shown and a digest can be taken of: what counts as JSON, and its one canonical form. */
import { NotJson } from "./errors.js";
import type { Json, JsonObject } from "./wire.js";

/** As much as the server reads: bytes of text, levels, values. */
export const BYTES = 256 * 1024;
export const DEPTH = 64;
export const NODES = 10_000;
/** From here on JavaScript writes an exponent, so readers take it for a float and not for an integer. */
const EXPONENT = 1e21;

/** Throws `NotJson` with the place, unless the value is JSON that every reader reads alike. Nothing is converted. */
export function checkJson(value: unknown): asserts value is Json {
  const walk = new JsonWalk();
  walk.check(value, "", 0);
  if (walk.nodes > NODES) throw new NotJson("", `more than ${NODES} values`, "too_many_nodes");
  if (walk.atMost > BYTES && new TextEncoder().encode(write(value as Json)).length > BYTES) {
    throw new NotJson("", `more than ${BYTES / 1024} KiB of JSON`, "too_large");
  }
}

/** The same, for the arguments of a call: an object. */
export function checkArguments(value: unknown): asserts value is JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new NotJson("", `arguments must be an object with a name for each, not ${named(value)}`);
  }
  checkJson(value);
}

/** The RFC 8785 form: names sorted by UTF-16 code units, numbers as ECMAScript writes them, no spaces. Of any size. */
export function canonical(value: unknown): string {
  new JsonWalk().check(value, "", 0);
  return write(value as Json);
}

/** A copy that shares nothing with the value, for a value that was checked. */
export function copied<T extends Json>(value: T): T {
  return JSON.parse(write(value)) as T;
}

class JsonWalk {
  nodes = 0;
  /** Bytes of the text, at most. */
  atMost = 0;

  check(value: unknown, path: string, depth: number): void {
    this.nodes += 1;
    this.atMost += 25;
    switch (typeof value) {
      case "boolean":
        return;
      case "string":
        this.#text(value, path);
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
    // This also ends the walk through a cycle.
    if (depth >= DEPTH) {
      throw new NotJson(
        path.slice(0, 80),
        `deeper than ${DEPTH} levels, or an object that contains itself`,
        "too_deep",
      );
    }
    if (Array.isArray(value)) {
      for (let at = 0; at < value.length; at += 1) this.check(value[at], `${path}/${at}`, depth + 1);
    } else {
      this.#object(value, path, depth);
    }
  }

  #object(value: object, path: string, depth: number): void {
    const shape = Object.getPrototypeOf(value);
    // A plain object of another realm has another prototype, whose own prototype is null.
    if (shape !== Object.prototype && shape !== null && Object.getPrototypeOf(shape) !== null) {
      throw new NotJson(path, `${named(value)} is not JSON${advice(value)}`);
    }
    for (const key of Reflect.ownKeys(value)) {
      if (typeof key === "symbol") throw new NotJson(path, "a property named by a symbol is not JSON");
      const place = inside(path, key);
      this.#text(key, place);
      const property = Object.getOwnPropertyDescriptor(value, key);
      if (!property || !("value" in property)) {
        throw new NotJson(
          place,
          "a getter is not JSON: it may tell the reviewer one thing and the tool another",
        );
      }
      if (!property.enumerable) throw new NotJson(place, "a hidden property is not JSON");
      this.check(property.value, place, depth + 1);
    }
  }

  #text(text: string, path: string): void {
    this.atMost += text.length * 6;
    if (/\p{Surrogate}/u.test(text)) {
      throw new NotJson(path, "half of a surrogate pair is not text that JSON can carry", "lone_surrogate");
    }
  }
}

function checkNumber(number: number, path: string): void {
  if (!Number.isFinite(number)) throw new NotJson(path, `${number} is not JSON`);
  const size = Math.abs(number);
  if (Number.isInteger(number) && size > Number.MAX_SAFE_INTEGER && size < EXPONENT) {
    throw new NotJson(path, "integers beyond ±(2^53-1) are not exact: pass it as a string", "integer_range");
  }
}

/** The JSON pointer to a member. */
export function inside(path: string, key: string): string {
  return `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
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

function write(value: Json): string {
  if (value === null || typeof value !== "object") return JSON.stringify(Object.is(value, -0) ? 0 : value);
  if (Array.isArray(value)) {
    let items = "";
    for (let at = 0; at < value.length; at += 1) items += `${at === 0 ? "" : ","}${write(value[at] as Json)}`;
    return `[${items}]`;
  }
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${write(value[key] as Json)}`);
  return `{${members.join(",")}}`;
}
