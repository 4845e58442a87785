/** The pages and their addresses. Every page is loaded when it is first opened. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import { ErrorState, Loading } from "@/ui";
import { NotFound, Shell } from "./shell";

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/queue", replace: true });
  },
});

/** What the address of the queue says. */
export interface QueueSearch {
  /** The request that is shown. */
  r?: string;
  q?: string;
  risk?: string;
  kind?: string;
  agent?: string;
  tool?: string;
  session?: string;
  group?: "none" | "session" | "same";
}
const TEXT = ["r", "q", "risk", "kind", "agent", "tool", "session"] as const;

const queue = createRoute({
  getParentRoute: () => root,
  path: "/queue",
  validateSearch: (search: Record<string, unknown>): QueueSearch => {
    const out: QueueSearch = {};
    for (const name of TEXT) {
      const value = search[name];
      if (typeof value === "string" && value) out[name] = value;
      else if (typeof value === "number") out[name] = String(value);
    }
    if (search.group === "session" || search.group === "same") out.group = search.group;
    return out;
  },
  component: lazyRouteComponent(() => import("@/pages/queue")),
});

const open = (search: Record<string, unknown>) => search;
const history = createRoute({
  getParentRoute: () => root,
  path: "/history",
  validateSearch: open,
  component: lazyRouteComponent(() => import("@/pages/history")),
});
const ledger = createRoute({
  getParentRoute: () => root,
  path: "/ledger",
  validateSearch: open,
  component: lazyRouteComponent(() => import("@/pages/ledger")),
});
const policy = createRoute({
  getParentRoute: () => root,
  path: "/policy",
  validateSearch: open,
  component: lazyRouteComponent(() => import("@/pages/policy")),
});
const insights = createRoute({
  getParentRoute: () => root,
  path: "/insights",
  validateSearch: open,
  component: lazyRouteComponent(() => import("@/pages/insights")),
});
const session = createRoute({
  getParentRoute: () => root,
  path: "/session",
  validateSearch: open,
  component: lazyRouteComponent(() => import("@/pages/session")),
});
const people = createRoute({
  getParentRoute: () => root,
  path: "/people",
  validateSearch: open,
  component: lazyRouteComponent(() => import("@/pages/people")),
});
const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  validateSearch: open,
  component: lazyRouteComponent(() => import("@/pages/settings")),
});
const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: open,
  component: lazyRouteComponent(() => import("@/pages/sign-in")),
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    queue,
    history,
    ledger,
    policy,
    insights,
    session,
    people,
    settings,
    signIn,
  ]),
  defaultPreload: "intent",
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: ({ error, reset }) => <ErrorState error={error} retry={reset} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
