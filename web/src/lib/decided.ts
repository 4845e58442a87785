/** Who decided, in words: people, a grant, or policy. */
import type { GrantUsed } from "@/api/extra";
import { strings } from "@/strings";

export function decidedBy(people: string[], grant?: GrantUsed | null): string {
  if (people.length > 0) return people.join(", ");
  return grant ? strings.queue.byGrant(grant.by ?? "") : strings.queue.byPolicy;
}
