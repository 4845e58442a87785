import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { Json } from "../../src/index.js";
import { schemaProblem } from "../../src/schema.js";

const root = fileURLToPath(new URL("../../", import.meta.url));

test("the types are those of the server's document", () => {
  const folder = mkdtempSync(join(tmpdir(), "placet-types-"));
  const made = join(folder, "api.ts");
  const program = join(root, "node_modules/openapi-typescript/bin/cli.js");
  execFileSync(process.execPath, [program, "../../api/openapi.json", "--output", made], {
    cwd: root,
    stdio: "pipe",
  });
  const [fresh, kept] = [readFileSync(made, "utf8"), readFileSync(join(root, "src/api.ts"), "utf8")];
  rmSync(folder, { recursive: true });
  expect(kept === fresh, "run `npm run types`").toBe(true);
});

describe("a JSON schema", () => {
  const point = {
    type: "object",
    required: ["x"],
    properties: { x: { type: "number", minimum: 0 } },
    additionalProperties: false,
  };
  test.each<[string, Json, Json, RegExp | undefined]>([
    ["fits", point, { x: 1 }, undefined],
    ["wants what is missing", point, {}, /"x" is missing/],
    ["refuses what is unknown", point, { x: 1, y: 2 }, /^\/y: is not an argument/],
    ["knows types", point, { x: "1" }, /^\/x: must be number/],
    ["knows bounds", point, { x: -1 }, /^\/x: must be at least 0/],
    ["knows integers", { type: "integer" }, 1.5, /must be integer/],
    ["takes any of several types", { type: ["string", "null"] }, null, undefined],
    [
      "knows lists",
      { type: "array", items: { type: "string" }, maxItems: 2 },
      ["a", 1],
      /^\/1: must be string/,
    ],
    ["counts lists", { items: {}, maxItems: 1 }, [1, 2], /at most 1 items/],
    ["knows enums", { enum: ["a", { b: 1 }] }, { b: 1 }, undefined],
    ["knows what is not in an enum", { enum: ["a"] }, "b", /one of \["a"\]/],
    ["follows references", { $ref: "#/$defs/p", $defs: { p: point } }, { x: "no" }, /^\/x/],
    ["refuses foreign references", { $ref: "https://example.com/s" }, 1, /is not in it/],
    ["ends where a reference does not", { $ref: "#" }, 1, /without end/],
    ["knows anyOf", { anyOf: [{ type: "string" }, { type: "number" }] }, true, /none of the forms/],
    ["knows oneOf", { oneOf: [{ type: "number" }, { minimum: 0 }] }, 1, /exactly one/],
    ["knows not", { not: { type: "string" } }, "x", /excludes/],
    ["leaves to the server what it does not look at", { pattern: "^a" }, "b", undefined],
    ["does not take that for a fit under not", { not: { pattern: "/" } }, "b", undefined],
    ["nor under oneOf", { oneOf: [{ pattern: "a" }, { pattern: "b" }] }, "b", undefined],
    [
      "nor through a reference",
      { not: { $ref: "#/$defs/p" }, $defs: { p: { pattern: "x" } } },
      "b",
      undefined,
    ],
    ["knows tuples", { prefixItems: [{ type: "string" }], items: { type: "number" } }, ["a", "b"], /^\/1/],
    ["leaves older tuples to the server", { items: [{ type: "string" }] }, [1], undefined],
    ["counts characters and not code units", { maxLength: 1 }, "😂", undefined],
    ["refuses what is false", { properties: { x: false } }, { x: 1 }, /nothing is allowed/],
    ["is not fooled by a prototype", point, JSON.parse('{"x":1,"__proto__":{"y":1}}') as Json, /__proto__/],
    ["that is no schema fits nothing", "string", "x", /neither an object/],
  ])("%s", (_, schema, value, problem) => {
    const found = schemaProblem(schema, value);
    if (problem) expect(found).toMatch(problem);
    else expect(found).toBeUndefined();
  });
});
