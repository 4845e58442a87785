// Tests that end: what waits for ever is a failing test with a name, not a run without an end.
import { after as afterwards, before as first, test as whole } from "node:test";

/** As long as a Rust test may take; the long forms are by hand. */
const LIMIT = { timeout: process.env.PLACET_LONG === "1" ? 3_600_000 : 300_000 };

export const before = (work) => first(work, LIMIT);
export const after = (work) => afterwards(work, LIMIT);
export const test = (name, work) => whole(name, LIMIT, work);
