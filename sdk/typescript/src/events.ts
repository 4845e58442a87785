/** Every change as it happens, across reconnects and with backpressure. */
import { isRecord } from "./answer.js";
import { ANSWER } from "./body.js";
import { type Http, RetryableError } from "./http.js";
import { located } from "./notice.js";
import { Outage, sleep } from "./retry.js";
import { listen } from "./stream.js";
import { readAnswer } from "./strict.js";
import type { StreamEvent } from "./wire.js";

/** How many events are buffered. Beyond that the stream is closed, and resumed later. */
const AHEAD = 1_000;

export async function* events(
  http: Http,
  options: { after?: string; signal?: AbortSignal },
): AsyncGenerator<StreamEvent, void> {
  const end = new AbortController();
  const stop = () => end.abort(options.signal?.reason);
  options.signal?.addEventListener("abort", stop, { once: true });
  if (options.signal?.aborted) stop();
  const queue: StreamEvent[] = [];
  const outage = new Outage();
  let cursor = options.after;
  let failed: { error: unknown } | undefined;
  let wake = () => {};

  const pump = async () => {
    while (!end.signal.aborted) {
      try {
        while (queue.length > 0) await sleep(10, end.signal);
        await listen(
          http,
          cursor,
          end.signal,
          () => outage.over(),
          ({ id, event, data }) => {
            if (queue.length >= AHEAD) throw new RetryableError("the reader is slow");
            if (data !== "") {
              const change = { type: event, ...(readAnswer(data, ANSWER) as object) } as StreamEvent;
              if (isRecord(change.record)) located(change.record, http.settings.url);
              queue.push(change);
            }
            if (id) cursor = id;
            wake();
          },
        );
      } catch (error) {
        if (end.signal.aborted) return;
        const pause =
          error instanceof RetryableError ? outage.pause(http.settings.outageBudget, error.after) : undefined;
        if (pause === undefined) throw error instanceof RetryableError ? http.spent(error) : error;
        await sleep(pause, end.signal).catch(() => {});
      }
    }
  };
  const pumping = pump().catch((error: unknown) => {
    failed = { error };
  });
  try {
    for (;;) {
      const next = queue.shift();
      if (next) yield next;
      else if (failed) throw failed.error;
      else if (end.signal.aborted) return;
      else {
        const news = new Promise<void>((done) => {
          wake = done;
        });
        await Promise.race([pumping, news]);
      }
    }
  } finally {
    end.abort();
    options.signal?.removeEventListener("abort", stop);
  }
}
