/** The person's own page: account, sessions, password, theme, keys. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { ApiError, call } from "@/api/client";
import type { SessionItem } from "@/api/extra";
import { keys } from "@/api/keys";
import { useHasRole, useMe, useSignOut } from "@/api/session";
import { EVERYWHERE, IN_LISTS, KeyList } from "@/app/help";
import { type Theme, useTheme } from "@/app/theme";
import { cx } from "@/lib/cx";
import { moment } from "@/lib/time";
import { strings } from "@/strings";
import { Badge, Button, Card, Field, Icon, type IconName, Input, Page, useToast } from "@/ui";
import { Section, When } from "../shared/bits";
import { Loaded } from "../shared/loaded";
import { visible } from "../shared/visible";
import { browserOf } from "./browser";
import css from "./settings.module.css";

const text = strings.settings;

function Account() {
  const me = useMe();
  return (
    <Section title={text.account}>
      <Card>
        <dl className={css.facts}>
          <div>
            <dt>{text.name}</dt>
            <dd className={css.strong}>{visible(me.name)}</dd>
          </div>
          <div>
            <dt>{text.roles}</dt>
            <dd>
              {me.roles.map((role) => (
                <Badge key={role}>{strings.role[role]}</Badge>
              ))}
            </dd>
          </div>
          <div>
            <dt>{text.teams}</dt>
            <dd>
              {me.teams.length === 0
                ? text.noTeams
                : me.teams.map((team) => <Badge key={team}>{visible(team)}</Badge>)}
            </dd>
          </div>
          <div>
            <dt>{text.server}</dt>
            <dd>
              {strings.product} {me.server.version} · {me.server.database}
              {me.server.dev ? <Badge tone="warn">dev</Badge> : null}
            </dd>
          </div>
        </dl>
      </Card>
    </Section>
  );
}

const THEMES: { theme: Theme; icon: IconName }[] = [
  { theme: "system", icon: "screen" },
  { theme: "light", icon: "sun" },
  { theme: "dark", icon: "moon" },
];

function Appearance() {
  const [theme, setTheme] = useTheme();
  return (
    <Section title={text.appearance} text={text.appearanceText}>
      <fieldset className={css.themes}>
        <legend className="visually-hidden">{strings.theme.label}</legend>
        {THEMES.map((each) => (
          <label key={each.theme} className={cx(css.theme, theme === each.theme && css.chosen)}>
            <input
              type="radio"
              name="theme"
              value={each.theme}
              checked={theme === each.theme}
              onChange={() => setTheme(each.theme)}
            />
            <Icon name={each.icon} size={20} />
            {strings.theme[each.theme]}
          </label>
        ))}
      </fieldset>
    </Section>
  );
}

function Sessions() {
  const client = useQueryClient();
  const toast = useToast();
  const signOut = useSignOut();
  const query = useQuery({
    queryKey: keys.sessions,
    queryFn: ({ signal }) => call<{ items: SessionItem[] }>("/v1/sessions", { signal }),
  });
  const end = useMutation({
    mutationFn: (id: string) => call(`/v1/sessions/${encodeURIComponent(id)}`, { method: "DELETE" }),
    onSuccess: () => {
      toast({ text: text.ended, tone: "good" });
      void client.invalidateQueries({ queryKey: keys.sessions });
    },
    onError: (error) => toast({ text: error.message, tone: "bad" }),
  });
  return (
    <Section title={text.sessions} text={text.sessionsText}>
      <Loaded query={query}>
        {({ items }) => (
          <ul className={css.sessions}>
            {items.map((session) => (
              <li key={session.id}>
                <Icon name="screen" size={22} />
                <div className={css.device}>
                  <strong title={session.user_agent}>{visible(browserOf(session.user_agent))}</strong>{" "}
                  {session.current ? <Badge tone="good">{text.current}</Badge> : null}
                  <div className={css.quiet}>
                    {text.via[session.via as "link" | "password"] ?? session.via} · {text.since.toLowerCase()}{" "}
                    {moment(session.created_at)} · {text.seen.toLowerCase()}{" "}
                    <When time={session.last_seen_at} /> · {text.ends.toLowerCase()}{" "}
                    {moment(session.expires_at)}
                  </div>
                </div>
                {session.current ? (
                  <Button
                    onClick={() =>
                      void signOut().catch((error: Error) => toast({ text: error.message, tone: "bad" }))
                    }
                  >
                    {text.signOut}
                  </Button>
                ) : (
                  <Button
                    look="bad"
                    disabled={end.isPending}
                    aria-label={`${text.end}: ${browserOf(session.user_agent)}`}
                    onClick={() => end.mutate(session.id)}
                  >
                    {text.end}
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Section>
  );
}

/** A password field that password managers understand. */
function Secret({
  label,
  hint,
  kind,
  error,
  value,
  onChange,
}: {
  label: string;
  hint?: string;
  kind: "current" | "new";
  error: string | null;
  value: string;
  onChange(value: string): void;
}) {
  return (
    <Field label={label} hint={hint} error={error}>
      <Input
        type="password"
        autoComplete={`${kind}-password`}
        required
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

function Password() {
  const client = useQueryClient();
  const me = useMe();
  const toast = useToast();
  const [current, setCurrent] = useState("");
  const [fresh, setFresh] = useState("");
  const [again, setAgain] = useState("");
  const [tried, setTried] = useState(false);
  const bytes = new TextEncoder().encode(fresh).length;
  const short = bytes < 12 ? text.tooShort : bytes > 1024 ? text.tooLong : null;
  const differ = again !== fresh ? text.differ : null;
  const save = useMutation({
    mutationFn: () =>
      call("/v1/session/password", {
        method: "PUT",
        body: { ...(me.has_password ? { current } : {}), new: fresh },
      }),
    onSuccess: () => {
      toast({ text: text.saved, tone: "good" });
      setCurrent("");
      setFresh("");
      setAgain("");
      setTried(false);
      void client.invalidateQueries({ queryKey: keys.sessions });
      void client.invalidateQueries({ queryKey: keys.session });
    },
  });
  const refused = save.error instanceof ApiError && save.error.code === "bad_credentials" ? text.wrong : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (!short && !differ) save.mutate();
  };
  return (
    <Section title={text.password} text={me.has_password ? text.passwordSet : text.passwordNone}>
      <Card>
        <form className={css.password} onSubmit={submit}>
          <input
            className="visually-hidden"
            tabIndex={-1}
            aria-hidden
            autoComplete="username"
            value={me.name}
            readOnly
          />
          {me.has_password ? (
            <Secret
              label={text.current_}
              kind="current"
              error={refused}
              value={current}
              onChange={setCurrent}
            />
          ) : null}
          <Secret
            label={text.new_}
            hint={text.newHint}
            kind="new"
            error={tried ? short : null}
            value={fresh}
            onChange={setFresh}
          />
          <Secret
            label={text.repeat}
            kind="new"
            error={tried ? differ : null}
            value={again}
            onChange={setAgain}
          />
          {save.error && !refused ? (
            <p className={css.error} role="alert">
              {save.error.message}
            </p>
          ) : null}
          <div>
            <Button type="submit" look="primary" disabled={save.isPending}>
              {text.savePassword}
            </Button>
          </div>
        </form>
      </Card>
    </Section>
  );
}

function Keys() {
  return (
    <Section title={text.keys} text={text.keysText}>
      <Card>
        <KeyList list={IN_LISTS} />
        <KeyList list={EVERYWHERE} />
      </Card>
    </Section>
  );
}

export default function SettingsPage() {
  const admin = useHasRole("admin");
  return (
    <Page title={text.title} about={text.about}>
      <div className={css.columns}>
        <div className={css.column}>
          <Account />
          <Sessions />
          <Password />
        </div>
        <div className={css.column}>
          <Appearance />
          <Keys />
          {admin ? (
            <p className={css.quiet}>
              <Link to="/people">{text.apiKeys}</Link>
            </p>
          ) : null}
        </div>
      </div>
    </Page>
  );
}
