/** Every English text of the dashboard, in one place. */
import { common } from "./strings/common";
import { pages } from "./strings/pages";
import { queue } from "./strings/queue";

export const strings = { ...common, queue, ...pages } as const;
