/** Runs of frameworks that have no store of their own: kept as text, and taken up again by a `Resumer`. */
import type { Placet } from "../client.js";
import { checkOptions } from "../options.js";
import type { PausedRun, ResumeSource } from "../resume/resumer.js";
import type { Lock, RunStore } from "../resume/store.js";
import { currentSession, type SessionParts, session } from "../session.js";
import type { RequestRecord } from "../wire.js";

/** Where a run has come to: its end, or a pause that can be stored. */
export type Stage<O> = { output: O } | { state: string };

/** What a framework can do with one run. */
export interface RunDriver<I, O> {
  begin(input: I): Promise<Stage<O>>;
  /** The requests of the calls that it pauses for. Asking again is the same request. */
  ask(state: string): Promise<readonly RequestRecord[]>;
  /** Goes on once all of them are decided; the same state before. */
  goOn(state: string): Promise<Stage<O>>;
}

/** What all stored runs take. */
export interface StoredRunsOptions<O> {
  client: Placet;
  /** Where runs are kept while they wait: `new FileStore("./runs")`, or a table of yours. */
  store: RunStore;
  /**
   * Told what a run that paused has ended with, before it is forgotten. It may be told twice of one run, after a crash. If it
   * throws, it is told again.
   */
  onDone?: (run: string, output: O) => unknown;
}

export const STORED = { client: true, store: true, onDone: true } as const;

type RunOwner = Pick<SessionParts, "app" | "tenant" | "user">;
/** A run that waits, for whom, and where it has come to. */
interface WaitingRun {
  state: string;
  requests: readonly string[];
  whose?: RunOwner;
}
/** What is in the store. */
type StoredRun<O> = WaitingRun | { output: O };

/** Two users may have runs of one name, in stores of their own. */
function runOwner(): RunOwner {
  const { app, tenant, user } = currentSession() ?? {};
  return { app, tenant, user };
}

export class StoredRuns<I, O> implements ResumeSource {
  readonly client: Placet;
  readonly lock: Lock | undefined;

  /** @internal */
  constructor(
    readonly framework: string,
    private readonly options: StoredRunsOptions<O>,
    private readonly open: (run: string) => Promise<RunDriver<I, O>>,
    own: Record<string, true>,
  ) {
    checkOptions(`runs of ${framework}`, options, { ...STORED, ...own });
    this.client = options.client;
    const { store } = options;
    this.lock = store.lock?.bind(store);
  }

  /** Begins a run. What it ended with; nothing when it pauses, and then it is stored. */
  async start(run: string, input: I): Promise<O | undefined> {
    return this.#in(run, runOwner(), async (player) => {
      const ended = await this.#advance(run, player, await player.begin(input));
      if (ended === undefined) return undefined;
      await this.options.store.remove(run);
      return ended.output;
    });
  }

  async waiting(): Promise<PausedRun[]> {
    const kept = await Promise.all((await this.options.store.ids()).map((run) => this.#stored(run)));
    return kept.flatMap((each) => (each ? [each] : []));
  }

  async find(run: string): Promise<PausedRun | undefined> {
    const found = await this.#stored(run);
    if (!found || found.requests.length > 0) return found;
    const kept = await this.#read(run);
    if (!kept || "output" in kept) return found;
    // It was stored, and the process ended before anybody was asked.
    const requests = await this.#in(run, kept.whose, (player) => this.#ask(run, player, kept.state));
    return { id: run, requests: requests.map(({ id }) => id) };
  }

  async goOn(run: string): Promise<void> {
    const kept = await this.#read(run);
    if (!kept) return;
    const ended =
      "output" in kept
        ? kept
        : await this.#in(run, kept.whose, async (player) =>
            this.#advance(run, player, await player.goOn(kept.state)),
          );
    if (ended === undefined) return;
    // From here on it cannot be lost, and what it was told cannot change.
    if (ended !== kept) await this.#write(run, ended);
    await this.options.onDone?.(run, ended.output);
    await this.options.store.remove(run);
  }

  /** Goes on as long as nothing is undecided, such as what policy allows. Nothing when it pauses. */
  async #advance(run: string, player: RunDriver<I, O>, first: Stage<O>): Promise<{ output: O } | undefined> {
    let stage = first;
    for (;;) {
      if ("output" in stage) return stage;
      // Stored before anybody is asked: a decision must not find a run that is nowhere.
      await this.#write(run, { state: stage.state, requests: [], whose: runOwner() });
      const records = await this.#ask(run, player, stage.state);
      if (records.length === 0 || records.some(({ state }) => state === "pending")) return undefined;
      stage = await player.goOn(stage.state);
    }
  }

  async #ask(run: string, player: RunDriver<I, O>, state: string): Promise<readonly RequestRecord[]> {
    const records = await player.ask(state);
    await this.#write(run, { state, requests: records.map(({ id }) => id), whose: runOwner() });
    return records;
  }

  async #stored(run: string): Promise<PausedRun | undefined> {
    const kept = await this.#read(run);
    return kept && { id: run, requests: "output" in kept ? [] : kept.requests };
  }

  async #read(run: string): Promise<StoredRun<O> | undefined> {
    const text = await this.options.store.read(run);
    return text === undefined ? undefined : (JSON.parse(text) as StoredRun<O>);
  }

  async #write(run: string, kept: StoredRun<O>): Promise<void> {
    await this.options.store.write(run, JSON.stringify(kept));
  }

  /** The run's name is the session of its calls, unless the gate names another one. */
  #in<T>(
    run: string,
    whose: RunOwner | undefined,
    work: (player: RunDriver<I, O>) => Promise<T>,
  ): Promise<T> {
    return session({ ...whose, id: run, client: this.client }, async () => work(await this.open(run)));
  }
}
