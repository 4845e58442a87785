/** Reading server-sent events from a stream of text. */

export interface SseEvent {
  event: string;
  data: string;
  id: string | null;
}

/** A parser for text that arrives in pieces. It returns whole events; comments and empty events only move the id. */
export function sseParser(): (chunk: string) => SseEvent[] {
  let rest = "";
  let event = "";
  let data: string[] = [];
  let id: string | null = null;
  return (chunk) => {
    rest += chunk;
    const out: SseEvent[] = [];
    let start = 0;
    for (;;) {
      const end = rest.indexOf("\n", start);
      if (end < 0) break;
      const line = rest.slice(start, end > start && rest[end - 1] === "\r" ? end - 1 : end);
      start = end + 1;
      if (line === "") {
        if (data.length > 0 || id !== null)
          out.push({ event: event || "message", data: data.join("\n"), id });
        event = "";
        data = [];
        id = null;
        continue;
      }
      if (line.startsWith(":")) continue;
      const colon = line.indexOf(":");
      const name = colon < 0 ? line : line.slice(0, colon);
      const raw = colon < 0 ? "" : line.slice(colon + 1);
      const value = raw.startsWith(" ") ? raw.slice(1) : raw;
      if (name === "event") event = value;
      else if (name === "data") data.push(value);
      else if (name === "id") id = value;
    }
    rest = rest.slice(start);
    return out;
  };
}
