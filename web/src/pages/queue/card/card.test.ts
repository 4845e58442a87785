import { expect, test } from "vitest";
import { type CardSection, cardOf, lineOf, sentenceOf } from "@/api/card";
import { record, row } from "@/api/fixtures";
import { broken, cutOff } from "./breaks";
import { endOf, folded, inView, SMALL } from "./folds";
import { changedWords, marksOf, pieces } from "./marks";
import { pictureOf } from "./picture";
import { flaggedFirst, placeOf, restGroups } from "./place";
import { placesOf, slotsOf, WHOLE } from "./places";
import { LANGUAGES, languageOf, tokens } from "./tokens";
import { choicesOf, wordOf } from "./word";

const field = (pointer: string, text = "") => ({ pointer, text });
const plain = { sentence: "Do it", digest: "d", sections: [], rest: [], flagged: [], hidden: 0 };

test("the card of a record is the server's, and a line of a list is no card", () => {
  expect(cardOf(record({ view: plain }))).toMatchObject(plain);
  const listed = record({ view: { sentence: "Do it", hidden: 3 } });
  expect(cardOf(listed)).toBe(null);
  expect(sentenceOf(listed)).toBe("Do it");
  expect(lineOf(row("a", { view: { sentence: "Do it", hidden: 3 } }))).toEqual({
    sentence: "Do it",
    hidden: 3,
  });
  expect(lineOf(row("a", { view: null }))).toEqual({ sentence: "Delete 1 file: a.md", hidden: 0 });
  expect(cardOf(record())).toBe(null);
});

test("a type of section that the page does not know is listed, and what cannot be listed is hidden", () => {
  const section = { type: "hologram", pointers: ["/arguments/a", "/arguments/b"] } as unknown as CardSection;
  const display = { digest: "", fields: [field("/arguments/a", "1")] };
  const card = cardOf(record({ view: { ...plain, sections: [section] }, display }));
  expect(card?.sections).toEqual([
    { type: "other", title: undefined, step: undefined, pointers: section.pointers },
  ]);
  expect(card?.hidden).toBe(1);
});

test("a server that makes no card gets one that lists every value of what would run", () => {
  const fields = [
    "/arguments/a",
    "/session",
    "/context/x",
    "/summary",
    "/group",
    "/arguments_schema/type",
    "/proposal/arguments/a",
  ].map((pointer) => field(pointer));
  const of = (more: object) => cardOf(record({ display: { digest: "", fields, effect: "e" }, ...more }));
  const rest = of({
    proposal: { by: "ann", decision: "edit", digest: "e", at: "", arguments: {}, answer: null, steps: null },
  })?.rest;
  expect(rest?.map(({ pointer }) => pointer)).toEqual(["/session", "/context/x", "/proposal/arguments/a"]);
  expect(of({ proposal: null })?.rest.map(({ pointer }) => pointer)).toEqual([
    "/arguments/a",
    "/session",
    "/context/x",
  ]);
  expect(of({})?.digest).toBe(null);
});

test("line ends and tabs are drawn as such, and a doubled backslash never makes one", () => {
  expect(broken("a\\nb\\tc")).toBe("a\nb\tc");
  expect(broken("a\\\\nb")).toBe("a\\\\nb");
  expect(broken("a\\nb\\n\\t")).toBe("a\nb\\n\\t");
  expect(broken("a\\\\\\nb")).toBe("a\\\\\nb");
  expect(broken("a\\rb\\u{200b}")).toBe("a\\rb\\u{200b}");
});

test("a long text says how much of it is hidden", () => {
  const text = Array.from({ length: 30 }, (_, line) => `line ${line}`).join("\n");
  expect(cutOff(text, { lines: 24, characters: 2400 })).toMatchObject({ lines: 6 });
  expect(cutOff("x".repeat(3000), { lines: 24, characters: 2400 })).toMatchObject({
    lines: 0,
    characters: 600,
  });
  expect(cutOff("x\u{1f642}", { lines: 1, characters: 2 })).toEqual({ head: "x", lines: 0, characters: 1 });
  expect(cutOff("short", { lines: 1, characters: 5 })).toBe(null);
});

test("colours never change a line", () => {
  const lines = [
    "const a = 'x\\\\' + \"b\"; // end",
    "def f(x): # comment 'a",
    "SELECT * FROM users WHERE a = 'x' -- why",
    '{"a": [1, true, null, "x"]}',
    "name: value # c",
    "/* open",
    "\u4f60\u597d \u{1f642} 12.5e3",
    "",
    "'never closed",
  ];
  for (const language of Object.values(LANGUAGES))
    for (const line of lines) {
      expect(
        tokens(line, language)
          .map((token) => token.text)
          .join(""),
      ).toBe(line);
      expect(
        pieces(line, language, [[1, 4]])
          .map((piece) => piece.text)
          .join(""),
      ).toBe(line);
    }
});

test("strings, comments, keywords and numbers are told apart", () => {
  const kinds = (text: string, path: string) => {
    const language = languageOf(path);
    return language
      ? tokens(text, language).flatMap((token) => (token.kind ? [[token.kind, token.text]] : []))
      : null;
  };
  expect(kinds("return 'a' + 12 # why", "x/y.py")).toEqual([
    ["keyword", "return"],
    ["string", "'a'"],
    ["number", "12"],
    ["comment", "# why"],
  ]);
  expect(kinds('  "a": "b",', "a.json")).toEqual([
    ["key", '"a"'],
    ["string", '"b"'],
  ]);
  expect(kinds("delete from t", "a.SQL")?.map(([, text]) => text)).toEqual(["delete", "from"]);
  // A drawn backslash is two characters, so this quote is escaped and the text goes on.
  expect(kinds(String.raw`x = "a\\" + b" + 1`, "a.ts")).toContainEqual(["string", String.raw`"a\\" + b"`]);
  expect(kinds("a#b", "a.sh")).toEqual([]);
  expect(kinds("x", "README")).toBe(null);
});

test("the words that changed are marked, and a line that has nothing in common is not", () => {
  expect(changedWords("retries = 3", "retries = 5")).toEqual({ before: [[10, 11]], after: [[10, 11]] });
  expect(changedWords("alpha", "omega 7 zeta")).toEqual({ before: [], after: [] });
  const marks = marksOf([
    { op: " ", text: "a" },
    { op: "-", text: "let x = 1" },
    { op: "-", text: "gone" },
    { op: "+", text: "let x = 2" },
  ]);
  expect([...marks]).toEqual([
    [1, [[8, 9]]],
    [3, [[8, 9]]],
  ]);
});

const money = (to: string): CardSection => ({
  type: "money",
  amount: "12",
  currency: "EUR",
  to,
  accounts: [["iban", "12"]],
  reference: "12",
  pointers: [
    "/arguments/reference",
    "/arguments/iban",
    "/arguments/amount",
    "/arguments/to",
    "/arguments/currency",
  ],
});
const texts = new Map([
  ["/arguments/amount", '"12"'],
  ["/arguments/iban", '"12"'],
  ["/arguments/reference", '"12"'],
  ["/arguments/currency", '"EUR"'],
  ["/arguments/to", '"A \\"B\\""'],
]);

test("equal values are told apart by their names, and a value that is not drawn has no place of its own", () => {
  expect(Object.fromEntries(placesOf(money('A "B"'), texts))).toEqual({
    amount: ["/arguments/amount"],
    "accounts.0": ["/arguments/iban"],
    reference: ["/arguments/reference"],
    currency: ["/arguments/currency"],
    to: ["/arguments/to"],
  });
  expect(placesOf(money("Mallory"), texts).get(WHOLE)).toEqual(["/arguments/to"]);
  expect(placesOf(money("Mallory"), texts).has("to")).toBe(false);
});

test("tables and trees have a place for every cell", () => {
  const table: CardSection = {
    type: "table",
    columns: ["a", "b"],
    rows: [
      ["1", null],
      ["2", "3"],
    ],
    pointers: [],
  };
  expect(slotsOf(table).map(({ slot }) => slot)).toEqual(["0.0", "1.0", "1.1"]);
});

test("a tree begins folded when it is large, and says what is in view", () => {
  const nodes = [0, 1, 2, 2, 1, 0].map((depth, at) => ({ depth, key: `${at}`, text: null }));
  expect(endOf(nodes, 1)).toBe(4);
  expect(inView(nodes, new Set([1]))).toEqual([0, 1, 4, 5]);
  expect(folded(nodes).size).toBe(0);
  const large = Array.from({ length: SMALL + 1 }, (_, at) => ({ depth: at % 3, key: "k", text: null }));
  expect(inView(large, folded(large)).length).toBeLessThan(large.length);
});

test("an argument that is called like a part of the request is told from it", () => {
  const { runs, around } = restGroups([field("/arguments/session"), field("/session"), field("/context/a")]);
  expect(runs.strip).toBe("/arguments");
  expect(runs.fields.map((one) => placeOf(one, runs.strip))).toEqual(["session"]);
  expect(around.fields.map((one) => placeOf(one, around.strip))).toEqual(["session", "context/a"]);
  expect(restGroups([field("/arguments/a"), field("/question")]).runs.strip).toBe("");
});

test("flagged values come first", () => {
  const fields = [field("/a"), field("/b"), field("/c")];
  expect(flaggedFirst(fields, [{ pointer: "/c", why: "" }]).map(({ pointer }) => pointer)).toEqual([
    "/c",
    "/a",
    "/b",
  ]);
});

test("the word of a high risk is of the content, and never the name of the tool", () => {
  const of = (sections: CardSection[], rest = [field("/session", "s")], tool = "pay") =>
    wordOf({ ...plain, sections, rest }, tool);
  expect(of([money("A")])).toEqual({ kind: "amount", word: "12" });
  expect(
    of([
      {
        type: "http",
        method: "POST",
        url: "https://a.example/x",
        host: "a.example",
        headers: [],
        pointers: [],
      },
    ]).word,
  ).toBe("a.example");
  expect(
    of([
      { type: "diff", path: "/srv/x/config.toml", change: "edit", lines: [], truncated: false, pointers: [] },
    ]).word,
  ).toBe("config.toml");
  expect(
    of([], [field("/arguments/x", '"pay"'), field("/arguments/y", "true"), field("/arguments/z", '"eu"')])
      .word,
  ).toBe("eu");
  expect(of([], [field("/arguments/note", '"n n"'), field("/arguments/path", '"/srv/data"')]).word).toBe(
    "data",
  );
  expect(of([]).word).toBe("approve");
});

test("of three words one is right, and all differ", () => {
  for (const word of ["1250.00", "api.example.com", "x", "7", "aa", "Z\u00fcrich", "approve", "00"]) {
    const choices = choicesOf(word, "seed");
    expect(new Set(choices).size, word).toBe(3);
    expect(
      choices.filter((one) => one === word),
      word,
    ).toHaveLength(1);
    expect(choicesOf(word, "seed")).toEqual(choices);
  }
  const places = new Set(
    Array.from({ length: 40 }, (_, seed) => choicesOf("1250.00", `${seed}`).indexOf("1250.00")),
  );
  expect(places.size).toBe(3);
});

const png = (width: number, height: number) => {
  const bytes = new Uint8Array(40);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  new DataView(bytes.buffer).setUint32(16, width);
  new DataView(bytes.buffer).setUint32(20, height);
  return btoa(String.fromCharCode(...bytes));
};

test("a picture is drawn if its bytes say what it is and how large", () => {
  expect(pictureOf(png(10, 20))).toMatchObject({ type: "image/png", width: 10, height: 20 });
  expect(pictureOf(btoa("GIF89a\x05\x00\x06\x00"))).toMatchObject({ type: "image/gif", width: 5, height: 6 });
  const jpeg = "\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x07\x00\x09";
  expect(pictureOf(btoa(jpeg))).toMatchObject({ type: "image/jpeg", width: 9, height: 7 });
});

test("what is no picture, is broken or is too large is not drawn", () => {
  expect(pictureOf("not base64!")).toBe("base64");
  expect(pictureOf("data:image/png;base64,AAAA")).toBe("base64");
  expect(pictureOf(btoa('<svg onload="x()"/>'))).toBe("type");
  expect(pictureOf(btoa("\x89PNG\r\n\x1a\n"))).toBe("broken");
  expect(pictureOf(btoa("\xff\xd8\xff\xe0"))).toBe("broken");
  expect(pictureOf(png(0, 5))).toBe("broken");
  expect(pictureOf(png(8000, 8000))).toBe("large");
  expect(pictureOf(png(1, 9000))).toBe("large");
  expect(pictureOf("A".repeat(1_500_000))).toBe("large");
});
