/** Reads the body of an answer within a bound, without trusting its length header. */
import { WrongAnswer } from "./errors.js";

/** The largest answer that is read: one record is far smaller. */
export const ANSWER = 4 * 1024 * 1024;
/** The same for a page of records, each of which may be a quarter of a megabyte. */
export const PAGE = 64 * 1024 * 1024;

/** The bytes of the body, counted after they were unpacked. Throws `WrongAnswer` when there are more than `largest`. */
export async function bytesOf(response: Response, largest: number): Promise<Uint8Array> {
  // A custom `fetch` may have no stream.
  if (response.body === undefined) return bounded(new TextEncoder().encode(await response.text()), largest);
  const reader = response.body?.getReader();
  if (!reader) return new Uint8Array();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > largest) {
      reader.cancel().catch(() => {});
      throw tooLong(largest);
    }
    pieces.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function bounded(bytes: Uint8Array, largest: number): Uint8Array {
  if (bytes.length > largest) throw tooLong(largest);
  return bytes;
}

const tooLong = (largest: number) =>
  new WrongAnswer(`the answer cannot be used: it is longer than ${largest / (1024 * 1024)} MiB`);
