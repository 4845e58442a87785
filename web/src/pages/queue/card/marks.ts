/** Which words changed between two lines, and a line cut into pieces of one look each. Pure. */
import { diffArrays } from "diff";
import type { DiffRow } from "@/api/card";
import { type Language, type Token, type TokenKind, tokens } from "./tokens";

/** From and to, in characters of the line. */
export type Range = [number, number];

const WORDS = /[\p{L}\p{N}_]+|\s+|./gsu;
/** Longer lines are not compared word by word. */
const LONGEST = 1000;
const EDITS = 200;

/** The changed parts of both lines. None if the lines have little in common: then the whole line is new. */
export function changedWords(before: string, after: string): { before: Range[]; after: Range[] } {
  const none = { before: [], after: [] };
  if (before.length > LONGEST || after.length > LONGEST || before === after) return none;
  const parts = diffArrays(before.match(WORDS) ?? [], after.match(WORDS) ?? [], { maxEditLength: EDITS });
  if (!parts) return none;
  const out: { before: Range[]; after: Range[] } = { before: [], after: [] };
  let [old, now, same] = [0, 0, 0];
  for (const part of parts) {
    const text = part.value.join("");
    if (part.removed) {
      out.before.push([old, old + text.length]);
      old += text.length;
    } else if (part.added) {
      out.after.push([now, now + text.length]);
      now += text.length;
    } else {
      same += text.trim().length;
      old += text.length;
      now += text.length;
    }
  }
  return same * 3 >= Math.min(before.trim().length, after.trim().length) ? out : none;
}

/** The marks of every line of a change: removed and added lines that stand together are compared in pairs. */
export function marksOf(lines: readonly DiffRow[]): ReadonlyMap<number, Range[]> {
  const out = new Map<number, Range[]>();
  for (let at = 0; at < lines.length; ) {
    const start = at;
    while (lines[at]?.op === "-") at += 1;
    const middle = at;
    while (lines[at]?.op === "+") at += 1;
    for (let pair = 0; pair < Math.min(middle - start, at - middle); pair += 1) {
      const [old, now] = [lines[start + pair], lines[middle + pair]];
      if (!old || !now) continue;
      const changed = changedWords(old.text, now.text);
      out.set(start + pair, changed.before);
      out.set(middle + pair, changed.after);
    }
    if (at === start) at += 1;
  }
  return out;
}

export interface Piece {
  kind: TokenKind;
  marked: boolean;
  text: string;
}

/** A line in pieces of one colour and mark each. Joined they are the line. */
export function pieces(text: string, language: Language | null, marks: readonly Range[] = []): Piece[] {
  const coloured: Token[] =
    language && text.length <= LONGEST * 4
      ? tokens(text, language)
      : text === ""
        ? []
        : [{ kind: null, text }];
  const out: Piece[] = [];
  let at = 0;
  for (const token of coloured) {
    const end = at + token.text.length;
    const cuts = new Set([at, end]);
    for (const mark of marks) for (const cut of mark) if (cut > at && cut < end) cuts.add(cut);
    const sorted = [...cuts].sort((a, b) => a - b);
    for (let piece = 0; piece + 1 < sorted.length; piece += 1) {
      const [from = 0, to = 0] = [sorted[piece], sorted[piece + 1]];
      out.push({
        kind: token.kind,
        marked: marks.some((mark) => mark[0] <= from && to <= mark[1]),
        text: text.slice(from, to),
      });
    }
    at = end;
  }
  return out;
}
