/** What the way in of a request is. Pure. */
import type { Origin, Row } from "./extra";

/** What a record or a row says of its way in. */
export type WayIn = Pick<Row, "source" | "origin">;

/** What the names of agents behind the A2A proxy begin with. */
const PROXIED = "a2a/";

/**
 * What the server says of the way in; null for plain calls. A server of an older version names the door alone, so its name
 * is read. A context that an agent wrote itself proves nothing, whatever it names.
 */
export function originOf({ source, origin }: WayIn): Origin | null {
  return origin ?? originByName(source ?? "");
}

function originByName(source: string): Origin | null {
  const nothing: Origin = { desk: false, turn: false, paths: false };
  if (source.startsWith(PROXIED)) return { ...nothing, agent: source.slice(PROXIED.length) };
  switch (source) {
    case "a2a":
      return { ...nothing, desk: true };
    case "hook-program":
      return { ...nothing, turn: true, paths: true };
    case "hook":
      return { ...nothing, turn: true };
    default:
      return null;
  }
}
