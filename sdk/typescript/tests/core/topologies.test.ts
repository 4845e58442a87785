/** The table of topologies says nothing that no test shows. Only texts are read: the frameworks are not needed. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const adapters = path("../adapters/");

/** Cells of the table with numbers in them, and those without. */
function table(): { shown: string[]; none: string[] } {
  const page = readFileSync(path("../../../../docs/sdk/topologies-js.md"), "utf8");
  const rows = page
    .split("\n")
    .flatMap((line) => (line.startsWith("|") ? [line.split("|").slice(1, -1)] : []));
  const [[, ...frameworks] = [], , ...topologies] = rows.map((row) => row.map((each) => each.trim()));
  const cells = topologies.flatMap(([name, ...row]) =>
    row.map((text, at) => ({ cell: `${frameworks[at]}: ${name}`, text })),
  );
  const of = (fits: RegExp) => cells.filter(({ text }) => fits.test(text)).map(({ cell }) => cell);
  const [shown, none] = [of(/^\d+ \/ \d+ \/ \d+$/), of(/^none$/)];
  expect(shown.length + none.length, "every cell has numbers or says none").toBe(cells.length);
  expect(frameworks.length * topologies.length, "no cell is missing").toBe(cells.length);
  return { shown, none };
}

/** What tests are marked with. Marks in files that tests share count for each framework that uses the file. */
function marked(): string[] {
  const texts = new Map(
    readdirSync(adapters)
      .filter((name) => name.endsWith(".ts") && name !== "topology.ts")
      .map((name) => [name, readFileSync(adapters + name, "utf8")]),
  );
  const using = (shared: string) =>
    [...texts]
      .filter(
        ([name, text]) => name.endsWith(".test.ts") && text.includes(`"./${shared.replace(".ts", ".js")}"`),
      )
      .flatMap(([, text]) => [...text.matchAll(/\bof: "([^"]+)"/g)].map(([, framework]) => framework));
  return [...texts].flatMap(([file, text]) =>
    [...text.matchAll(/\btopology\(\s*(?:"([^"]+)"|[\w.]+),\s*"([^"]+)"/g)].flatMap(([, framework, name]) =>
      (framework ? [framework] : using(file)).map((each) => `${each}: ${name}`),
    ),
  );
}

test("every cell of the table of topologies is shown by a marked test, and every marked test is in the table", () => {
  const { shown, none } = table();
  const tests = new Set(marked());
  expect(
    shown.filter((cell) => !tests.has(cell)),
    "no test is marked with these",
  ).toEqual([]);
  expect(
    [...tests].filter((cell) => !shown.includes(cell)),
    "the table does not have these",
  ).toEqual([]);
  expect(none.filter((cell) => tests.has(cell))).toEqual([]);
  expect(shown.length).toBeGreaterThan(30);
});
