/** Which rows of the list are drawn as one card: what was asked at once. Pure. */
import type { Row } from "@/api/extra";
import { hooked, sortable, waitedUntil } from "./pause";

/** The card of each row that shares a card with others. */
export function cardsOf(rows: readonly Row[]): ReadonlyMap<string, string> {
  const named = new Map<string, Row[]>();
  for (const row of rows) {
    if (row.group === null) continue;
    // A group is a name that an agent chose: another agent, session or door means another card.
    const name = JSON.stringify([row.agent, row.source ?? null, row.session, row.group]);
    const known = named.get(name);
    if (known) known.push(row);
    else named.set(name, [row]);
  }
  const cards = new Map<string, string>();
  for (const group of named.values()) {
    const [one] = group;
    if (!one || group.length < 2) continue;
    for (const card of hooked(one) ? atOnce(group) : [group]) {
      const key = `pause:${card.map((row) => row.id).sort()[0]}`;
      if (card.length > 1) for (const row of card) cards.set(row.id, key);
    }
  }
  return cards;
}

/** Calls of one turn, split where no earlier call was still waiting. */
function atOnce(group: readonly Row[]): Row[][] {
  const sorted = group.map((row) => ({ row, from: sortable(row.created_at), to: waitedUntil(row) }));
  sorted.sort((a, b) => (a.from < b.from ? -1 : 1));
  const cards: Row[][] = [];
  let end = "";
  for (const { row, from, to } of sorted) {
    if (cards.length === 0 || from > end) cards.push([]);
    cards.at(-1)?.push(row);
    if (to > end) end = to;
  }
  return cards;
}
