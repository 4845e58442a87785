/** Places of values in words, and which values belong where. Pure. */
import type { CardFlag } from "@/api/card";
import type { DisplayField } from "@/api/extra";

/** The place as people read it. A key that looks like a list index stands in quotes, as on the other pages. */
export function placeOf(field: DisplayField, strip: string): string {
  const parts = field.pointer.split("/").slice(1);
  const drawn = parts.map((part, at) =>
    field.keys?.includes(at) || part.startsWith('"') ? `"${part.replaceAll('"', '\\"')}"` : part,
  );
  const own = under(field.pointer, strip) ? drawn.slice(strip.split("/").length - 1) : drawn;
  return own.join("/") || strip.replace(/^\//, "");
}

function under(pointer: string, base: string): boolean {
  return base !== "" && (pointer === base || pointer.startsWith(`${base}/`));
}

/** The parts of a record that a decision is about. */
const BODY =
  /^\/(arguments|title|steps|estimated_duration|question|input|default|message|details|confirm_label|cancel_label)(\/|$)/;

/** What the agent asked for, value by value: all but its words, its context and the schema for edits. */
export function bodyOf(fields: readonly DisplayField[]): DisplayField[] {
  return fields.filter((field) => BODY.test(field.pointer));
}

/** Flagged values first, each group in its own order. */
export function flaggedFirst(fields: readonly DisplayField[], flagged: readonly CardFlag[]): DisplayField[] {
  const risky = new Set(flagged.map((flag) => flag.pointer));
  return [
    ...fields.filter((field) => risky.has(field.pointer)),
    ...fields.filter((field) => !risky.has(field.pointer)),
  ];
}

export interface RestGroup {
  /** What all its pointers begin with; empty where they have nothing in common. */
  strip: string;
  fields: DisplayField[];
}

/**
 * The rest in two lists: what would run, and what the agent says around it. The places of the first are shortened, so an
 * argument that is called `session` never looks like the session.
 */
export function restGroups(fields: readonly DisplayField[]): { runs: RestGroup; around: RestGroup } {
  const isAround = ({ pointer }: DisplayField) =>
    /^\/(tool|session|on_behalf_of|context|group)(\/|$)/.test(pointer);
  const runs = fields.filter((field) => !isAround(field));
  const strip = ["/proposal/arguments", "/decision/arguments", "/arguments"].find((base) =>
    runs.every((field) => under(field.pointer, base)),
  );
  return {
    runs: { strip: strip ?? "", fields: runs },
    around: { strip: "", fields: fields.filter(isAround) },
  };
}
