import { expect, test } from "vitest";
import { type Attention, percent, perHour } from "./attention";

const none: Attention = {
  calls: 0,
  passed: 0,
  confined: 0,
  remembered: 0,
  refused: 0,
  asked: 0,
  asked_percent: null,
  active_seconds: 0,
  prompts_per_active_hour: null,
};

test("what is not known is a dash and never nought", () => {
  expect([percent(none.asked_percent), perHour(none)]).toEqual(["–", "–"]);
  expect([percent(0), perHour({ ...none, prompts_per_active_hour: 0 })]).toEqual(["0.0 %", "0.0"]);
  expect(perHour({ ...none, prompts_per_active_hour: 13.125 })).toBe("13.1");
});
