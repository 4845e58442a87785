/** Every English text of the dashboard, in one place. */
import { attention } from "./strings/attention";
import { common } from "./strings/common";
import { connect } from "./strings/connect";
import { pages } from "./strings/pages";
import { queue } from "./strings/queue";
import { waits } from "./strings/waits";

export const strings = { ...common, attention, connect, queue, ...pages, ...waits } as const;
