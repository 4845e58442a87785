import { expect, test } from "vitest";
import { score } from "./commands";
import { keyMachine, nameOf, SEQUENCE } from "./keys";

const press = (key: string, more = {}) =>
  nameOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more });

test("presses have names", () => {
  expect(press("j")).toBe("j");
  expect(press("J", { shiftKey: true })).toBe("J");
  expect(press("?", { shiftKey: true })).toBe("?");
  expect(press("Enter")).toBe("enter");
  expect(press(" ")).toBe("space");
  expect(press("K", { metaKey: true })).toBe("mod+k");
  expect(press("k", { ctrlKey: true })).toBe("mod+k");
  expect(press("Shift")).toBe(null);
  expect(press("a", { altKey: true })).toBe(null);
});

test("sequences are known by their second key, within their time", () => {
  const machine = keyMachine(() => ["g g", "g q", "G", "j"]);
  expect(machine("g", 0)).toBe(null);
  expect(machine("g", 100)).toBe("g g");
  expect(machine("g", 200)).toBe(null);
  expect(machine("q", 300)).toBe("g q");
  expect(machine("g", 400)).toBe(null);
  expect(machine("j", 500)).toBe("j");
  expect(machine("g", 600)).toBe(null);
  expect(machine("g", 600 + SEQUENCE + 1)).toBe(null);
  expect(machine("G", 3000)).toBe("G");
  expect(machine("z", 3100)).toBe(null);
});

test("the palette finds by letters in order and prefers whole words", () => {
  expect(score("Go to Queue", "queue")).toBeGreaterThan(score("Go to Queue", "gtq"));
  expect(score("Go to Queue", "gtq")).toBeGreaterThan(0);
  expect(score("Go to Queue", "xyz")).toBe(0);
  expect(score("anything", "")).toBeGreaterThan(0);
});
