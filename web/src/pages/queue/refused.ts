/** Approvals that the server would refuse: the page says so before the person tries. The server decides. */
import { useQuery } from "@tanstack/react-query";
import { agentsQuery } from "@/api/agents";
import type { RequestRecord, Session } from "@/api/extra";
import { type Freeze, useFreezes } from "@/api/freeze";
import { originOf } from "@/api/origin";
import { useMe } from "@/api/session";
import { strings } from "@/strings";

const s = strings.queue.refused;

export interface Viewer {
  me: Session;
  /** The owner of the request's agent, null if it has none; undefined if that is not known. */
  owner: string | null | undefined;
  freezes: readonly Freeze[];
}

/** Whether a yes opens a folder to the agent. The server words such a question itself if it came from the hook program. */
export function opensFolder(record: RequestRecord): boolean {
  const folder = record.context?.open_folder;
  return record.kind === "confirmation" && originOf(record)?.paths === true && typeof folder === "string";
}

/** Whether the owner of the agent decides who can approve. */
function ownerMatters(record: RequestRecord): boolean {
  return record.needs.four_eyes || opensFolder(record);
}

/** Why the server refuses every approval, edit and answer of this person; null if one can count, and in doubt. */
export function refusedYes(record: RequestRecord, { me, owner, freezes }: Viewer): string | null {
  // Without a session the page does not know who asks.
  if (me.session === null) return null;
  const seats = record.needs.any.flatMap((one) => one.all);
  if (!seats.some((seat) => seat.team === null || me.teams.includes(seat.team))) {
    return s.team([...new Set(seats.map((seat) => seat.team ?? ""))].join(", "));
  }
  const freeze = freezes.find(
    ({ agent, tool }) =>
      (agent === null || agent === record.agent) && (tool === null || tool === record.tool),
  );
  if (freeze) return s.frozen(strings.freeze.frozen(freeze.agent, freeze.tool));
  if (record.needs.four_eyes) {
    if (owner === me.name) return s.own(record.agent);
    if (record.on_behalf_of === me.name) return s.ordered(record.agent);
  }
  if (opensFolder(record) && owner !== undefined && owner !== me.name && !me.roles.includes("admin")) {
    // With four eyes the owner cannot approve either.
    return owner === null || record.needs.four_eyes ? s.folderAdmin : s.folder(owner, record.agent);
  }
  return null;
}

/** Why the server refuses this person's approval of the current content; an edit of theirs can still count. */
export function refusedApproval(record: RequestRecord, viewer: Viewer): string | null {
  const own = record.needs.four_eyes && viewer.me.session !== null && record.proposal?.by === viewer.me.name;
  return refusedYes(record, viewer) ?? (own ? s.replaced : null);
}

/** The person who is signed in, for each of these requests. */
export function useViewer(records: readonly RequestRecord[]): (record: RequestRecord) => Viewer {
  const me = useMe();
  const freezes = useFreezes();
  const { data: agents } = useQuery({ ...agentsQuery, enabled: records.some(ownerMatters) });
  return (record) => ({
    me,
    freezes,
    owner: agents && (agents.find((agent) => agent.name === record.agent)?.owner ?? null),
  });
}
