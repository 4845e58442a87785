import { expect, it } from "vitest";
import { browserOf } from "./browser";

it("names the common ones and shows the rest as it is", () => {
  expect(browserOf("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/149.0 Safari/537.36")).toBe(
    "Chrome on Linux",
  );
  expect(
    browserOf("Mozilla/5.0 (iPhone; CPU iPhone OS 20_0 like Mac OS X) Version/20.0 Mobile Safari/604.1"),
  ).toBe("Safari on iPhone");
  expect(browserOf("tool/1.0")).toBe("tool/1.0");
  expect(browserOf("")).toBe("Unknown browser");
});
