/** Lengths of time: a number of milliseconds, or text as the server writes it, such as `"30s"` or `"10m"`. */
import { ConfigError } from "./errors.js";

export type Duration = number | string;

const UNITS: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds; `what` names the option in the error. */
export function milliseconds(value: Duration, what: string): number {
  const match = typeof value === "string" ? /^(\d{1,12})(ms|s|m|h|d)$/.exec(value) : null;
  const read = match ? Number(match[1]) * (UNITS[match[2] as string] as number) : value;
  if (typeof read !== "number" || !Number.isFinite(read) || read < 0) {
    throw new ConfigError(
      `${what} must be a number of milliseconds or text such as "30s" or "10m", not ${String(value)}`,
    );
  }
  return read;
}

/** As the wire writes it. */
export function written(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  return whole % 1_000 === 0 ? `${whole / 1_000}s` : `${whole}ms`;
}
