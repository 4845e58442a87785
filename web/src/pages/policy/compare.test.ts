import { describe, expect, it } from "vitest";
import { diff, fold } from "./compare";

describe("diff", () => {
  it("numbers the lines of both texts", () => {
    expect(diff("a\nb\nc\n", "a\nx\nc\n")).toEqual([
      { op: " ", text: "a", before: 1, after: 1 },
      { op: "-", text: "b", before: 2, after: null },
      { op: "+", text: "x", before: null, after: 2 },
      { op: " ", text: "c", before: 3, after: 3 },
    ]);
  });
  it("finds nothing between equal texts", () => {
    expect(diff("a\nb\n", "a\nb\n").every((line) => line.op === " ")).toBe(true);
  });
});

describe("fold", () => {
  it("keeps every line, and folds only what is far from a change", () => {
    const before = Array.from({ length: 40 }, (_, at) => `line ${at}`).join("\n");
    const lines = diff(`${before}\n`, `${before.replace("line 20", "other")}\n`);
    const parts = fold(lines, 3);
    expect(parts.flatMap((part) => part.lines)).toEqual(lines);
    expect(parts.map((part) => part.fold)).toEqual([true, false, true]);
    expect(parts[1]?.lines.length).toBe(8);
  });
});
