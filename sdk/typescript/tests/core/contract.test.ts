/** Plays the scenarios that clients of every language are held to; tests/contract/README.md says what the words mean. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  type Call,
  canonical,
  type DecisionWord,
  type Json,
  type JsonObject,
  type OnOutage,
  Placet,
  Problem,
  type RequestRecord,
} from "../../src/index.js";
import { BOUND, type Reviewer, Server } from "../support/server.js";
import { type Answer, type Route, Stub } from "../support/stub.js";

type Fields = { [name: string]: Json | undefined };
interface Step extends Fields {
  do: string;
}
interface Scenario {
  name: string;
  policy?: string;
  steps: Step[];
}

const folder = new URL("../../../../tests/contract/scenarios/", import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith(".json"));

/** Fields that a runner knows, by what is done. */
const KNOWN: { readonly [word: string]: string } = {
  hold: "as call keys fails outage_budget on_outage token at",
  ask: "as call keys refused",
  claim: "of claimant as refused",
  cancel: "reason",
  pending: "count",
  decide: "decision reason arguments answer tool first refused",
  revoke: "",
  kill: "",
  start: "",
  stub: "routes otherwise",
  expect: "of status ran edited reason answer",
  not_yet: "of",
  record: "is",
  requests: "count",
  same: "of",
  calls: "method path count",
};

/** What came of a hold. */
interface End {
  status: string;
  edited?: boolean;
  reason?: string;
  answer?: Json;
}
interface Hold {
  end: Promise<End>;
  over: boolean;
  ran: JsonObject[];
}

class Play {
  readonly holds = new Map<string, Hold>();
  readonly asked = new Map<string, RequestRecord>();
  readonly permits = new Map<string, string>();
  stub: Stub | undefined;

  constructor(
    readonly server: Server,
    readonly ann: Reviewer,
  ) {}

  async step(step: Step): Promise<void> {
    const known = KNOWN[step.do]?.split(" ");
    if (!known) throw new Error(`${step.do} is not a word of the scenarios`);
    for (const field of Object.keys(step)) {
      if (field !== "do" && !known.includes(field)) throw new Error(`${step.do} has no field ${field}`);
    }
    switch (step.do) {
      case "hold":
        return this.hold(step);
      case "ask":
        return this.refusal(step, async () => {
          this.asked.set(step.as as string, await this.ask(step));
        });
      case "claim":
        return this.refusal(step, async () => {
          const { id } = this.asked.get(step.of as string) as RequestRecord;
          const { permit } = await this.server.agent().claim(id, step.claimant as string);
          this.permits.set(step.as as string, permit);
        });
      case "cancel":
        await this.server.agent().cancel((await this.newest()).id, step.reason as string);
        return;
      case "pending":
        return this.eventually(async () =>
          expect(await this.pending()).toHaveLength((step.count as number) ?? 1),
        );
      case "decide":
        return this.refusal(step, () => this.decide(step));
      case "revoke":
        return this.server.revokeApproval((await this.newest()).id);
      case "kill":
        return this.server.down("SIGKILL");
      case "start":
        return this.server.up();
      case "stub":
        this.stub = await Stub.start(
          step.routes as unknown as Route[],
          step.otherwise as unknown as Answer | undefined,
        );
        return;
      case "expect":
        return this.expect(step);
      case "not_yet": {
        const hold = this.holds.get(step.of as string) as Hold;
        expect([hold.over, hold.ran]).toEqual([false, []]);
        return;
      }
      case "record":
        return this.eventually(async () => expect(await this.newest()).toMatchObject(step.is as object));
      case "requests":
        expect(await this.all()).toHaveLength(step.count as number);
        return;
      case "same": {
        const [one, two] = (step.of as string[]).map(
          (name) => this.permits.get(name) ?? this.asked.get(name)?.id,
        );
        expect(one).toBeDefined();
        expect(two).toBe(one);
        return;
      }
      case "calls":
        expect(this.stub?.calls.filter((each) => each === `${step.method} ${step.path}`)).toHaveLength(
          step.count as number,
        );
    }
  }

  hold(step: Step): void {
    const ran: JsonObject[] = [];
    const hold: Hold = { ran, over: false, end: this.held(step, ran) };
    hold.end = hold.end.finally(() => {
      hold.over = true;
    });
    this.holds.set(step.as as string, hold);
  }

  async held(step: Step, ran: JsonObject[]): Promise<End> {
    const { fails, outage_budget = 20, on_outage = "deny", token, at } = step;
    try {
      const placet = new Placet({
        url: at === "stub" ? (this.stub as Stub).url : this.server.url,
        token:
          token === undefined
            ? this.server.agentKey
            : token === "ann"
              ? await this.server.key("reviewer", "ann")
              : (token as string),
        outageBudget: (outage_budget as number) * 1_000,
        onOutage: on_outage as OnOutage,
        onUnreported: () => {},
      });
      const held = await placet.hold(call(step));
      if (held.go) {
        await held.run((args) => {
          ran.push(args);
          if (fails !== undefined) throw new Error(fails as string);
          return { ok: true };
        });
      }
      return held;
    } catch {
      return { status: "error" };
    }
  }

  ask(step: Step): Promise<RequestRecord> {
    const { strong, weak } = (step.keys ?? {}) as { strong?: string; weak?: string };
    const body = { kind: "action" as const, ...(step.call as { session: string } & JsonObject) };
    return this.server.agent().create(body, { key: strong, weakKey: weak });
  }

  async decide(step: Step): Promise<void> {
    const fits = async () =>
      (await this.pending()).filter((each) => step.tool === undefined || each.tool === step.tool);
    await this.eventually(async () => expect((await fits()).length).toBeGreaterThan(0));
    const found = (await fits()).sort((a, b) => a.created_at.localeCompare(b.created_at));
    if (!step.first) expect(found).toHaveLength(1);
    const { id, digest, version } = found[0] as RequestRecord;
    const {
      reason,
      arguments: args,
      answer,
    } = step as { reason?: string; arguments?: JsonObject; answer?: Json };
    await this.ann.client.decide(id, step.decision as DecisionWord, {
      digest,
      version,
      ...(reason === undefined ? {} : { reason }),
      ...(args === undefined ? {} : { arguments: args }),
      ...(answer === undefined ? {} : { answer }),
    });
  }

  async expect(step: Step): Promise<void> {
    const holds = [step.of as string | string[]].flat().map((name) => this.holds.get(name) as Hold);
    const late = sleep(BOUND, undefined, { ref: false }).then(() => {
      throw new Error("it did not end");
    });
    const ends = await Promise.race([Promise.all(holds.map((each) => each.end)), late]);
    const { status } = step;
    if (Array.isArray(status)) expect(ends.map((each) => each.status).sort()).toEqual([...status].sort());
    else if (typeof status === "object" && status) expect(status.one_of).toContain(ends[0]?.status);
    else expect(ends[0]?.status).toBe(status);
    const ran = holds.flatMap((each) => each.ran).map(canonical);
    expect(ran).toEqual((step.ran as Json[]).map(canonical));
    for (const field of ["edited", "reason", "answer"] as const) {
      if (step[field] !== undefined) expect(ends[0]?.[field]).toEqual(step[field]);
    }
  }

  /** Does it, and holds it to the code it must be refused with, if there is one. */
  async refusal(step: Step, run: () => Promise<void>): Promise<void> {
    if (step.refused === undefined) return run();
    const refused = await run().then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(Problem);
    expect((refused as Problem).code).toBe(step.refused);
  }

  async eventually(check: () => Promise<void>): Promise<void> {
    const until = performance.now() + BOUND;
    for (;;) {
      try {
        return await check();
      } catch (error) {
        if (performance.now() > until) throw error;
      }
      await sleep(30);
    }
  }

  async all(): Promise<RequestRecord[]> {
    return (await this.ann.client.list({ limit: "200" })).items;
  }
  async pending(): Promise<RequestRecord[]> {
    return (await this.ann.client.list({ state: "pending", limit: "200" })).items;
  }
  async newest(): Promise<RequestRecord> {
    const [newest] = (await this.all()).sort((a, b) => b.created_at.localeCompare(a.created_at));
    if (!newest) throw new Error("nobody has asked for anything yet");
    return newest;
  }
}

function call(step: Step): Call {
  const { expires_in, arguments_schema, ...rest } = step.call as unknown as Call & {
    expires_in?: string;
    arguments_schema?: Json;
  };
  return {
    ...rest,
    ...(expires_in === undefined ? {} : { expiresIn: expires_in }),
    ...(arguments_schema === undefined ? {} : { argumentsSchema: arguments_schema }),
    ...(step.keys === undefined ? {} : { keys: step.keys as Call["keys"] }),
  };
}

describe.each(files)("%s", (file) => {
  const { scenarios } = JSON.parse(readFileSync(new URL(file, folder), "utf8")) as { scenarios: Scenario[] };
  test.each(scenarios)(
    "$name",
    async ({ policy = "version = 1", steps }) => {
      const server = await Server.start({ policy });
      const play = new Play(server, await server.reviewer());
      try {
        for (const [at, step] of steps.entries()) {
          await play.step(step).catch((error: Error) => {
            error.message = `step ${at + 1} (${step.do}): ${error.message}`;
            throw error;
          });
        }
      } finally {
        await play.stub?.stop();
        await server.stop();
      }
    },
    3 * BOUND,
  );
});
