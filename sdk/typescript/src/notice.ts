/** Tells the program, and the person at its terminal, that a call waits. A listener cannot change the outcome. */
import { env, host } from "./runtime.js";
import type { RequestRecord } from "./wire.js";

/** A call that waits for a person. */
export interface Waiting {
  /** The tool, or the kind of question. */
  tool: string;
  /** The page where a person decides, as a whole address. */
  url: string;
  /** When the request expires: RFC 3339, by the server's clock. */
  expiresAt: string;
  /** Milliseconds until then. */
  timeLeft: number;
  /** It waits for a person; the server cannot be reached meanwhile; the server is back and it still waits. */
  why: "person" | "outage" | "back";
  /** The id of the request. */
  request: string;
}

/** Called for each call that waits. Its result and its errors are ignored. */
export type OnWaiting = (waiting: Waiting) => unknown;

/** How many requests are remembered, so that each is reported once. */
const REMEMBERED = 10_000;

/** Reports waiting calls to a callback, to the terminal, or not at all. */
export class Notices {
  readonly #told = new Set<string>();

  /** `now` is the server's clock, in milliseconds. */
  constructor(
    private readonly fallback: OnWaiting | null | undefined,
    private readonly now: () => number,
  ) {}

  /** Reports a waiting call, and changes while it waits. */
  tell(own: OnWaiting | null | undefined, tool: string, record: RequestRecord, why: Waiting["why"]): void {
    const listener = own === undefined ? this.fallback : own;
    if (listener === null) return;
    const left = Date.parse(record.expires_at) - this.now();
    try {
      const waiting: Waiting = {
        tool,
        url: record.url,
        expiresAt: record.expires_at,
        timeLeft: Math.max(0, left || 0),
        why,
        request: record.id,
      };
      const said = listener === undefined ? print(waiting) : listener(waiting);
      Promise.resolve(said).catch(() => undefined);
    } catch {
      // A listener that throws changes nothing.
    }
  }

  /** The same for calls that do not wait here: each request is reported once. */
  once(own: OnWaiting | null | undefined, tool: string, record: RequestRecord): void {
    if (record.state !== "pending" || this.#told.has(record.id)) return;
    this.#told.add(record.id);
    if (this.#told.size > REMEMBERED) this.#told.delete(this.#told.keys().next().value as string);
    this.tell(own, tool, record, "person");
  }
}

/** A line for the person at the terminal. Programs without one print nothing. */
function print(waiting: Waiting): void {
  const stderr = host?.stderr;
  const quiet = env("PLACET_QUIET");
  if (stderr?.isTTY !== true || (quiet !== undefined && quiet !== "0")) return;
  stderr.write(`${line(waiting)}\n`);
}

function line({ tool, url, timeLeft, why }: Waiting): string {
  const left = spoken(timeLeft);
  switch (why) {
    case "person":
      return `placet: ${tool} waits for a person, ${left} left: ${url}`;
    case "outage":
      return `placet: ${tool} still waits, ${left} left; the server cannot be reached`;
    case "back":
      return `placet: ${tool} waits for a person again, ${left} left: ${url}`;
  }
}

/** `4 min 50 s`; two parts at most. */
function spoken(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  const [days, hours] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600) % 24];
  const [minutes, rest] = [Math.floor(seconds / 60) % 60, seconds % 60];
  const parts = [`${days} d`, `${hours} h`, `${minutes} min`, `${rest} s`];
  const first = [days, hours, minutes, rest].findIndex((each) => each > 0);
  if (first === -1) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter((each) => !each.startsWith("0 "))
    .join(" ");
}

/** The whole address of a request's page. The server gives its path. */
export function located<R extends RequestRecord>(record: R, base: string): R {
  const page = typeof record.url === "string" ? record.url : "";
  const whole = /^https?:\/\//.test(page)
    ? page
    : `${base}${page.startsWith("/r/") ? page : `/r/${record.id}`}`;
  try {
    record.url = new URL(whole).href;
  } catch {
    record.url = base;
  }
  return record;
}
