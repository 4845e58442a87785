/** The frame around every page: navigation, live connection, palette, help. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { onSignedOut } from "@/api/client";
import { keys } from "@/api/keys";
import { retryNow, startLive, useLive } from "@/api/live";
import type { QueueData } from "@/api/queue";
import { useHasRole, useMe, useSession, useSignOut } from "@/api/session";
import { cx } from "@/lib/cx";
import { drafts } from "@/lib/drafts";
import { strings } from "@/strings";
import { Button, EmptyState, ErrorState, Icon, type IconName, Loading, useToast } from "@/ui";
import { useTabBadge } from "./badge";
import { useCommands } from "./commands";
import { FreezeDialog, Frozen } from "./freeze";
import { Help } from "./help";
import { modKey, useKeys } from "./keys";
import { PaceWarning } from "./pace";
import { Palette } from "./palette";
import css from "./shell.module.css";
import { type Theme, useTheme } from "./theme";
import { UndoBar } from "./undo-bar";

const SignIn = lazy(() => import("@/pages/sign-in"));

type PagePath = "/queue" | "/history" | "/ledger" | "/policy" | "/insights" | "/people" | "/settings";
interface PageLink {
  to: PagePath;
  label: string;
  icon: IconName;
  key: string;
}
const PLACES: PageLink[] = [
  { to: "/queue", label: strings.nav.queue, icon: "inbox", key: "g q" },
  { to: "/history", label: strings.nav.history, icon: "history", key: "g h" },
  { to: "/ledger", label: strings.nav.ledger, icon: "ledger", key: "g l" },
  { to: "/policy", label: strings.nav.policy, icon: "policy", key: "g p" },
  { to: "/insights", label: strings.nav.insights, icon: "insights", key: "g i" },
  { to: "/people", label: strings.nav.people, icon: "people", key: "g e" },
  { to: "/settings", label: strings.nav.settings, icon: "settings", key: "g s" },
];
/** On a phone these stand in the bar; the others behind "more". */
const BAR = 4;

/** How many requests are pending, from the live queue. */
export function usePendingCount(): number {
  const { data } = useQuery<QueueData, Error, number>({
    queryKey: keys.queue,
    enabled: false,
    select: (queue) => queue.pending,
  });
  return data ?? 0;
}

export function Shell() {
  const session = useSession();
  if (session.isPending) return <Loading />;
  if (session.isError) return <ErrorState error={session.error} retry={() => void session.refetch()} />;
  if (!session.data) {
    return (
      <Suspense fallback={<Loading />}>
        <SignIn />
      </Suspense>
    );
  }
  return <Frame />;
}

function Frame() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const toast = useToast();
  const pending = usePendingCount();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const [freezing, setFreezing] = useState(false);
  const [reviewer, admin] = [useHasRole("reviewer"), useHasRole("admin")];
  const [theme, setTheme] = useTheme();
  const signOut = useSignOut();
  const place = PLACES.find((one) => path.startsWith(one.to));
  useTabBadge(place?.label ?? strings.product, pending);

  useEffect(() => {
    const ended = () => {
      toast({ text: strings.live.expired, tone: "warn" });
      client.setQueryData(keys.session, null);
    };
    onSignedOut(ended);
    const stop = startLive(client, ended);
    return () => {
      stop();
      onSignedOut(() => {});
    };
  }, [client, toast]);

  const { name } = useMe();
  useEffect(() => drafts.keepOnly(name), [name]);

  useKeys({ "mod+k": () => setPalette((open) => !open) }, { inDialog: true });
  useKeys({
    "?": () => setHelp(true),
    ...Object.fromEntries(PLACES.map((one) => [one.key, () => void navigate({ to: one.to })])),
  });
  useCommands([
    ...PLACES.map((one) => ({
      id: `go${one.to.slice(1)}`,
      label: one.label,
      group: strings.palette.go,
      keys: one.key,
      run: () => void navigate({ to: one.to }),
    })),
    ...(["system", "light", "dark"] as Theme[])
      .filter((one) => one !== theme)
      .map((one) => ({
        id: `theme-${one}`,
        label: strings.theme[one as "system" | "light" | "dark"],
        group: strings.palette.theme,
        run: () => setTheme(one),
      })),
    {
      id: "session",
      label: strings.attention.open,
      group: strings.palette.go,
      run: () => void navigate({ to: "/session" }),
    },
    {
      id: "keys",
      label: strings.palette.keys,
      group: strings.keys.title,
      keys: "?",
      run: () => setHelp(true),
    },
    ...(reviewer || admin
      ? [
          {
            id: "freeze",
            label: strings.freeze.command,
            group: strings.nav.settings,
            run: () => setFreezing(true),
          },
        ]
      : []),
    {
      id: "sign-out",
      label: strings.nav.signOut,
      group: strings.nav.settings,
      run: () => void signOut().catch((error: Error) => toast({ text: error.message, tone: "bad" })),
    },
  ]);

  return (
    <div className={css.shell}>
      <a className={css.skip} href="#main">
        {strings.nav.skip}
      </a>
      <Nav
        pending={pending}
        openPalette={() => setPalette(true)}
        openHelp={() => setHelp(true)}
        openFreeze={reviewer || admin ? () => setFreezing(true) : null}
      />
      <div className={css.main}>
        <Connection />
        <Frozen />
        {reviewer ? <PaceWarning /> : null}
        <main id="main" className={css.content} tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      <UndoBar />
      <Palette open={palette} onClose={() => setPalette(false)} />
      <Help open={help} onClose={() => setHelp(false)} />
      {freezing ? <FreezeDialog onClose={() => setFreezing(false)} /> : null}
    </div>
  );
}

function Count({ pending }: { pending: number }) {
  if (pending === 0) return null;
  return (
    <span className={css.count}>
      <span aria-hidden>{pending > 9999 ? "9999+" : pending}</span>
      <span className="visually-hidden">{strings.nav.pending(pending)}</span>
    </span>
  );
}

function Nav(props: {
  pending: number;
  openPalette(): void;
  openHelp(): void;
  /** Only for reviewers and admins. */
  openFreeze: (() => void) | null;
}) {
  const me = useMe();
  const [theme, setTheme] = useTheme();
  const [more, setMore] = useState(false);
  const next: Theme = theme === "system" ? "light" : theme === "light" ? "dark" : "system";
  return (
    <nav className={css.nav} aria-label={strings.nav.label}>
      <div className={css.brand}>
        <Mark />
        <span className={css.brandName}>{strings.product}</span>
      </div>
      <ul className={cx(css.places, more && css.placesOpen)}>
        {PLACES.map((place, index) => (
          <li key={place.to} className={index >= BAR ? css.extra : undefined}>
            <Link
              to={place.to}
              className={css.place}
              activeProps={{ "aria-current": "page" }}
              onClick={() => setMore(false)}
            >
              <Icon name={place.icon} size={18} />
              <span>{place.label}</span>
              {place.to === "/queue" ? <Count pending={props.pending} /> : null}
            </Link>
          </li>
        ))}
        <li className={css.moreItem}>
          <button
            type="button"
            className={css.place}
            aria-expanded={more}
            aria-label={strings.nav.more}
            onClick={() => setMore(!more)}
          >
            <Icon name="more" size={18} />
            <span>{strings.common.more}</span>
          </button>
        </li>
      </ul>
      <div className={css.navFoot}>
        <Button look="quiet" size="small" onClick={props.openPalette} hotkey={modKey("K")}>
          {strings.palette.title}
        </Button>
        <Button look="quiet" size="small" onClick={props.openHelp} hotkey="?">
          {strings.keys.title}
        </Button>
        {props.openFreeze ? (
          <Button look="quiet" size="small" onClick={props.openFreeze}>
            <Icon name="warning" size={16} />
            {strings.freeze.title}
          </Button>
        ) : null}
        <div className={css.me}>
          <Link to="/settings" className={css.meName}>
            <span className={css.avatar} aria-hidden>
              {me.name.slice(0, 1).toUpperCase()}
            </span>
            <span className="visually-hidden">{strings.nav.signedInAs("")}</span>
            <span>{me.name}</span>
          </Link>
          <Button
            look="quiet"
            square
            aria-label={strings.theme.next(strings.theme[theme])}
            title={strings.theme.next(strings.theme[theme])}
            onClick={() => setTheme(next)}
          >
            <Icon name={theme === "system" ? "screen" : theme === "light" ? "sun" : "moon"} />
          </Button>
        </div>
      </div>
    </nav>
  );
}

function Mark() {
  return (
    <svg width="24" height="24" viewBox="0 0 64 64" aria-hidden="true" focusable="false">
      <rect width="64" height="64" rx="15" fill="var(--accent)" />
      <path
        d="M17 33l11 11 20-23"
        fill="none"
        stroke="var(--on-accent)"
        strokeWidth="8"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

/** Says that the connection is lost; a short break is not mentioned. */
function Connection() {
  const live = useLive();
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    if (live.retryAt === null) return;
    const tick = () => setSeconds(Math.max(0, Math.ceil(((live.retryAt ?? 0) - Date.now()) / 1000)));
    tick();
    const timer = setInterval(tick, 500);
    return () => clearInterval(timer);
  }, [live.retryAt]);
  if (live.status !== "lost") return null;
  const offline = !navigator.onLine;
  return (
    <div className={css.lost} role="alert">
      <Icon name="warning" />
      <span>{offline ? strings.live.offline : strings.live.lost}</span>
      {live.retryAt !== null && seconds > 0 ? (
        <span aria-hidden>{strings.live.retrying(seconds)}</span>
      ) : null}
      <Button size="small" onClick={retryNow}>
        {strings.live.retryNow}
      </Button>
    </div>
  );
}

export function NotFound() {
  return (
    <EmptyState
      icon="search"
      title={strings.nav.notFound}
      action={<Link to="/queue">{strings.nav.toQueue}</Link>}
    >
      {strings.nav.notFoundText}
    </EmptyState>
  );
}
