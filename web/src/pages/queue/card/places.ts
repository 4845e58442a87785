/** Which value on a section belongs to which pointer, so that a flagged one can be marked where it is drawn. Pure. */
import type { CardSection } from "@/api/card";

/** A drawn value: `slot` is its place in the section, `name` what it is usually called. */
export interface Slot {
  slot: string;
  name: string;
  text: string;
}

/** The slot that stands for a section as a whole. */
export const WHOLE = "whole";

/** The values that a section draws each by itself, in their order. */
export function slotsOf(section: CardSection): Slot[] {
  const out: Slot[] = [];
  const put = (slot: string, text: string | null | undefined, name = slot) => {
    if (text !== null && text !== undefined) out.push({ slot, name, text });
  };
  const list = (slot: string, texts: readonly string[]) => {
    for (const [at, text] of texts.entries()) put(`${slot}.${at}`, text, slot);
  };
  const pairs = (slot: string, all: readonly (readonly [string, string])[]) => {
    for (const [at, [name, text]] of all.entries()) put(`${slot}.${at}`, text, name);
  };
  switch (section.type) {
    case "command":
      put("command", section.command);
      put("cwd", section.cwd);
      put("claimed_cwd", section.claimed_cwd, "cwd");
      break;
    case "diff":
      put("path", section.path);
      break;
    case "sql":
      put("statement", section.statement);
      break;
    case "money":
      put("amount", section.amount);
      put("currency", section.currency);
      put("to", section.to);
      pairs("accounts", section.accounts ?? []);
      put("reference", section.reference);
      break;
    case "message":
      list("to", section.to);
      list("cc", section.cc ?? []);
      list("bcc", section.bcc ?? []);
      put("subject", section.subject);
      put("body", section.body);
      break;
    case "http":
      put("method", section.method);
      put("url", section.url);
      pairs("headers", section.headers ?? []);
      put("body", section.body);
      break;
    case "kubernetes":
      for (const slot of ["verb", "resource", "name", "namespace", "cluster", "manifest"] as const)
        put(slot, section[slot]);
      break;
    case "table":
      for (const [row, cells] of section.rows.entries())
        for (const [column, text] of cells.entries())
          put(`${row}.${column}`, text, section.columns[column] ?? "");
      break;
    case "tree":
      for (const [at, node] of section.nodes.entries()) put(`${at}`, node.text, node.key);
      break;
    case "text":
      put("text", section.text);
      break;
    case "image":
      put("media_type", section.media_type);
      put("data", section.data);
      break;
    case "file":
      put("name", section.name);
      put("media_type", section.media_type);
      put("data", section.data);
      break;
    case "step":
      put("id", section.id);
      put("action", section.action);
      put("description", section.description);
      break;
    case "other":
      break;
  }
  return out;
}

/** The text inside the quotes of a drawn JSON text; anything else as it is. */
export function unquoted(text: string): string {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"')
    ? text.slice(1, -1).replaceAll('\\"', '"')
    : text;
}

/**
 * The pointers of each slot. Equal texts are told apart by their names, then by their order: then either of them says
 * the same. A pointer whose text is no slot of its own, such as a side of a change, belongs to the whole section.
 */
export function placesOf(
  section: CardSection,
  texts: ReadonlyMap<string, string>,
): ReadonlyMap<string, string[]> {
  const out = new Map<string, string[]>();
  const free = new Set(slotsOf(section));
  const left = new Set(section.pointers);
  const take = (pointer: string, fits: (slot: Slot) => boolean) => {
    const text = texts.get(pointer);
    if (text === undefined) return;
    const bare = unquoted(text);
    for (const slot of free) {
      if ((slot.text !== bare && slot.text !== text) || !fits(slot)) continue;
      free.delete(slot);
      left.delete(pointer);
      out.set(slot.slot, [pointer]);
      return;
    }
  };
  for (const pointer of section.pointers) {
    const parts = pointer.split("/");
    take(pointer, ({ name }) => parts.includes(name));
  }
  for (const pointer of [...left]) take(pointer, () => true);
  if (left.size > 0) out.set(WHOLE, [...left]);
  return out;
}
