/** What is typed before an approval of high risk: something of the content, never the name of the tool. Pure. */
import type { CardSection, CardView } from "@/api/card";
import { unquoted } from "./places";

export type WordKind =
  | "amount"
  | "host"
  | "path"
  | "name"
  | "payee"
  | "recipient"
  | "table"
  | "value"
  | "yes";
export interface TypedWord {
  kind: WordKind;
  word: string;
}

/** Short, and made of what a keyboard has. */
const TYPEABLE = /^[\p{L}\p{N}._@:+*,/$€£-](?:[\p{L}\p{N}._@:+*,/$€£ -]{0,38}[\p{L}\p{N}._@:+*,/$€£-])?$/u;

/** The last part of a path or an address. */
export function lastPart(path: string): string {
  return path.split("/").filter(Boolean).at(-1) ?? path;
}

function fromSection(section: CardSection): [WordKind, string | null | undefined][] {
  switch (section.type) {
    case "money":
      return [
        ["amount", section.amount],
        ["payee", section.to],
      ];
    case "http":
      return [["host", section.host]];
    case "kubernetes":
      return [
        ["name", section.name],
        ["name", section.namespace],
        ["name", section.resource],
      ];
    case "diff":
      return [["path", lastPart(section.path)]];
    case "file":
      return [["path", lastPart(section.name)]];
    case "message":
      return section.to.map((to): [WordKind, string] => ["recipient", to]);
    case "sql":
      return section.tables.map((table): [WordKind, string] => ["table", table]);
    case "command": {
      const words = section.commands.flatMap((command) => [
        ...command.words.slice(1).filter((word) => !word.startsWith("-")),
        ...command.redirects.map((redirect) => redirect.target),
      ]);
      // The last word is most often the target.
      const targets = words.reverse().map((word): [WordKind, string] => ["path", lastPart(word)]);
      return [
        ...targets,
        ...section.commands.map((one): [WordKind, string] => ["value", one.words[0] ?? ""]),
      ];
    }
    case "table":
      return section.rows.flatMap((row) => row.map((cell): [WordKind, string | null] => ["value", cell]));
    case "tree":
      return section.nodes.map((node): [WordKind, string | null] => ["value", node.text]);
    case "text":
      return [["value", section.text]];
    default:
      return [];
  }
}

/** Names whose values say most, before all others. */
const TELLING =
  /(^|[/_-])(amount|host|url|path|file|target|name|to|id|branch|bucket|cluster|database|table)$/i;

/** The parts of a request that its agent always writes, and that say little about what would happen. */
const ASIDE = /^\/(session|context|on_behalf_of|cancel_label)(\/|$)/;

/** The word that is asked for, from the most telling value of the card. Without any, a plain yes. */
export function wordOf(card: CardView, tool: string | null): TypedWord {
  const leaves = card.rest.filter((field) => !ASIDE.test(field.pointer));
  const telling = leaves.filter((field) => TELLING.test(field.pointer));
  const candidates = [
    ...card.sections.flatMap(fromSection),
    ...[...telling, ...leaves].map((field): [WordKind, string] => [
      "value",
      field.text.includes("/") ? lastPart(unquoted(field.text)) : unquoted(field.text),
    ]),
  ];
  for (const [kind, text] of candidates) {
    const word = unquoted(text ?? "").trim();
    const dull = /^(true|false|null|\[\]|\{\}|.)$/u.test(word);
    if (!dull && TYPEABLE.test(word) && word.toLowerCase() !== tool?.toLowerCase()) return { kind, word };
  }
  return { kind: "yes", word: "approve" };
}

/** A number that is the same for the same text. */
function seedOf(text: string): number {
  let seed = 2166136261;
  for (const letter of text) seed = Math.imul(seed ^ (letter.codePointAt(0) ?? 0), 16777619) >>> 0;
  return seed;
}

/** Words that look like this one and are another. */
function alike(word: string): string[] {
  const letters = [...word];
  const out: string[] = [];
  const put = (all: string[]) => {
    const made = all.join("");
    if (made !== word && made.trim() === made && made !== "" && !out.includes(made)) out.push(made);
  };
  const at = (test: RegExp) => letters.flatMap((letter, index) => (test.test(letter) ? [index] : []));
  const digits = at(/\d/);
  const changed = (index: number, letter: string) =>
    letters.map((one, here) => (here === index ? letter : one));
  for (const index of digits) {
    put(changed(index, String((Number(letters[index]) + 3) % 10)));
    put([...letters.slice(0, index + 1), "0", ...letters.slice(index + 1)]);
  }
  for (const index of at(/\p{L}/u)) {
    const letter = letters[index] ?? "";
    const next = letters[index + 1] ?? "";
    if (/\p{L}/u.test(next) && next !== letter) {
      put([...letters.slice(0, index), next, letter, ...letters.slice(index + 2)]);
    }
    put([...letters.slice(0, index), letter, ...letters.slice(index)]);
  }
  // A word of one letter, or of signs alone.
  if (out.length < 2) for (const more of ["1", "2"]) put([...letters, more]);
  return out;
}

/** The word and two others that look like it, in an order that follows from `seed`. */
export function choicesOf(word: string, seed: string): string[] {
  const number = seedOf(`${seed} ${word}`);
  const others = alike(word);
  const first = others[number % others.length] ?? `${word}1`;
  const second =
    others.filter((other) => other !== first)[(number >>> 8) % Math.max(1, others.length - 1)] ?? `${word}2`;
  const out = [first, second];
  out.splice((number >>> 16) % 3, 0, word);
  return out;
}
