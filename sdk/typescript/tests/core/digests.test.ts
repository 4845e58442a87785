import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  canonical,
  checkJson,
  decisionDigest,
  digest,
  keys,
  NotJson,
  type RequestRecord,
  readJson,
  requestDigest,
} from "../../src/index.js";

interface Vectors {
  canonical: { name: string; text: string; canonical: string; sha256: string }[];
  refused: {
    name: string;
    code: string;
    value: boolean;
    text?: string;
    hex?: string;
    parts?: { text: string; repeat: number }[];
  }[];
  requests: { name: string; record: RequestRecord }[];
}
const file = new URL("../../../../tests/contract/digests.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as Vectors;

const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (error instanceof NotJson) return error.code;
    throw error;
  }
  return "accepted";
};

describe("canonical form", () => {
  test.each(vectors.canonical)("$name", async ({ text, canonical: form, sha256 }) => {
    const value = readJson(text);
    expect(canonical(value)).toBe(form);
    expect(await digest(value)).toBe(sha256);
    checkJson(value);
    expect(canonical(readJson(form))).toBe(form);
    expect(canonical(JSON.parse(text))).toBe(form);
  });
});

describe("texts that are refused", () => {
  test.each(vectors.refused)("$name", ({ text, hex, parts, code, value }) => {
    const source = hex
      ? Uint8Array.from(Buffer.from(hex, "hex"))
      : (text ?? parts?.map((part) => part.text.repeat(part.repeat)).join("") ?? "");
    expect(codeOf(() => readJson(source))).toBe(code);
    if (typeof source === "string")
      expect(codeOf(() => readJson(new TextEncoder().encode(source)))).toBe(code);
    if (!value || typeof source !== "string") return;
    let parsed: unknown;
    try {
      parsed = JSON.parse(source);
    } catch {
      return;
    }
    expect(codeOf(() => checkJson(parsed))).not.toBe("accepted");
  });
});

describe("digests of whole records", () => {
  test.each(vectors.requests)("$name", async ({ record }) => {
    expect(await requestDigest(record)).toBe(record.digest);
    if (record.decision) expect(await decisionDigest(record)).toBe(record.decision.digest);
    const other = { ...record, session: `${record.session}x` };
    expect(await requestDigest(other)).not.toBe(record.digest);
  });
});

test("a strict reader and JSON.parse agree on what both accept", () => {
  const texts = [
    '{"a":[1,2.5,-3e2,"x\\n\\u00e9",null,true,false,{}]}',
    "[]",
    '"\\ud83d\\ude02"',
    "-0",
    " 7 ",
  ];
  for (const text of texts) expect(canonical(readJson(text))).toBe(canonical(JSON.parse(text)));
});

test("keys are the same for the same call and differ in every part", async () => {
  const parts = { app: "a", session: "s", agent: "g", tool: "t", arguments: { b: 1, a: 2 }, ordinal: 0 };
  const key = await keys.weak(parts);
  expect(key).toMatch(/^w2:[0-9a-f]{64}$/);
  expect(await keys.weak({ ...parts, arguments: { a: 2, b: 1 } })).toBe(key);
  for (const other of [
    { app: "b" },
    { session: "t" },
    { agent: "h" },
    { tool: "u" },
    { arguments: { a: 2 } },
    { ordinal: 1 },
    { user: "u" },
    { user: "v" },
    { tenant: "u" },
    { turn: "u" },
  ]) {
    expect(await keys.weak({ ...parts, ...other })).not.toBe(key);
  }
  const strong = await keys.strong({ framework: "ai", session: "s", callId: "c" });
  expect(strong).toMatch(/^s2:[0-9a-f]{64}$/);
  expect(await keys.strong({ framework: "ai", session: "sc", callId: "" })).not.toBe(strong);
  expect(keys.random()).not.toBe(keys.random());
});
