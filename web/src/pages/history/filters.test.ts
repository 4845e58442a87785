import { describe, expect, it } from "vitest";
import { exportAddress, readFilters } from "./filters";

describe("readFilters", () => {
  it("keeps what it knows and drops the rest", () => {
    expect(readFilters({ state: "denied", risk: "extreme", q: " rm ", agent: "", page: 3 })).toEqual({
      state: "denied",
      q: "rm",
    });
  });
  it("takes a number in the address for text", () => {
    expect(readFilters({ session: 17 })).toEqual({ session: "17" });
  });
});

describe("exportAddress", () => {
  it("carries the filters, encoded", () => {
    expect(exportAddress("csv", { tool: "a&b", state: "denied" }, "plt_x")).toBe(
      "/v1/requests/export?format=csv&ticket=plt_x&tool=a%26b&state=denied",
    );
  });
});
