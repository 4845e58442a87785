/**
 * Colours for code, line by line. A guess that helps the eye: a line inside a comment or text of several lines is
 * coloured as if it stood alone, so no colour is fainter than plain text. Pure.
 */

export type TokenKind = "string" | "comment" | "keyword" | "number" | "key" | null;
export interface Token {
  kind: TokenKind;
  text: string;
}

export interface Language {
  /** What begins a comment that ends with the line. */
  line: readonly string[];
  /** What begins and ends a comment within a line. */
  block?: readonly [string, string];
  quotes: string;
  words: ReadonlySet<string>;
  /** Whether keywords may be written in any case. */
  caseless?: boolean;
  /** Whether names before `:` or `=` are keys. */
  keys?: boolean;
}

const set = (words: string) => new Set(words.split(" "));

const C_WORDS =
  "abstract as async await break case catch class const continue default defer delete do else enum export extends extern false final finally fn for from func function go if impl implements import in instanceof interface let loop match mod move mut namespace new nil null override package private protected pub public range ref return self select static struct super switch this throw throws trait true try type typeof undefined union unsafe use using var virtual void where while yield bool boolean byte char double float int long short string";
const HASH_WORDS =
  "and as assert async await begin break case class continue def del do done elif else elsif end ensure esac except exec export false False fi finally for from function global if import in is lambda local module next nil None nonlocal not null or pass raise require rescue return self set shift source then true True try unless until when while with yield";
const SQL_WORDS =
  "add all alter and any as asc begin between by cascade case cast column commit constraint copy create cross database default delete desc distinct drop else end except execute exists explain false fetch for foreign from full function grant group having if in index inner insert intersect into is join key left like limit lock merge natural not null offset on or order outer over partition primary procedure program references replace returning revoke right rollback row schema select set table temporary then to transaction trigger true truncate union unique update using vacuum values view when where with";

export const LANGUAGES = {
  c: { line: ["//"], block: ["/*", "*/"], quotes: "\"'`", words: set(C_WORDS) },
  hash: { line: ["#"], quotes: "\"'`", words: set(HASH_WORDS) },
  data: { line: ["#"], quotes: "\"'", words: set("true false null yes no on off"), keys: true },
  json: { line: [], quotes: '"', words: set("true false null"), keys: true },
  sql: { line: ["--"], block: ["/*", "*/"], quotes: "'\"`", words: set(SQL_WORDS), caseless: true },
  css: {
    line: [],
    block: ["/*", "*/"],
    quotes: "\"'",
    words: set("important media import from to"),
    keys: true,
  },
  markup: { line: [], block: ["<!--", "-->"], quotes: "\"'", words: new Set<string>() },
} satisfies Record<string, Language>;

const ENDINGS: Record<keyof typeof LANGUAGES, string> = {
  c: "c cc cpp cs cxx dart go gradle groovy h hpp java js jsx kt kts m mjs cjs mts php proto rs scala swift ts tsx v zig",
  hash: "bash conf dockerfile ex exs fish jl makefile mk nix pl pm ps1 py pyi r rake rb sh tf hcl zsh",
  data: "cfg env ini properties toml yaml yml gitignore",
  json: "json json5 jsonc ipynb lock",
  sql: "sql ddl psql",
  css: "css less scss",
  markup: "htm html md rst svelte svg vue xml",
};
const BY_ENDING = new Map(
  Object.entries(ENDINGS).flatMap(([name, endings]) =>
    endings
      .split(" ")
      .map((ending): [string, Language] => [ending, LANGUAGES[name as keyof typeof LANGUAGES]]),
  ),
);

/** The language of a file by the end of its name; null where it is not known. */
export function languageOf(path: string): Language | null {
  const name = path.toLowerCase().split("/").at(-1) ?? "";
  return BY_ENDING.get(name.split(".").at(-1) ?? "") ?? null;
}

const NAME = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /(?:0[xX][\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)/y;

/** Where a quoted text ends. A drawn backslash is two characters, so an escaped quote is three. */
function endOfString(text: string, from: number): number {
  const quote = text[from];
  for (let at = from + 1; at < text.length; at += 1) {
    if (text.startsWith("\\\\", at)) at += 2;
    else if (text[at] === "\\") at += 1;
    else if (text[at] === quote) return at + 1;
  }
  return text.length;
}

/** One line as tokens. Their texts, joined, are the line. */
export function tokens(text: string, language: Language): Token[] {
  const out: Token[] = [];
  let plain = "";
  const put = (kind: TokenKind, part: string) => {
    if (kind === null) {
      plain += part;
      return;
    }
    if (plain) out.push({ kind: null, text: plain });
    plain = "";
    out.push({ kind, text: part });
  };
  const match = (pattern: RegExp, at: number) => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  for (let at = 0; at < text.length; ) {
    const letter = text[at] ?? "";
    if (
      language.line.some(
        (mark) => text.startsWith(mark, at) && (mark !== "#" || at === 0 || /\s/.test(text[at - 1] ?? "")),
      )
    ) {
      put("comment", text.slice(at));
      break;
    }
    if (language.block && text.startsWith(language.block[0], at)) {
      const [begin, end] = language.block;
      const close = text.indexOf(end, at + begin.length);
      const stop = close < 0 ? text.length : close + end.length;
      put("comment", text.slice(at, stop));
      at = stop;
      continue;
    }
    if (language.quotes.includes(letter)) {
      const stop = endOfString(text, at);
      const key = language.keys && /^\s*:/.test(text.slice(stop));
      put(key ? "key" : "string", text.slice(at, stop));
      at = stop;
      continue;
    }
    const name = match(NAME, at);
    if (name) {
      const word = language.caseless ? name.toLowerCase() : name;
      const key = language.keys && /^\s*[:=](?:\s|$|["'[{\d])/.test(text.slice(at + name.length));
      put(key ? "key" : language.words.has(word) ? "keyword" : null, name);
      at += name.length;
      continue;
    }
    const number = match(NUMBER, at);
    if (number) {
      put("number", number);
      at += number.length;
      continue;
    }
    const one = String.fromCodePoint(text.codePointAt(at) ?? 0);
    put(null, one);
    at += one.length;
  }
  if (plain) out.push({ kind: null, text: plain });
  return out;
}
