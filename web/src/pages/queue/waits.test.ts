import { describe, expect, it } from "vitest";
import { record } from "@/api/fixtures";
import { strings } from "@/strings";
import { afterText, waitLines } from "./waits";

const nothing = { attached: false, told: [], nobody: false, kept_until: null };
const later = new Date(Date.now() + 60_000);
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" }).format(later);

describe("before a yes", () => {
  const texts = (more: object) => waitLines({ ...nothing, ...more }).map((line) => line.text);

  it("says that the agent has hung up, and how long the yes is kept", () => {
    const kept = texts({ kept_until: later.toISOString() }).join();
    // Shortly before midnight the date stands before the time.
    expect(kept).toContain("has hung up; your yes is kept until ");
    expect(kept).toContain(clock);
    expect(texts({})).toEqual([strings.waits.goneReadable]);
  });

  it("never says that an agent has hung up where that is not known", () => {
    for (const more of [
      { attached: null },
      { attached: true },
      { brought: true },
      { brought: true, attached: null },
    ]) {
      expect(texts({ ...more, kept_until: later.toISOString() }).join()).not.toContain("hung up");
    }
  });

  it("says first that nobody can approve it", () => {
    const lines = waitLines({ ...nothing, attached: true, nobody: true });
    expect(lines[0]).toEqual({ text: strings.waits.nobody, warn: true });
  });
});

describe("after a yes", () => {
  const at = later.toISOString();
  const text = (more: object) => afterText(record(more))?.text ?? null;

  it("says whether it ran", () => {
    const ran = { status: "succeeded", result_digest: null, note: null, at, resolved_by: null } as const;
    expect(text({ state: "succeeded", outcome: ran })).toBe(strings.after.succeeded);
    expect(text({ state: "succeeded", outcome: { ...ran, resolved_by: "ann" } })).toContain("ann found out");
    expect(text({ state: "failed", outcome: { ...ran, status: "failed" } })).toBe(strings.after.failed);
    expect(text({ state: "lapsed", claim_by: at })).toContain("It was not run");
    expect(text({ state: "revoked" })).toContain("was not run");
  });

  it("says of an unknown outcome that it may have run, and how to resolve it", () => {
    const said = text({ state: "unknown", report_by: at });
    expect(said).toContain("It may have run");
    expect(said).toContain("resolve the outcome below");
    expect(said).toContain(clock);
  });

  it("says nothing while it is pending, and of a no", () => {
    expect(text({ state: "pending" })).toBeNull();
    expect(text({ state: "denied" })).toBeNull();
    expect(text({ state: "approved", claimable: false })).toBeNull();
  });
});
