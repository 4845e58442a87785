/** Times as people read them, by the server's clock. */

let offset = 0;

/** Learns the server's clock from the `Date` of an answer, so that deadlines do not depend on this machine's clock. */
export function learnClock(date: string | null): void {
  if (!date) return;
  const server = Date.parse(date);
  if (Number.isNaN(server)) return;
  const difference = server - Date.now();
  // A `Date` header has whole seconds: smaller differences say nothing.
  offset = Math.abs(difference) > 1500 ? difference : 0;
}

/** Now, in milliseconds, by the server's clock. */
export function now(): number {
  return Date.now() + offset;
}

const UNITS: [string, number][] = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
];

/** A length of time in one or two units: `3 d 4 h`, `12 m`, `45 s`. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  for (const [index, [unit, size]] of UNITS.entries()) {
    if (whole < size) continue;
    const count = Math.floor(whole / size);
    const next = UNITS[index + 1];
    const rest = next ? Math.floor((whole - count * size) / next[1]) : 0;
    return next && rest > 0 && count < 10 ? `${count} ${unit} ${rest} ${next[0]}` : `${count} ${unit}`;
  }
  return `${whole} s`;
}

/** How long ago: `just now`, `4 m ago`. */
export function ago(time: string, at: number = now()): string {
  const seconds = (at - Date.parse(time)) / 1000;
  return seconds < 5 ? "just now" : `${short(seconds)} ago`;
}

/** A length of time in its largest unit. */
export function short(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  for (const [unit, size] of UNITS) if (whole >= size) return `${Math.floor(whole / size)} ${unit}`;
  return `${whole} s`;
}

/** Time left as a clock: `0:42`, `12:05`, `3 h`, `2 d`. */
export function left(time: string, at: number = now()): string {
  const seconds = Math.floor((Date.parse(time) - at) / 1000);
  if (seconds <= 0) return "0:00";
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return short(seconds);
}

const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** Date and time with seconds. */
export function exact(time: string): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? time : full.format(date);
}

/** Date and time without seconds. */
export function moment(time: string): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? time : day.format(date);
}
