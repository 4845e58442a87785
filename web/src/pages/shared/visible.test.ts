import { describe, expect, it } from "vitest";
import { visible, visibleJson } from "./visible";

describe("visible", () => {
  it("draws what hides or reorders, as the server does", () => {
    expect(visible("pay\u202e001\u200b")).toBe("pay\\u{202e}001\\u{200b}");
    expect(visible("tag\u{e0041}")).toBe("tag\\u{e0041}");
    expect(visible("gr\u00fcn, \u6f22\u5b57, ok \u{1f642}")).toBe("gr\u00fcn, \u6f22\u5b57, ok \u{1f642}");
  });
  it("keeps JSON's own line breaks and draws the rest", () => {
    expect(visibleJson({ session: "a\u202e\nb" })).toBe('{\n  "session": "a\\u{202e}\\nb"\n}');
  });
});
