/** The stream of changes, by fetch, because EventSource cannot send the key in a header. */
import { ANSWER, bytesOf } from "./body.js";
import { ConfigError, type PlacetError, Problem, ProtocolError } from "./errors.js";
import { type Http, RetryableError } from "./http.js";
import { type SseEvent, SseParser } from "./sse.js";

/** The server sends something every 10 s. A stream that is silent for this long is dead. */
const SILENCE = 25_000;

/** Opens one stream; `open` is called when the first bytes came, `heard` with every event. Ends by throwing. */
export async function listen(
  http: Http,
  after: string | undefined,
  signal: AbortSignal,
  open: () => void,
  heard: (event: SseEvent) => void,
): Promise<never> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  signal.addEventListener("abort", stop, { once: true });
  let silence = setTimeout(stop, http.settings.timeout);
  try {
    if (signal.aborted) throw signal.reason;
    const call = { method: "GET", path: "/v1/stream", headers: { "last-event-id": after } } as const;
    const headers = http.headers(call);
    headers.set("accept", "text/event-stream");
    const response = await http.settings.fetch(http.address(call), {
      headers,
      redirect: "manual",
      signal: controller.signal,
    });
    const type = response.headers.get("content-type") ?? "";
    if (response.status !== 200 || !type.startsWith("text/event-stream") || !response.body) {
      throw await refusal(http, response, type);
    }
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const parser = new SseParser();
    let opened = false;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw new RetryableError("the stream ended");
      clearTimeout(silence);
      silence = setTimeout(stop, SILENCE);
      // Wait for the first bytes: headers alone may come from a proxy that buffers the rest.
      if (!opened) open();
      opened = true;
      for (const event of parser.push(decoder.decode(value, { stream: true }))) heard(event);
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof RetryableError || error instanceof ConfigError || error instanceof ProtocolError)
      throw error;
    if (error instanceof Problem) throw error;
    throw new RetryableError(error instanceof Error ? error.message : String(error));
  } finally {
    clearTimeout(silence);
    signal.removeEventListener("abort", stop);
    controller.abort();
  }
}

async function refusal(http: Http, response: Response, type: string): Promise<PlacetError> {
  const text = new TextDecoder().decode(await bytesOf(response, ANSWER).catch(() => new Uint8Array()));
  if (response.status === 401)
    return new ConfigError(`${http.settings.url} does not accept the key, or not any more`);
  return new RetryableError(`the stream answered ${response.status} ${type} ${text.slice(0, 60)}`);
}
