// Random requests of every kind, the same in every run. Few different values, so that many places have the same text.
import { confirmation, plan, previews, question } from "./ask.mjs";

/** The same numbers in every run, so that a failure comes back. */
export function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const HUGE = Array.from({ length: 60 }, (_, line) => `line ${line} of many`).join("\n");
const VALUES = [
  "true",
  true,
  "12",
  12,
  1e21,
  -0.5,
  "",
  " ",
  null,
  {},
  [],
  "x",
  "x ",
  " x",
  "POST",
  false,
  "a, b",
  // Words of the page.
  "Everything else",
  "Approve",
  "absent",
  '""',
  "–",
  // What may deceive.
  "12\u202e34",
  "a\u200bb",
  "first\\nnot a line",
  "tab\tand\nline\n\n",
  '{"a":"x"}',
  "[object Object]",
  "</pre><b>x</b>",
  "/arguments/a",
  "Sch\u00f6n \u4f60\u597d \ud83d\ude42",
  // Long and huge.
  `${"y".repeat(200)} end`,
  HUGE,
  "z".repeat(4000),
];
const NAMES = [
  "a",
  "b",
  "0",
  "1",
  "to",
  "note",
  "x/y",
  "m~n",
  "dry_run",
  "options",
  "",
  "a b",
  "amount",
  "\u200b",
  '"q"',
];

export function value(pick, depth = 0) {
  const kind = depth > 3 ? 0 : pick(5);
  if (kind < 2) return VALUES[pick(VALUES.length)];
  if (kind === 2) return Array.from({ length: pick(4) }, () => value(pick, depth + 1));
  if (kind === 3) return object(pick, depth);
  // Alike objects, which make a table.
  return Array.from({ length: 2 + pick(3) }, () => ({ a: VALUES[pick(18)], b: VALUES[pick(18)] }));
}

function object(pick, depth) {
  return Object.fromEntries(
    Array.from({ length: pick(4) }, () => [NAMES[pick(NAMES.length)], value(pick, depth + 1)]),
  );
}

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC";

/** Known shapes whose own values are equal to those beside them, and shapes for every type of section. */
const SHAPES = [
  () => ({ ...previews.shell(), arguments: { command: "true", cwd: "x", description: "true" } }),
  () => ({
    ...previews.shell(),
    arguments: { command: "git pull || true", dangerouslyDisableSandbox: true },
  }),
  () => ({ ...previews.shell(), arguments: { command: "cat <<E\n\tone\n\ntwo\nE\nrm -rf x\n" } }),
  () => ({ ...previews.sql(), arguments: { sql: "DELETE FROM x", database: "x" } }),
  () => ({ ...previews.diff(), arguments: { path: "x", old_string: "12", new_string: "true" } }),
  () => ({
    ...previews.diff(),
    arguments: { path: "a.py", old_string: "def f():\n\treturn 12\n", new_string: "def f():\n\treturn 13\n" },
  }),
  () => ({
    ...previews.diff(),
    tool: "create_file",
    arguments: { path: "x.json", content: '{\n  "a": 1\n}' },
  }),
  () => ({
    ...previews.http(),
    arguments: { method: "POST", url: "https://a.example/x", headers: { a: "POST" }, body: "12" },
  }),
  () => ({ ...previews.email(), arguments: { to: ["x", "a, b"], cc: ["x"], subject: "12", body: "true" } }),
  () => ({
    ...previews.email(),
    arguments: { to: "x", subject: "", body: "Dear Ann,\n\n  here it is.\n\nBob" },
  }),
  () => ({
    ...previews.money(),
    arguments: { amount: "12", currency: "EUR", to: "x", reference: "12", iban: "x" },
  }),
  () => ({ ...previews.json(), arguments: {} }),
  () => ({ ...previews.json(), arguments: { picture: `data:image/png;base64,${PNG}` } }),
  () => ({ ...previews.json(), arguments: { picture: { media_type: "image/png", data: PNG } } }),
  () => ({
    ...previews.json(),
    arguments: { file: { name: "a.txt", media_type: "text/plain", content_base64: "aGVsbG8=" } },
  }),
];

function action(pick, at) {
  const body = (SHAPES[at] ?? previews.json)();
  for (let more = pick(5); more > 0; more -= 1) {
    const name = NAMES[pick(NAMES.length)];
    if (!(name in body.arguments)) body.arguments[name] = value(pick);
  }
  if (pick(3) === 0) body.context = object(pick, 2);
  if (pick(4) === 0) body.on_behalf_of = "x";
  return body;
}

function text(pick) {
  const found = VALUES[pick(VALUES.length)];
  return typeof found === "string" && found.trim() !== "" ? found : "x";
}

const KINDS = [
  (pick) =>
    plan({
      title: text(pick),
      steps: Array.from({ length: 1 + pick(3) }, (_, at) => ({
        id: `s${at}`,
        action: ["run", "x", "delete_file"][pick(3)],
        description: text(pick),
        arguments: object(pick, 1),
        optional: pick(2) === 0,
      })),
    }),
  (pick) => question({ type: "choice", options: ["x", "12", "true"] }, text(pick), { default: "12" }),
  (pick) => question({ type: "text" }, text(pick), { default: text(pick) }),
  (pick) => confirmation({ message: text(pick), details: text(pick), confirm_label: "x" }),
];

/** Requests of every shape and kind, `rounds` times. Each has the session. */
export function bodies(seed, rounds, session) {
  const pick = random(seed);
  const out = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const at of SHAPES.keys()) out.push(action(pick, at));
    for (const kind of KINDS) out.push(kind(pick));
  }
  return out.map((body) => ({ ...body, session }));
}

/** How many leaves a value has: scalars, and objects and lists with nothing in them. */
export function leaves(inner) {
  if (inner === null || typeof inner !== "object") return 1;
  const all = Object.values(inner);
  return all.length === 0 ? 1 : all.reduce((sum, each) => sum + leaves(each), 0);
}
