import { describe, expect, it } from "vitest";
import { highlight } from "./toml";

const marks = (text: string) =>
  highlight(text).map((pieces) => pieces.map(({ mark, text }) => `${mark}:${text}`));

describe("highlight", () => {
  it("loses no character", () => {
    const text =
      "version = 1 # one\n[[rule]]\nname = \"a # b\"\nwhen = '''\nx == \"y\"\n'''\ntool = [\"a\", 'b']\n";
    expect(
      highlight(text)
        .map((pieces) => pieces.map((piece) => piece.text).join(""))
        .join("\n"),
    ).toBe(text);
  });
  it("marks keys, values, headers and comments", () => {
    expect(marks("risk = true # no")).toEqual([
      ["key:risk", "plain: = ", "word:true", "plain: ", "comment:# no"],
    ]);
    expect(marks("[needs.two]")).toEqual([["header:[needs.two]"]]);
    expect(marks("people = 2")).toEqual([["key:people", "plain: = ", "number:2"]]);
  });
  it("keeps a hash inside a string", () => {
    expect(marks('name = "a # b"')).toEqual([["key:name", "plain: = ", 'string:"a # b"']]);
  });
  it("carries strings of several lines", () => {
    expect(marks("when = '''\na = 1 # x\n'''\nb = 2").map((each) => each[0])).toEqual([
      "key:when",
      "string:a = 1 # x",
      "string:'''",
      "key:b",
    ]);
  });
  it("takes a list on its own line for values", () => {
    expect(marks('  ["a", "b"],')[0]?.some((each) => each.startsWith("header"))).toBe(false);
  });
});
