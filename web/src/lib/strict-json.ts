/**
 * JSON as the server reads it: no duplicate keys, no integers that lose digits, no lone surrogates, nothing behind the
 * value. What passes here means the same on both sides.
 */
import type { Json, JsonObject } from "@/api/extra";

export interface StrictError {
  message: string;
  /** Where in the text, from 0. */
  at: number;
  line: number;
  column: number;
}
export type StrictResult = { ok: true; value: Json } | { ok: false; error: StrictError };

const DEPTH = 64;
const SAFE = 2n ** 53n - 1n;

class SyntaxProblem extends Error {
  readonly at: number;
  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

class Reader {
  readonly text: string;
  at = 0;
  constructor(text: string) {
    this.text = text;
  }

  space(): void {
    while (this.at < this.text.length && " \t\n\r".includes(this.text.charAt(this.at))) this.at += 1;
  }

  value(depth: number): Json {
    if (depth > DEPTH) throw new SyntaxProblem(`nested deeper than ${DEPTH} levels`, this.at);
    this.space();
    const next = this.text.charAt(this.at);
    if (next === "{") return this.object(depth);
    if (next === "[") return this.array(depth);
    if (next === '"') return this.string();
    if (next === "-" || (next >= "0" && next <= "9")) return this.number();
    for (const [word, value] of [
      ["true", true],
      ["false", false],
      ["null", null],
    ] as const) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    throw new SyntaxProblem(
      next ? `expected a value, found ${JSON.stringify(next)}` : "expected a value, found the end",
      this.at,
    );
  }

  object(depth: number): JsonObject {
    this.at += 1;
    // No prototype: a key such as `__proto__` is a key like any other.
    const out: JsonObject = Object.create(null) as JsonObject;
    this.space();
    if (this.take("}")) return out;
    for (;;) {
      this.space();
      const start = this.at;
      if (this.text.charAt(this.at) !== '"')
        throw new SyntaxProblem("expected a key in double quotes", this.at);
      const key = this.string();
      if (Object.hasOwn(out, key))
        throw new SyntaxProblem(`the key ${JSON.stringify(key)} occurs twice`, start);
      this.space();
      if (!this.take(":")) throw new SyntaxProblem("expected `:` after the key", this.at);
      out[key] = this.value(depth + 1);
      this.space();
      if (this.take("}")) return out;
      if (!this.take(",")) throw new SyntaxProblem("expected `,` or `}`", this.at);
    }
  }

  array(depth: number): Json[] {
    this.at += 1;
    const out: Json[] = [];
    this.space();
    if (this.take("]")) return out;
    for (;;) {
      out.push(this.value(depth + 1));
      this.space();
      if (this.take("]")) return out;
      if (!this.take(",")) throw new SyntaxProblem("expected `,` or `]`", this.at);
    }
  }

  string(): string {
    const start = this.at;
    let end = start + 1;
    for (;;) {
      const letter = this.text.charAt(end);
      if (letter === "") throw new SyntaxProblem("the text has no closing quote", start);
      if (letter === '"') break;
      if (letter < " ") throw new SyntaxProblem("control characters must be written as escapes", end);
      end += letter === "\\" ? 2 : 1;
    }
    let out: string;
    try {
      out = JSON.parse(this.text.slice(start, end + 1)) as string;
    } catch {
      throw new SyntaxProblem("the text has an unknown escape", start);
    }
    if (!out.isWellFormed()) throw new SyntaxProblem("the text has half of a surrogate pair", start);
    this.at = end + 1;
    return out;
  }

  number(): number {
    const start = this.at;
    const found = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/.exec(this.text.slice(start, start + 400));
    if (!found) throw new SyntaxProblem("that is not a number", start);
    const [text, , fraction, exponent] = found;
    const value = Number(text);
    if (!Number.isFinite(value)) throw new SyntaxProblem("the number is too large", start);
    if (!fraction && !exponent) {
      const whole = BigInt(text);
      if (whole > SAFE || whole < -SAFE)
        throw new SyntaxProblem("integers beyond 9007199254740991 lose digits", start);
    }
    this.at = start + text.length;
    if (/[0-9.]/.test(this.text.charAt(this.at))) throw new SyntaxProblem("that is not a number", start);
    return value;
  }

  take(letter: string): boolean {
    if (this.text.charAt(this.at) !== letter) return false;
    this.at += 1;
    return true;
  }
}

function position(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at);
  const line = before.split("\n").length;
  return { line, column: at - before.lastIndexOf("\n") };
}

/** Reads one value; everything that is not exactly one is refused with the place. */
export function parseStrict(text: string): StrictResult {
  const reader = new Reader(text);
  try {
    if (text.charCodeAt(0) === 0xfeff) throw new SyntaxProblem("begins with a byte-order mark", 0);
    const value = reader.value(1);
    reader.space();
    if (reader.at < text.length) throw new SyntaxProblem("there is something behind the value", reader.at);
    return { ok: true, value };
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    return { ok: false, error: { message: error.message, at: error.at, ...position(text, error.at) } };
  }
}

/** Reads an object. */
export function parseObject(
  text: string,
): { ok: true; value: JsonObject } | { ok: false; error: StrictError } {
  const result = parseStrict(text);
  if (!result.ok) return result;
  if (result.value === null || typeof result.value !== "object" || Array.isArray(result.value)) {
    return { ok: false, error: { message: "expected an object: { … }", at: 0, line: 1, column: 1 } };
  }
  return { ok: true, value: result.value };
}

/** Whether two values are the same JSON, whatever the order of keys. */
export function sameJson(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, i) => sameJson(item, b[i] as Json))
    );
  }
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  const [left, right] = [Object.keys(a), Object.keys(b)];
  return (
    left.length === right.length &&
    left.every((key) => Object.hasOwn(b, key) && sameJson(a[key] as Json, b[key] as Json))
  );
}
