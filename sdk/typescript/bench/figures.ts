/** Medians and tails, and rounds in which everybody takes a turn. */

export function figures(times: number[]): { p50: number; p95: number; count: number } {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (part: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
  return { p50: at(0.5), p95: at(0.95), count: sorted.length };
}

export function say(what: string, { p50, p95, count }: ReturnType<typeof figures>): void {
  console.log(`${what}: p50 ${p50.toFixed(2)} ms, p95 ${p95.toFixed(2)} ms (${count})`);
}

/** Each measured in turn, `count` times. */
export async function interleaved<T extends ((n: number) => Promise<number>)[]>(
  count: number,
  ...each: T
): Promise<{ [K in keyof T]: number[] }> {
  const times = each.map((): number[] => []);
  for (let n = 0; n < count; n += 1) {
    for (const [at, measure] of each.entries()) (times[at] as number[]).push(await measure(n));
  }
  return times as { [K in keyof T]: number[] };
}
