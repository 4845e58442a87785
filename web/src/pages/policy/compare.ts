/** Compares two texts line by line, with line numbers. Long parts without a change are folded. */
import { diffLines } from "diff";

export interface DiffLine {
  op: " " | "+" | "-";
  text: string;
  before: number | null;
  after: number | null;
}
export type DiffPart = { fold: false; lines: DiffLine[] } | { fold: true; lines: DiffLine[] };

/** Every line of both texts. */
export function diff(before: string, after: string): DiffLine[] {
  const out: DiffLine[] = [];
  let old = 0;
  let fresh = 0;
  for (const change of diffLines(before, after)) {
    const lines = change.value.replace(/\n$/, "").split("\n");
    for (const text of lines) {
      if (change.added) out.push({ op: "+", text, before: null, after: ++fresh });
      else if (change.removed) out.push({ op: "-", text, before: ++old, after: null });
      else out.push({ op: " ", text, before: ++old, after: ++fresh });
    }
  }
  return out;
}

/** Folds lines that are more than `around` lines away from a change. */
export function fold(lines: DiffLine[], around = 3): DiffPart[] {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, at) => {
    if (line.op === " ") return;
    for (let each = Math.max(0, at - around); each <= Math.min(lines.length - 1, at + around); each += 1)
      near[each] = 1;
  });
  const parts: DiffPart[] = [];
  lines.forEach((line, at) => {
    const folded = near[at] === 0;
    const last = parts.at(-1);
    if (last && last.fold === folded) last.lines.push(line);
    else parts.push({ fold: folded, lines: [line] });
  });
  return parts;
}
