import { expect, test } from "vitest";
import { ago, left, short, span } from "./time";

const at = Date.parse("2026-11-15T12:00:00Z");

test("times are short", () => {
  expect(left("2026-11-15T12:00:42Z", at)).toBe("0:42");
  expect(left("2026-11-15T12:12:05Z", at)).toBe("12:05");
  expect(left("2026-11-15T15:30:00Z", at)).toBe("3 h");
  expect(left("2026-11-15T11:00:00Z", at)).toBe("0:00");
  expect(ago("2026-11-15T11:59:58Z", at)).toBe("just now");
  expect(ago("2026-11-15T11:56:00Z", at)).toBe("4 m ago");
  expect(short(200_000)).toBe("2 d");
  expect(span(3 * 86_400 + 4 * 3600)).toBe("3 d 4 h");
  expect(span(59)).toBe("59 s");
});
