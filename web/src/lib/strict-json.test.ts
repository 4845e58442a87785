import { expect, test } from "vitest";
import { parseObject, parseStrict, sameJson } from "./strict-json";

const message = (text: string) => {
  const result = parseStrict(text);
  return result.ok ? null : result.error.message;
};

test("what JSON.parse reads the same way is read", () => {
  const text = ' {"a": [1, -2.5e3, true, false, null, "x\\u00e9\\n"], "b": {"c": {}}, "d": []} ';
  const result = parseStrict(text);
  expect(result.ok && JSON.stringify(result.value)).toBe(JSON.stringify(JSON.parse(text)));
});

test("what two readers could read differently is refused", () => {
  expect(message('{"a":1,"a":2}')).toContain("twice");
  expect(message('{"a":1,"\\u0061":2}')).toContain("twice");
  expect(message("9007199254740993")).toContain("lose digits");
  expect(message("-9007199254740993")).toContain("lose digits");
  expect(message("1e400")).toContain("too large");
  expect(message('"\\ud800"')).toContain("surrogate");
  expect(message("\ufeff{}")).toContain("byte-order");
  expect(message("{} x")).toContain("behind");
  expect(message('"a\tb"')).toContain("control");
  expect(message(`${"[".repeat(65)}${"]".repeat(65)}`)).toContain("nested");
  for (const bad of [
    "",
    "01",
    "1.",
    ".5",
    "+1",
    "NaN",
    "Infinity",
    "{a:1}",
    "{'a':1}",
    "[1,]",
    '{"a":1,}',
    '"\\x"',
    '"a',
    "tru",
  ]) {
    expect(parseStrict(bad).ok, bad).toBe(false);
  }
});

test("integers up to the limit and keys like __proto__ are fine", () => {
  expect(parseStrict("9007199254740991").ok).toBe(true);
  const result = parseObject('{"__proto__": {"x": 1}, "constructor": 2}');
  expect(result.ok && JSON.stringify(result.value)).toBe('{"__proto__":{"x":1},"constructor":2}');
});

test("errors name the place", () => {
  const result = parseStrict('{\n  "a": 1,\n  "a": 2\n}');
  expect(result).toMatchObject({ ok: false, error: { line: 3, column: 3 } });
});

test("arguments must be an object", () => {
  expect(parseObject("[]").ok).toBe(false);
  expect(parseObject("null").ok).toBe(false);
});

test("the same JSON in another order is the same", () => {
  expect(sameJson({ a: [1, { b: null }], c: "x" }, { c: "x", a: [1, { b: null }] })).toBe(true);
  expect(sameJson({ a: 1 }, { a: 1, b: null })).toBe(false);
  expect(sameJson([1, 2], [2, 1])).toBe(false);
  expect(sameJson({}, [])).toBe(false);
});
