/** The card: the server's one view of a request. Every place draws it, and a yes carries its digest. */
import type { Display, DisplayField, RequestRecord, Row, ShellCommand } from "./extra";

export interface CardFlag {
  /** Where; empty for the whole request. */
  pointer: string;
  why: string;
}

/** One line of a change, with its numbers before and after where they are known. */
export interface DiffRow {
  op: string;
  text: string;
  old?: number | null;
  new?: number | null;
}
export interface TreeNode {
  depth: number;
  key: string;
  /** Null for an object or a list, whose content follows. */
  text: string | null;
}
type Pairs = [string, string][];

/** The content of each type of section. */
export interface SectionBodies {
  command: {
    command: string;
    opaque: boolean;
    why?: string | null;
    commands: ShellCommand[];
    cwd?: string | null;
    claimed_cwd?: string | null;
  };
  diff: { path: string; change: string; lines: DiffRow[]; truncated: boolean };
  sql: { statement: string; kind: string; tables: string[]; where: boolean; statements: number };
  money: { amount: string; currency: string; to: string; accounts: Pairs; reference?: string | null };
  message: {
    medium: string;
    to: string[];
    cc: string[];
    bcc: string[];
    subject?: string | null;
    body: string;
  };
  http: { method: string; url: string; host: string; headers: Pairs; body?: string | null };
  kubernetes: {
    verb: string;
    resource: string;
    name?: string | null;
    namespace?: string | null;
    cluster?: string | null;
    manifest?: string | null;
  };
  table: { columns: string[]; rows: (string | null)[][] };
  tree: { nodes: TreeNode[] };
  text: { text: string };
  image: { media_type: string; bytes: number; data: string };
  file: { name: string; media_type?: string | null; bytes: number; data: string };
  step: { id: string; action: string; description: string; sentence: string; optional: boolean };
  /** A type that this page does not know: the values at its pointers are listed. */
  other: object;
}
export type SectionType = keyof SectionBodies;
interface SectionBase {
  title?: string | null;
  /** The step of a plan that it belongs to, from 1. */
  step?: number | null;
  /** The leaves whose whole value can be read in it. */
  pointers: string[];
}
export type CardSection = { [T in SectionType]: { type: T } & SectionBodies[T] & SectionBase }[SectionType];
export type SectionOf<T extends SectionType> = Extract<CardSection, { type: T }>;

/** What the server sends. The type of a section is one of `SectionType`, or newer than this page. */
export interface CardView {
  sentence: string;
  /** What an approval carries; null from a server that made no card. */
  digest: string | null;
  sections: CardSection[];
  rest: DisplayField[];
  flagged: CardFlag[];
  /** How many leaves are not on the card. With any it cannot be approved. */
  hidden: number;
}
export interface CardLine {
  sentence: string;
  hidden: number;
}

const KNOWN: { [T in SectionType]: true } = {
  command: true,
  diff: true,
  sql: true,
  money: true,
  message: true,
  http: true,
  kubernetes: true,
  table: true,
  tree: true,
  text: true,
  image: true,
  file: true,
  step: true,
  other: true,
};

/** The parts of a record that no card has: the agent's words, its schema for edits, and its name of a group. */
const ASIDE = /^\/(summary|arguments_schema|group)(\/|$)/;
/** The parts that a replacement stands beside. What it replaces is no part of what will run. */
const REPLACED = /^\/(arguments|steps|answer)(\/|$)/;

/** The text at each pointer, as the server draws it. */
export function textsOf(display: Display | null | undefined): ReadonlyMap<string, string> {
  return new Map(display?.fields.map((field) => [field.pointer, field.text]));
}

const made = new WeakMap<RequestRecord, CardView | null>();

/** The card of a record; null if nothing may be drawn, as after erasure. The same record gives the same card. */
export function cardOf(record: RequestRecord): CardView | null {
  const known = made.get(record);
  if (known !== undefined) return known;
  const { view } = record;
  // From a line alone nothing is approved: a record of a list has no card.
  const card = !view ? plain(record) : "sections" in view ? readable(view, record.display) : null;
  made.set(record, card);
  return card;
}

/** Sections that this page cannot draw are listed value by value. What cannot be listed either is hidden. */
function readable(view: CardView, display: Display | null | undefined): CardView {
  const texts = textsOf(display);
  let { hidden } = view;
  const sections = view.sections.map((section): CardSection => {
    if (Object.hasOwn(KNOWN, section.type) && section.type !== "other") return section;
    const { title, step, pointers } = section as CardSection;
    hidden += pointers.filter((pointer) => !texts.has(pointer)).length;
    return { type: "other", title, step, pointers };
  });
  return { ...view, sections, hidden };
}

/**
 * A card without sections, which lists every value. While servers are upgraded one after the other, a new page can be
 * answered by an old server, which sends `display` alone.
 */
function plain(record: RequestRecord): CardView | null {
  const { display } = record;
  if (!display) return null;
  const at = record.decision ? "decision" : record.proposal ? "proposal" : null;
  const replaced = at !== null && display.fields.some((field) => field.pointer.startsWith(`/${at}/`));
  const runs = display.fields.filter(
    ({ pointer }) =>
      !ASIDE.test(pointer) &&
      !(replaced && REPLACED.test(pointer)) &&
      (!/^\/(proposal|decision)\//.test(pointer) || pointer.startsWith(`/${at}/`)),
  );
  return {
    sentence: display.effect ?? "",
    digest: null,
    sections: [],
    rest: runs,
    flagged: (display.warnings ?? []).map(({ pointer, text }) => ({ pointer: pointer ?? "", why: text })),
    hidden: 0,
  };
}

/** What will happen, in one sentence; from the page's own words if the server says none. */
export function sentenceOf(record: RequestRecord): string {
  const sentence = record.view?.sentence ?? record.display?.effect;
  if (sentence) return sentence;
  const shown = (pointer: string) => record.display?.fields.find((field) => field.pointer === pointer)?.text;
  switch (record.kind) {
    case "action": {
      const count = Object.keys(record.arguments ?? {}).length;
      return `Call ${record.tool ?? "a tool"} with ${count} argument${count === 1 ? "" : "s"}`;
    }
    case "plan":
      return shown("/title") ?? "Carry out a plan";
    case "input":
      return shown("/question") ?? "Answer a question";
    case "confirmation":
      return shown("/message") ?? "Confirm";
  }
}

/** The card of a line of a list. */
export function lineOf(row: Row): CardLine {
  return row.view ?? { sentence: row.effect, hidden: 0 };
}
