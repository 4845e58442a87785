import { expect, test } from "vitest";
import { draftStore } from "./drafts";

function tab(): Storage {
  const all = new Map<string, string>();
  return {
    getItem: (name: string) => all.get(name) ?? null,
    setItem: (name: string, value: string) => void all.set(name, value),
    removeItem: (name: string) => void all.delete(name),
    key: (index: number) => [...all.keys()][index] ?? null,
    clear: () => all.clear(),
    get length() {
      return all.size;
    },
  };
}
function store() {
  const storage = tab();
  return { storage, drafts: draftStore(() => storage) };
}

test("what was typed comes back to the same person who sees the same thing, and to nobody else", () => {
  const { drafts } = store();
  drafts.write("ann", "req_1.deny", "sha256:a 1", "because");
  expect(drafts.read("ann", "req_1.deny", "sha256:a 1")).toBe("because");
  expect(drafts.read("bob", "req_1.deny", "sha256:a 1")).toBeUndefined();
  expect(drafts.read("ann", "req_1.deny", "sha256:b 1")).toBeUndefined();
  expect(drafts.read("ann", "req_1.deny", "sha256:a 2")).toBeUndefined();
  expect(drafts.read("ann", "req_1.approve", "sha256:a 1")).toBeUndefined();
});

test("parts of a request are named for whoever can go on with them", () => {
  const { drafts } = store();
  drafts.write("ann", "req_1.deny", "a 1", "because");
  drafts.write("ann", "req_1.edit", "a 1", { values: {} });
  drafts.write("ann", "req_10.deny", "a 1", "another");
  expect(drafts.parts("ann", "req_1", "a 1")).toEqual(["deny", "edit"]);
  expect(drafts.parts("ann", "req_1", "a 2")).toEqual([]);
  expect(drafts.parts("bob", "req_1", "a 1")).toEqual([]);
});

test("one part, one request, others' drafts and everything can be forgotten", () => {
  const { drafts, storage } = store();
  storage.setItem("placet.theme", "dark");
  for (const name of ["req_1.deny", "req_1.edit", "req_2.deny"]) drafts.write("ann", name, "a 1", "x");
  drafts.write("bob", "req_3.deny", "a 1", "x");
  drafts.drop("req_1", "deny");
  expect(drafts.parts("ann", "req_1", "a 1")).toEqual(["edit"]);
  drafts.drop("req_1");
  expect(drafts.parts("ann", "req_1", "a 1")).toEqual([]);
  drafts.keepOnly("ann");
  expect(drafts.read("bob", "req_3.deny", "a 1")).toBeUndefined();
  expect(drafts.read("ann", "req_2.deny", "a 1")).toBe("x");
  drafts.clear();
  expect(storage.length).toBe(1);
});

test("an emptied field is forgotten, and what is too long or damaged is not kept", () => {
  const { drafts, storage } = store();
  drafts.write("ann", "req_1.deny", "a 1", "x");
  drafts.write("ann", "req_1.deny", "a 1", "");
  expect(storage.length).toBe(0);
  drafts.write("ann", "req_1.edit", "a 1", { raw: "x".repeat(400_000) });
  expect(storage.length).toBe(0);
  storage.setItem("placet.draft.req_1.deny", "{");
  expect(drafts.read("ann", "req_1.deny", "a 1")).toBeUndefined();
  drafts.keepOnly("ann");
  expect(storage.length).toBe(0);
});

test("a browser that forbids storage loses drafts and nothing else", () => {
  const drafts = draftStore(() => {
    throw new Error("forbidden");
  });
  drafts.write("ann", "req_1.deny", "a 1", "x");
  expect(drafts.read("ann", "req_1.deny", "a 1")).toBeUndefined();
  expect(drafts.parts("ann", "req_1", "a 1")).toEqual([]);
  drafts.clear();
});
