import { describe, expect, it } from "vitest";
import type { Needs, RequestRecord, Session } from "@/api/extra";
import { door, record } from "@/api/fixtures";
import { strings } from "@/strings";
import { opensFolder, refusedApproval, refusedYes, type Viewer } from "./refused";

const s = strings.queue.refused;

function person(name: string, roles: Session["roles"] = ["reviewer"], teams: string[] = []): Session {
  return {
    name,
    roles,
    teams,
    session: { id: "s", created_at: "", expires_at: "" } as unknown as Session["session"],
    csrf: "",
    nonce: "",
    has_password: false,
    server: { version: "", dev: false, database: "" },
  } as Session;
}

const viewer = (me: Session, more: Partial<Viewer> = {}): Viewer => ({
  me,
  owner: "ann",
  freezes: [],
  ...more,
});
const needs = (team: string | null, more: Partial<Needs> = {}): Needs => ({
  any: [{ all: [{ people: 1, team }] }],
  four_eyes: false,
  step_up: null,
  ...more,
});
const asked = (more: Partial<RequestRecord> = {}) => record({ needs: needs(null), ...more });
const folder = (more: Partial<RequestRecord> = {}) =>
  asked({
    ...door("hook-program"),
    kind: "confirmation",
    tool: null,
    arguments: null,
    context: { cwd: "/srv/app", open_folder: "/srv/app" },
    ...more,
  });

describe("a question whose yes opens a folder", () => {
  it("is approved by the owner of the agent and by admins, and others read who that is", () => {
    expect(refusedYes(folder(), viewer(person("ann")))).toBeNull();
    expect(refusedYes(folder(), viewer(person("root", ["reviewer", "admin"])))).toBeNull();
    expect(refusedYes(folder(), viewer(person("bob")))).toBe(s.folder("ann", "bot"));
    expect(s.folder("ann", "bot")).toContain("Only ann, who owns bot, or an admin");
  });

  it("is for admins alone where nobody owns the agent, and where four eyes keep the owner out", () => {
    expect(refusedYes(folder(), viewer(person("bob"), { owner: null }))).toBe(s.folderAdmin);
    const four = folder({ needs: needs(null, { four_eyes: true }) });
    expect(refusedYes(four, viewer(person("bob")))).toBe(s.folderAdmin);
    expect(refusedYes(four, viewer(person("ann")))).toBe(s.own("bot"));
    expect(refusedYes(four, viewer(person("root", ["reviewer", "admin"])))).toBeNull();
  });

  it("is left to the server while the owner is not known", () => {
    expect(refusedYes(folder(), viewer(person("bob"), { owner: undefined }))).toBeNull();
  });

  it("is one of the hook program, whatever others write into a context", () => {
    expect(opensFolder(folder())).toBe(true);
    expect(opensFolder(folder({ origin: null }))).toBe(true);
    for (const source of [null, "hook", "a2a/demo/ops"])
      expect(opensFolder(folder(door(source)))).toBe(false);
    expect(opensFolder(folder({ context: { cwd: "/srv/app" } }))).toBe(false);
    expect(opensFolder(folder({ kind: "action" }))).toBe(false);
  });
});

describe("a yes that the server refuses", () => {
  it("is that of a person in none of the teams", () => {
    const other = asked({ needs: needs("finance") });
    expect(refusedYes(other, viewer(person("bob", ["reviewer"], ["ops"])))).toBe(s.team("finance"));
    expect(refusedYes(other, viewer(person("bob", ["reviewer"], ["finance"])))).toBeNull();
  });

  it("is with four eyes that of the owner, and of the person whom the agent asks for", () => {
    const four = asked({ needs: needs(null, { four_eyes: true }), on_behalf_of: "cyd" });
    expect(refusedYes(four, viewer(person("ann")))).toBe(s.own("bot"));
    expect(refusedYes(four, viewer(person("cyd")))).toBe(s.ordered("bot"));
    expect(refusedYes(four, viewer(person("bob")))).toBeNull();
    const two = { ...four, needs: needs(null) };
    for (const name of ["ann", "cyd"]) expect(refusedYes(two, viewer(person(name)))).toBeNull();
  });

  it("is with four eyes that of the author of a replacement, who can still edit it", () => {
    const proposal = { by: "bob", digest: "e" } as RequestRecord["proposal"];
    const four = asked({ needs: needs(null, { four_eyes: true }), proposal });
    expect(refusedApproval(four, viewer(person("bob")))).toBe(s.replaced);
    expect(refusedYes(four, viewer(person("bob")))).toBeNull();
    expect(refusedApproval(four, viewer(person("dan")))).toBeNull();
    expect(refusedApproval({ ...four, needs: needs(null) }, viewer(person("bob")))).toBeNull();
  });

  it("is everybody's while the agent or the tool is frozen", () => {
    const freeze = { id: "f", by: "bob", reason: "no", at: "", agent: null, tool: null };
    const frozen = (more: object) =>
      refusedYes(asked(), viewer(person("dan"), { freezes: [{ ...freeze, ...more }] }));
    expect(frozen({})).toBe(s.frozen("Everything is frozen."));
    expect(frozen({ agent: "bot" })).toBe(s.frozen("The agent bot is frozen."));
    expect(frozen({ tool: "delete_files" })).not.toBeNull();
    expect(frozen({ agent: "imp" })).toBeNull();
    expect(frozen({ agent: "bot", tool: "pay" })).toBeNull();
  });

  it("is not guessed where no session says who looks", () => {
    const me = { ...person("you"), session: null };
    expect(refusedYes(asked({ needs: needs("finance") }), viewer(me))).toBeNull();
  });
});
