/** People and keys, for admins. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, call } from "@/api/client";
import type { Role, SignInLink } from "@/api/extra";
import { keys } from "@/api/keys";
import { useHasRole, useMe } from "@/api/session";
import { moment } from "@/lib/time";
import { strings } from "@/strings";
import {
  Badge,
  Banner,
  Button,
  Checkbox,
  Dialog,
  EmptyState,
  ErrorState,
  Field,
  Icon,
  Input,
  Loading,
  Page,
  Row,
  Select,
  Table,
  useToast,
} from "@/ui";
import { CopyButton, Section, When } from "../shared/bits";
import { visible } from "../shared/visible";
import css from "./people.module.css";

const text = strings.people;

interface Person {
  name: string;
  roles: Role[];
  teams: string[];
}
interface Key {
  id: string;
  role: Role;
  name: string;
  owner: string | null;
  created_at: string;
  revoked_at: string | null;
}
const ROLES = ["reviewer", "admin", "auditor"] as const;

function problem(error: unknown): string | null {
  if (!error) return null;
  return error instanceof ApiError ? error.message : strings.common.unknownError;
}

/** Adds a person, or changes one. */
function PersonDialog({ person, close }: { person: Person | null; close(): void }) {
  const client = useQueryClient();
  const toast = useToast();
  const [name, setName] = useState(person?.name ?? "");
  const [roles, setRoles] = useState<Role[]>(person?.roles ?? ["reviewer"]);
  const [teams, setTeams] = useState(person?.teams.join(", ") ?? "");
  const [tried, setTried] = useState(false);
  const save = useMutation({
    mutationFn: () => {
      const body = {
        roles,
        teams: [...new Set(teams.split(",").map((team) => team.trim()))].filter((team) => team !== ""),
      };
      return person
        ? call(`/v1/people/${encodeURIComponent(person.name)}`, { method: "PUT", body })
        : call("/v1/people", { method: "POST", body: { name: name.trim(), ...body } });
    },
    onSuccess: () => {
      toast({ text: text.saved(name.trim()), tone: "good" });
      void client.invalidateQueries({ queryKey: keys.people });
      close();
    },
  });
  return (
    <Dialog
      open
      title={person ? text.editTitle(visible(person.name)) : text.addTitle}
      onClose={close}
      onSubmit={() => {
        setTried(true);
        if (roles.length > 0 && name.trim() !== "") save.mutate();
      }}
      footer={
        <>
          <Button onClick={close}>{strings.common.cancel}</Button>
          <Button type="submit" look="primary" disabled={save.isPending}>
            {strings.common.save}
          </Button>
        </>
      }
    >
      {save.error ? (
        <Banner tone="bad" role="alert">
          {problem(save.error)}
        </Banner>
      ) : null}
      {person ? null : (
        <Field label={text.name} hint={text.nameHint}>
          <Input
            required
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </Field>
      )}
      <fieldset className={css.roles}>
        <legend>{text.roles}</legend>
        {ROLES.map((role) => (
          <Checkbox
            key={role}
            checked={roles.includes(role)}
            onChange={(event) =>
              setRoles(event.target.checked ? [...roles, role] : roles.filter((each) => each !== role))
            }
          >
            <strong>{strings.role[role]}</strong> <span className={css.quiet}>{text.roleText[role]}</span>
          </Checkbox>
        ))}
        {tried && roles.length === 0 ? <p role="alert">{text.noRole}</p> : null}
      </fieldset>
      <Field label={text.teams} hint={text.teamsHint}>
        <Input autoComplete="off" value={teams} onChange={(event) => setTeams(event.target.value)} />
      </Field>
    </Dialog>
  );
}

/** Asks before something that cannot be undone. */
function Sure({
  title,
  children,
  action,
  run,
  done,
  close,
}: {
  title: string;
  children: string;
  action: string;
  run(): Promise<unknown>;
  done(): void;
  close(): void;
}) {
  const go = useMutation({
    mutationFn: run,
    onSuccess: () => {
      done();
      close();
    },
  });
  return (
    <Dialog
      open
      title={title}
      onClose={close}
      onSubmit={() => go.mutate()}
      footer={
        <>
          <Button onClick={close}>{strings.common.cancel}</Button>
          <Button type="submit" look="bad" disabled={go.isPending}>
            {action}
          </Button>
        </>
      }
    >
      <p>{children}</p>
      {go.error ? (
        <Banner tone="bad" role="alert">
          {problem(go.error)}
        </Banner>
      ) : null}
    </Dialog>
  );
}

function LinkDialog({ name, close }: { name: string; close(): void }) {
  // Made once, when the dialog opens; a second render must not make a second link.
  const link = useQuery({
    queryKey: ["sign-in-link", name],
    queryFn: () =>
      call<SignInLink>(`/v1/people/${encodeURIComponent(name)}/link`, { method: "POST", body: {} }),
    staleTime: 0,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    refetchOnMount: false,
  });
  const url = link.data ? new URL(link.data.url, window.location.origin).href : "";
  return (
    <Dialog
      open
      title={text.linkTitle(visible(name))}
      onClose={close}
      footer={
        <Button look="primary" onClick={close}>
          {text.done}
        </Button>
      }
    >
      {link.isPending ? (
        <Loading />
      ) : link.data ? (
        <>
          <p>{text.linkText(moment(link.data.expires_at))}</p>
          <Secret value={url} />
        </>
      ) : (
        <Banner tone="bad" role="alert">
          {problem(link.error)}
        </Banner>
      )}
    </Dialog>
  );
}

/** Something to be copied, once. */
function Secret({ value }: { value: string }) {
  return (
    <div className={css.secret}>
      <code data-testid="secret">{value}</code>
      <CopyButton text={value} />
    </div>
  );
}

function People() {
  const client = useQueryClient();
  const toast = useToast();
  const me = useMe();
  const query = useQuery({
    queryKey: keys.people,
    queryFn: ({ signal }) => call<{ items: Person[] }>("/v1/people", { signal }),
  });
  const [editing, setEditing] = useState<Person | "new" | null>(null);
  const [removing, setRemoving] = useState<Person | null>(null);
  const [linking, setLinking] = useState<string | null>(null);
  return (
    <Section
      title={text.people}
      text={text.peopleText}
      actions={
        <Button look="primary" onClick={() => setEditing("new")}>
          {text.add}
        </Button>
      }
    >
      {query.isPending ? (
        <Loading />
      ) : !query.data ? (
        <ErrorState error={query.error} retry={() => void query.refetch()} />
      ) : (
        <Table
          label={text.people}
          items={query.data.items}
          rowKey={(person) => person.name}
          columns={[
            {
              key: "name",
              head: text.name,
              cell: (person) => (
                <span className={css.name}>
                  <span className={css.avatar} aria-hidden>
                    {[...person.name][0]?.toUpperCase()}
                  </span>
                  <strong>{visible(person.name)}</strong>
                  {person.name === me.name ? <Badge tone="accent">{text.you}</Badge> : null}
                </span>
              ),
            },
            {
              key: "roles",
              head: text.roles,
              cell: (person) => (
                <Row>
                  {person.roles.map((role) => (
                    <Badge key={role} tone={role === "admin" ? "accent" : undefined}>
                      {strings.role[role]}
                    </Badge>
                  ))}
                </Row>
              ),
            },
            {
              key: "teams",
              head: text.teams,
              cell: (person) =>
                person.teams.length === 0 ? (
                  <span className={css.quiet}>–</span>
                ) : (
                  <Row>
                    {person.teams.map((team) => (
                      <Badge key={team}>{visible(team)}</Badge>
                    ))}
                  </Row>
                ),
            },
            {
              key: "actions",
              head: <span className="visually-hidden">{text.actions}</span>,
              number: true,
              cell: (person) => (
                <span className={css.actions}>
                  <Button
                    size="small"
                    aria-label={`${text.link}: ${person.name}`}
                    onClick={() => setLinking(person.name)}
                  >
                    <Icon name="link" /> {text.link}
                  </Button>
                  <Button
                    size="small"
                    aria-label={`${text.edit}: ${person.name}`}
                    onClick={() => setEditing(person)}
                  >
                    {text.edit}
                  </Button>
                  <Button
                    size="small"
                    look="bad"
                    aria-label={`${text.remove}: ${person.name}`}
                    disabled={person.name === me.name}
                    onClick={() => setRemoving(person)}
                  >
                    {text.remove}
                  </Button>
                </span>
              ),
            },
          ]}
        />
      )}
      {editing ? (
        <PersonDialog person={editing === "new" ? null : editing} close={() => setEditing(null)} />
      ) : null}
      {linking ? <LinkDialog name={linking} close={() => setLinking(null)} /> : null}
      {removing ? (
        <Sure
          title={text.removeTitle(visible(removing.name))}
          action={text.remove}
          run={() => call(`/v1/people/${encodeURIComponent(removing.name)}`, { method: "DELETE" })}
          done={() => {
            toast({ text: text.removed(removing.name), tone: "good" });
            void client.invalidateQueries({ queryKey: keys.people });
            void client.invalidateQueries({ queryKey: keys.keyList });
          }}
          close={() => setRemoving(null)}
        >
          {text.removeText}
        </Sure>
      ) : null}
    </Section>
  );
}

/** Asks for name and role, then shows the key once. */
function KeyDialog({ close }: { close(): void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("agent");
  const [owner, setOwner] = useState("");
  const make = useMutation({
    mutationFn: () =>
      call<{ name: string; key: string | null }>("/v1/keys", {
        method: "POST",
        body: {
          name: name.trim(),
          role,
          ...(role === "agent" && owner.trim() !== "" ? { owner: owner.trim() } : {}),
        },
      }),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: keys.keyList });
      void client.invalidateQueries({ queryKey: keys.people });
    },
  });
  if (make.data?.key) {
    return (
      <Dialog
        open
        title={text.keyTitle(visible(make.data.name))}
        onClose={close}
        footer={
          <Button look="primary" onClick={close}>
            {text.done}
          </Button>
        }
      >
        <Banner tone="warn">{text.keyOnce}</Banner>
        <Secret value={make.data.key} />
        <div className={css.use}>
          <span className={css.quiet}>{text.keyUse}</span>
          <code>Authorization: Bearer …</code>
          <code>PLACET_TOKEN=…</code>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog
      open
      title={text.newKeyTitle}
      onClose={close}
      onSubmit={() => {
        if (name.trim() !== "") make.mutate();
      }}
      footer={
        <>
          <Button onClick={close}>{strings.common.cancel}</Button>
          <Button type="submit" look="primary" disabled={make.isPending}>
            {text.make}
          </Button>
        </>
      }
    >
      {make.error ? (
        <Banner tone="bad" role="alert">
          {problem(make.error)}
        </Banner>
      ) : null}
      <Field label={text.keyRole}>
        <Select value={role} onChange={(event) => setRole(event.target.value as Role)}>
          {(["agent", "reviewer", "admin", "auditor"] as const).map((each) => (
            <option key={each} value={each}>
              {strings.role[each]}: {text.roleText[each]}
            </option>
          ))}
        </Select>
      </Field>
      <Field label={text.keyName} hint={text.keyNameHint}>
        <Input
          required
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      {role === "agent" ? (
        <Field label={text.keyOwner} hint={text.keyOwnerHint}>
          <Input autoComplete="off" value={owner} onChange={(event) => setOwner(event.target.value)} />
        </Field>
      ) : null}
    </Dialog>
  );
}

function Keys() {
  const client = useQueryClient();
  const toast = useToast();
  const query = useQuery({
    queryKey: keys.keyList,
    queryFn: ({ signal }) => call<{ items: Key[] }>("/v1/keys", { signal }),
  });
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Key | null>(null);
  const [all, setAll] = useState(false);
  const items = query.data?.items ?? [];
  const revoked = items.filter((key) => key.revoked_at).length;
  return (
    <Section
      title={text.keys}
      text={text.keysText}
      actions={
        <>
          {revoked > 0 ? (
            <Checkbox checked={all} onChange={(event) => setAll(event.target.checked)}>
              {text.showRevoked(revoked)}
            </Checkbox>
          ) : null}
          <Button onClick={() => setMaking(true)}>
            <Icon name="key" /> {text.newKey}
          </Button>
        </>
      }
    >
      {query.isPending ? (
        <Loading />
      ) : !query.data ? (
        <ErrorState error={query.error} retry={() => void query.refetch()} />
      ) : (
        <Table
          label={text.keys}
          items={all ? items : items.filter((key) => !key.revoked_at)}
          rowKey={(key) => key.id}
          empty={
            <EmptyState icon="key" title={text.noKeys}>
              {text.noKeysText}
            </EmptyState>
          }
          columns={[
            { key: "name", head: text.name, cell: (key) => <strong>{visible(key.name)}</strong> },
            { key: "role", head: text.keyRole, cell: (key) => <Badge>{strings.role[key.role]}</Badge> },
            { key: "owner", head: text.keyOwner, cell: (key) => (key.owner ? visible(key.owner) : "–") },
            { key: "created", head: text.created, cell: (key) => <When time={key.created_at} /> },
            {
              key: "id",
              head: "Id",
              cell: (key) => <code className={css.quiet}>{key.id}</code>,
            },
            {
              key: "actions",
              head: <span className="visually-hidden">{text.actions}</span>,
              number: true,
              cell: (key) =>
                key.revoked_at ? (
                  <Badge tone="bad">{text.revoked}</Badge>
                ) : (
                  <Button
                    size="small"
                    look="bad"
                    aria-label={`${text.revoke}: ${key.name}, ${key.id}`}
                    onClick={() => setRevoking(key)}
                  >
                    {text.revoke}
                  </Button>
                ),
            },
          ]}
        />
      )}
      {making ? <KeyDialog close={() => setMaking(false)} /> : null}
      {revoking ? (
        <Sure
          title={text.revokeTitle(visible(revoking.name))}
          action={text.revoke}
          run={() => call(`/v1/keys/${encodeURIComponent(revoking.id)}`, { method: "DELETE" })}
          done={() => {
            toast({ text: text.revokedDone, tone: "good" });
            void client.invalidateQueries({ queryKey: keys.keyList });
          }}
          close={() => setRevoking(null)}
        >
          {text.revokeText}
        </Sure>
      ) : null}
    </Section>
  );
}

export default function PeoplePage() {
  const admin = useHasRole("admin");
  return (
    <Page title={text.title} about={text.about}>
      {admin ? (
        <div className={css.tables}>
          <People />
          <Keys />
        </div>
      ) : (
        <EmptyState icon="lock" title={text.notAdmin}>
          {text.notAdminText}
        </EmptyState>
      )}
    </Page>
  );
}
