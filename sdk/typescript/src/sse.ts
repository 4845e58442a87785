/** Server-sent events out of a byte stream, as the HTML standard reads them. */

export interface SseEvent {
  id: string | undefined;
  event: string;
  data: string;
}

/** One event may carry a record, which has a bound; anything longer is not ours. */
const LONGEST = 4 * 1024 * 1024;

/** Takes text in any pieces. An event without data (a heartbeat) is returned too, because of its id. */
export class SseParser {
  #rest = "";
  #lines: string[] = [];
  #size = 0;

  push(chunk: string): SseEvent[] {
    const events: SseEvent[] = [];
    let text = this.#rest + chunk;
    // A carriage return at the end may be the first half of a line end.
    const held = text.endsWith("\r") ? "\r" : "";
    if (held !== "") text = text.slice(0, -1);
    const lines = text.split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() as string) + held;
    for (const line of lines) {
      if (line === "") {
        const event = read(this.#lines);
        this.#lines = [];
        this.#size = 0;
        if (event) events.push(event);
      } else {
        this.#size += line.length;
        this.#lines.push(line);
      }
    }
    if (this.#size + this.#rest.length > LONGEST) throw new Error("an event of the stream is too long");
    return events;
  }
}

function read(lines: string[]): SseEvent | undefined {
  let id: string | undefined;
  let event = "message";
  const data: string[] = [];
  let any = false;
  for (const line of lines) {
    if (line.startsWith(":")) continue;
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "id" && !value.includes("\0")) id = value;
    else if (field === "event") event = value;
    else if (field === "data") data.push(value);
    else continue;
    any = true;
  }
  return any ? { id, event, data: data.join("\n") } : undefined;
}
