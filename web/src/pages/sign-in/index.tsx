/** Sign-in: shown at /sign-in, and in place of every page without a session. The address stays. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { ApiError, call } from "@/api/client";
import type { Session } from "@/api/extra";
import { keys } from "@/api/keys";
import { newKey, SigningUnavailable, StorageUnavailable } from "@/api/proof";
import { useSignedIn } from "@/api/session";
import { strings } from "@/strings";
import { Banner, Button, Field, Input } from "@/ui";
import css from "./sign-in.module.css";

const text = strings.signIn;

function messageOf(error: unknown): string {
  if (error instanceof SigningUnavailable) return text.cannotSign;
  if (error instanceof StorageUnavailable) return text.cannotKeep;
  if (!(error instanceof ApiError)) return strings.common.unknownError;
  if (error.code === "bad_credentials") return text.bad;
  if (error.code === "bad_link") return text.badLink;
  if (error.status === 429) return text.limited(error.retryAfter ?? 30);
  return error.message;
}

/** The token at the end of `/sign-in/TOKEN`. */
function tokenOf(path: string): string | null {
  return /^\/sign-in\/([^/]+)\/?$/.exec(path)?.[1] ?? null;
}

/** Where to go afterwards: a page of our own, or the one that is in the address anyway. */
function nextOf(search: Record<string, unknown>): string | null {
  const { next } = search;
  return typeof next === "string" && /^\/(?![/\\])/.test(next) ? next : null;
}

/** Sends a sign-in call and takes the session over. */
function useSend() {
  const navigate = useNavigate();
  const signedIn = useSignedIn();
  const { pathname, search } = useRouterState({ select: (state) => state.location });
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  return {
    busy,
    problem,
    async send(path: string, body: object): Promise<boolean> {
      setBusy(true);
      setProblem(null);
      try {
        const { key, keep } = await newKey();
        const session = await call<Session>(path, { method: "POST", body: { ...body, key }, plain: true });
        if (session.session) await keep(session.session.id, session.nonce);
        const next = nextOf(search as Record<string, unknown>);
        if (next?.startsWith("/r/")) {
          // A page of the server itself.
          window.location.assign(next);
          return true;
        }
        if (pathname.startsWith("/sign-in")) await navigate({ href: next ?? "/queue", replace: true });
        signedIn(session);
        return true;
      } catch (error) {
        setProblem(messageOf(error));
        return false;
      } finally {
        setBusy(false);
      }
    },
  };
}

function ByLink({ token, other }: { token: string; other(): void }) {
  const { busy, problem, send } = useSend();
  return (
    <form
      className={css.form}
      onSubmit={(event) => {
        event.preventDefault();
        void send("/v1/session/link", { token });
      }}
    >
      <h1>{text.linkTitle}</h1>
      <p className={css.quiet}>{text.linkText}</p>
      {problem ? (
        <Banner tone="bad" role="alert">
          {problem}
        </Banner>
      ) : null}
      <Button type="submit" look="primary" disabled={busy}>
        {busy ? text.busy : text.linkSubmit}
      </Button>
      <Button look="quiet" onClick={other}>
        {text.other}
      </Button>
    </form>
  );
}

function ByPassword({ ended }: { ended: boolean }) {
  const { busy, problem, send } = useSend();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [shown, setShown] = useState(false);
  const first = useRef<HTMLInputElement>(null);
  const second = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  return (
    <form
      className={css.form}
      onSubmit={async (event) => {
        event.preventDefault();
        if (busy || name.trim() === "" || password === "") return;
        if (!(await send("/v1/session", { name: name.trim(), password }))) {
          setPassword("");
          second.current?.focus();
        }
      }}
    >
      <h1>{text.title}</h1>
      {ended ? (
        <Banner tone="warn" role="status">
          {text.expired}
        </Banner>
      ) : null}
      {problem ? (
        <Banner tone="bad" role="alert">
          {problem}
        </Banner>
      ) : null}
      <Field label={text.name}>
        <Input
          ref={first}
          name="username"
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <Field label={text.password}>
        <div className={css.secret}>
          <Input
            ref={second}
            name="password"
            type={shown ? "text" : "password"}
            autoComplete="current-password"
            aria-label={text.password}
            required
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
          <Button look="quiet" size="small" aria-pressed={shown} onClick={() => setShown(!shown)}>
            {shown ? text.hide : text.show}
          </Button>
        </div>
      </Field>
      <Button type="submit" look="primary" disabled={busy}>
        {busy ? text.busy : text.submit}
      </Button>
      <div className={css.help}>
        <strong>{text.noPassword}</strong> {text.noPasswordText}
        <code>{text.command}</code>
      </div>
    </form>
  );
}

export default function SignInPage() {
  const { pathname } = useRouterState({ select: (state) => state.location });
  const token = tokenOf(pathname);
  const [password, setPassword] = useState(token === null);
  const client = useQueryClient();
  // The queue was on screen, so a session has just ended.
  const [ended] = useState(() => client.getQueryData(keys.queue) !== undefined);
  return (
    <main className={css.screen}>
      <div className={css.brand}>
        <span className={css.logo} aria-hidden>
          <svg viewBox="0 0 32 32" width="40" height="40" role="presentation">
            <rect width="32" height="32" rx="8" />
            <path d="M9 17l5 5L24 10" />
          </svg>
        </span>
        <div>
          <div className={css.name}>{strings.product}</div>
          <div className={css.quiet}>{text.lead}</div>
        </div>
      </div>
      <div className={css.card}>
        {token && !password ? (
          <ByLink token={token} other={() => setPassword(true)} />
        ) : (
          <ByPassword ended={ended} />
        )}
      </div>
    </main>
  );
}
