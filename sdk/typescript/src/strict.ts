/**
 * Reads JSON text as strictly as the server does. `JSON.parse` keeps the last of two equal keys and rounds integers;
 * a model's arguments come as text, and what the reviewer sees must be what every reader makes of that text.
 */
import { NotJson } from "./errors.js";
import { BYTES, DEPTH, inside, NODES } from "./json.js";
import type { Json } from "./wire.js";

/** How much is read: bytes of text, levels, values. */
export interface Limits {
  bytes: number;
  depth: number;
  nodes: number;
}
const USUAL: Limits = { bytes: BYTES, depth: DEPTH, nodes: NODES };

/** One document, or `NotJson` with the server's own `code` and a pointer to the place. */
export function readJson(source: string | Uint8Array): Json {
  return new Reader(decoded(source, BYTES), USUAL).document();
}

/** An answer of the server. Its bounds are larger, because arguments are nested in it. */
export function readAnswer(source: string | Uint8Array, bytes: number): Json {
  return new Reader(decoded(source, bytes), { bytes, depth: DEPTH + 8, nodes: bytes }).document();
}

function decoded(source: string | Uint8Array, bytes: number): string {
  if (typeof source === "string") {
    if (source.length * 3 > bytes && new TextEncoder().encode(source).length > bytes) throw tooLarge(bytes);
    if (source.startsWith("\ufeff")) throw mark();
    return source;
  }
  if (source.length > bytes) throw tooLarge(bytes);
  const [first, second, third] = source;
  const utf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (utf16 || (first === 0xef && second === 0xbb && third === 0xbf)) throw mark();
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(source);
  } catch {
    throw new NotJson("", "the text is not UTF-8", "not_utf8");
  }
}

const tooLarge = (bytes: number) => new NotJson("", `more than ${bytes / 1024} KiB of JSON`, "too_large");
const mark = () =>
  new NotJson("", "the text begins with a byte-order mark: send plain UTF-8", "byte_order_mark");

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
/** Text up to an escape, or to a character that JSON forbids. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))/y;
const ESCAPED: { readonly [letter: string]: string } = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

class Reader {
  #at = 0;
  #nodes = 0;

  constructor(
    private readonly text: string,
    private readonly limits: Limits,
  ) {}

  document(): Json {
    this.#skip();
    if (this.#at === this.text.length) throw new NotJson("", "there is no JSON in it", "empty");
    const value = this.#value("", 0);
    this.#skip();
    if (this.#at < this.text.length)
      throw new NotJson("", "something follows the JSON document", "trailing_bytes");
    return value;
  }

  #skip(): void {
    this.#match(SPACE);
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text);
    if (found) this.#at += found[0].length;
    return found;
  }

  /** The error for text that is not JSON, or that ends too early. */
  #wrong(path: string, wanted: string): NotJson {
    if (this.#at >= this.text.length)
      return new NotJson(path, `the JSON ends where ${wanted} is expected`, "truncated");
    const found = JSON.stringify(String.fromCodePoint(this.text.codePointAt(this.#at) as number));
    return new NotJson(path, `${found} stands where ${wanted} is expected`, "syntax");
  }

  #value(path: string, depth: number): Json {
    this.#nodes += 1;
    const { nodes } = this.limits;
    if (this.#nodes > nodes) throw new NotJson(path, `more than ${nodes} values`, "too_many_nodes");
    switch (this.text[this.#at]) {
      case "{":
        return this.#object(path, depth);
      case "[":
        return this.#list(path, depth);
      case '"':
        return this.#string(path);
      case "t":
        return this.#word(path, "true", true);
      case "f":
        return this.#word(path, "false", false);
      case "n":
        return this.#word(path, "null", null);
      default:
        return this.#number(path);
    }
  }

  #word<T>(path: string, word: string, value: T): T {
    for (const letter of word) {
      if (this.text[this.#at] !== letter) throw this.#wrong(path, `\`${word}\``);
      this.#at += 1;
    }
    return value;
  }

  #number(path: string): number {
    const found = this.#match(NUMBER);
    if (!found) {
      if (this.text[this.#at] === "-") this.#at += 1;
      throw this.#wrong(path, "a value");
    }
    const value = Number(found[0]);
    if (!Number.isFinite(value))
      throw new NotJson(path, `${found[0]} is beyond what a number can be`, "number_range");
    const whole = found[1] === undefined && found[2] === undefined;
    if (
      Number.isInteger(value) &&
      Math.abs(value) > Number.MAX_SAFE_INTEGER &&
      (whole || Math.abs(value) < 1e21)
    ) {
      throw new NotJson(
        path,
        "integers beyond ±(2^53-1) are not exact: pass it as a string",
        "integer_range",
      );
    }
    return value === 0 ? 0 : value;
  }

  #string(path: string): string {
    this.#at += 1;
    let read = "";
    for (;;) {
      read += (this.#match(PLAIN) as RegExpExecArray)[0];
      const next = this.text[this.#at];
      if (next === '"') break;
      if (next !== "\\") throw this.#wrong(path, "the rest of a text");
      const found = this.#match(ESCAPE);
      if (!found) throw this.#escape(path);
      const [, letter, code] = found;
      read +=
        code === undefined
          ? (ESCAPED[letter as string] ?? (letter as string))
          : String.fromCharCode(Number.parseInt(code, 16));
    }
    this.#at += 1;
    if (/\p{Surrogate}/u.test(read)) {
      throw new NotJson(path, "half of a surrogate pair is not text that JSON can carry", "lone_surrogate");
    }
    return read;
  }

  /** The error for a backslash that begins no escape of JSON. */
  #escape(path: string): NotJson {
    const rest = this.text.slice(this.#at);
    if (/^\\(?:u[0-9a-fA-F]{0,3})?$/.test(rest)) this.#at = this.text.length;
    return this.#wrong(path, "an escape of JSON");
  }

  #list(path: string, depth: number): Json[] {
    this.#enter(path, depth);
    const items: Json[] = [];
    if (this.#closes("]")) return items;
    for (;;) {
      items.push(this.#value(`${path}/${items.length}`, depth + 1));
      if (this.#closes("]")) return items;
      this.#comma(path, "a comma or ]");
    }
  }

  #object(path: string, depth: number): Json {
    this.#enter(path, depth);
    const members = new Map<string, Json>();
    if (this.#closes("}")) return {};
    for (;;) {
      if (this.text[this.#at] !== '"') throw this.#wrong(path, "a key in double quotes");
      const key = this.#string(path);
      const place = inside(path, key);
      if (members.has(key)) throw new NotJson(place, "the key stands twice in one object", "duplicate_key");
      this.#skip();
      if (this.text[this.#at] !== ":") throw this.#wrong(place, "a colon");
      this.#at += 1;
      this.#skip();
      members.set(key, this.#value(place, depth + 1));
      // `fromEntries` defines properties; an assignment to `__proto__` would set the prototype.
      if (this.#closes("}")) return Object.fromEntries(members);
      this.#comma(path, "a comma or }");
    }
  }

  #enter(path: string, depth: number): void {
    const { depth: deepest } = this.limits;
    if (depth >= deepest) throw new NotJson(path.slice(0, 80), `deeper than ${deepest} levels`, "too_deep");
    this.#at += 1;
    this.#skip();
  }

  #closes(bracket: string): boolean {
    this.#skip();
    if (this.text[this.#at] !== bracket) return false;
    this.#at += 1;
    return true;
  }

  #comma(path: string, wanted: string): void {
    if (this.text[this.#at] !== ",") throw this.#wrong(path, wanted);
    this.#at += 1;
    this.#skip();
    if (this.text[this.#at] === "]" || this.text[this.#at] === "}")
      throw this.#wrong(path, "something after the comma");
  }
}
