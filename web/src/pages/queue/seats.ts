/** Seats of a quorum, and who fills each. This is for display only; the server counts. Pure. */
import type { Needs } from "@/api/extra";

export interface SeatView {
  team: string | null;
  by: string | null;
}

/** The seats of each alternative, filled with approving votes where the team is not in question. */
export function seatsOf(needs: Needs, approvers: readonly string[]): SeatView[][] {
  return needs.any.map((one) => {
    const seats: SeatView[] = one.all.flatMap((seat) =>
      Array.from({ length: Math.min(seat.people, 50) }, () => ({ team: seat.team, by: null })),
    );
    const left = [...approvers];
    for (const seat of seats) seat.by = left.shift() ?? null;
    return seats;
  });
}

/** Whether one person's yes is enough by itself. */
export function simple(needs: Needs): boolean {
  return needs.any.some(
    (one) => one.all.length === 1 && one.all[0]?.people === 1 && one.all[0].team === null,
  );
}
