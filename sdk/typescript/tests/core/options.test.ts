import { describe, expect, test } from "vitest";
import { ConfigError, gate, Placet } from "../../src/index.js";
import { nearest } from "../../src/options.js";
import { approve, Gateway } from "../../src/testing/index.js";

/** As a program without types would write it. */
// biome-ignore lint/suspicious/noExplicitAny: what is wrong here is what the compiler would see
type Any = any;

const gateway = new Gateway({ decide: approve });
const placet = gateway.client();
const call = { tool: "pay", arguments: { cents: 1 } };
const run = async (args: object) => args;

describe("a misspelt option", () => {
  const refused: [string, (wrong: Any) => unknown, string, string][] = [
    ["of a client", (wrong) => new Placet({ token: "t", ...wrong }), "onOutgae", "onOutage"],
    ["of gate", (wrong) => gate(run, { tool: "pay", ...wrong }), "onDenid", "onDenied"],
    ["of the client's gate", (wrong) => placet.gate(run, { tool: "pay", ...wrong }), "riks", "risk"],
    ["of hold", (wrong) => placet.hold(call, wrong), "holdfor", "holdFor"],
    ["of a call", (wrong) => placet.hold({ ...call, ...wrong }), "onBehalfof", "onBehalfOf"],
    ["of keys", (wrong) => placet.hold({ ...call, keys: wrong }), "stong", "strong"],
    ["of run", (wrong) => placet.run(call, run, wrong), "onDeny", "onDenied"],
    ["of confirm", (wrong) => placet.confirm("sure?", wrong), "detail", "details"],
    ["of ask", (wrong) => placet.ask("which?", wrong), "option", "options"],
    ["of propose", (wrong) => placet.propose("plan", [], wrong), "canModfy", "canModify"],
    ["of create", (wrong) => placet.create({} as Any, wrong), "weakkey", "weakKey"],
    ["of get", (wrong) => placet.get("req_1", wrong), "wiat", "wait"],
    ["of wait", (wrong) => placet.wait("req_1", wrong), "timeOut", "timeout"],
    ["of report", (wrong) => placet.report("req_1", { permit: "p", ...wrong }), "state", "status"],
    ["of stream", (wrong) => placet.stream(wrong), "afer", "after"],
    ["of a gateway", (wrong) => new Gateway(wrong), "decides", "decide"],
  ];

  test.each(refused)("%s is an error that names the nearest one", async (_, use, wrong, right) => {
    const before = gateway.requests.length;
    const using = (async () => use({ [wrong]: "x" }))();
    await expect(using).rejects.toThrow(ConfigError);
    await expect(using).rejects.toThrow(new RegExp(`no option "${wrong}" \\(did you mean .*"${right}"`));
    expect(gateway.requests).toHaveLength(before);
  });

  test("is one too when its value is undefined", () => {
    expect(() => gate(run, { tool: "pay", onDenid: undefined } as Any)).toThrow(/no option "onDenid"/);
  });
});

describe("an unknown word", () => {
  test.each([
    ["onOutage", "allow", () => new Placet({ token: "t", onOutage: "allow" as Any })],
    ["onOutage", "allow", () => gate(run, { tool: "pay", onOutage: "allow" as Any })],
    ["onDenied", "rais", () => gate(run, { tool: "pay", onDenied: "rais" as Any })],
    ["risk", "hihg", () => gate(run, { tool: "pay", risk: "hihg" as Any })],
    ["allowed", "aprove", () => gate(run, { tool: "pay", allowed: ["aprove"] as Any })],
  ])("for %s is an error when it is given: %s", (what, word, use) => {
    expect(use).toThrow(new RegExp(`${what} must be .*, not "${word}"`));
  });

  test("in a call is an error before anybody is asked", async () => {
    const before = gateway.requests.length;
    await expect(placet.hold({ ...call, risk: "hihg" as Any })).rejects.toThrow(/risk must be/);
    await expect(placet.run(call, run, { onOutage: "allow" as Any })).rejects.toThrow(/onOutage must be/);
    await expect(placet.confirm("sure?", { risk: 3 as Any })).rejects.toThrow(/risk must be .*, not 3/);
    expect(gateway.requests).toHaveLength(before);
  });
});

test("options that are no object are refused", () => {
  expect(() => gate(run, "pay" as Any)).toThrow(/gate takes an object with options, not "pay"/);
  expect(() => new Placet("http://127.0.0.1:4000" as Any)).toThrow(/takes an object with options/);
});

test("the nearest names come first, and far ones not at all", () => {
  const tools = ["refund", "refund_all", "delete_files", "search"];
  expect(nearest("refnd", tools)[0]).toBe("refund");
  expect(nearest("deleteFiles", tools)).toEqual(["delete_files"]);
  expect(nearest("launch_rocket", tools)).toEqual([]);
});
