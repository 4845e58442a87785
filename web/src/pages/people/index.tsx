/** People and keys, for admins. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
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
  EmptyState,
  Field,
  Icon,
  Input,
  Loading,
  Page,
  Row,
  Table,
  useToast,
} from "@/ui";
import { FormDialog } from "@/ui/form-dialog";
import { Section } from "../shared/bits";
import { Loaded } from "../shared/loaded";
import { visible } from "../shared/visible";
import { Agents } from "./agents";
import { Keys } from "./keys";
import { ConfirmDialog, NameField, problem, Secret, ShownOnce } from "./parts";
import css from "./people.module.css";

const text = strings.people;

interface Person {
  name: string;
  roles: Role[];
  teams: string[];
}
const ROLES = ["reviewer", "admin", "auditor"] as const;

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
    <FormDialog
      title={person ? text.editTitle(visible(person.name)) : text.addTitle}
      submit={strings.common.save}
      ready={!save.isPending}
      error={problem(save.error)}
      onSubmit={() => {
        setTried(true);
        if (roles.length > 0 && name.trim() !== "") save.mutate();
      }}
      onClose={close}
    >
      {person ? null : <NameField label={text.name} hint={text.nameHint} value={name} onChange={setName} />}
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
    </FormDialog>
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
  const url = link.data?.url ? new URL(link.data.url, window.location.origin).href : "";
  return (
    <ShownOnce title={text.linkTitle(visible(name))} close={close}>
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
    </ShownOnce>
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
      <Loaded query={query}>
        {({ items }) => (
          <Table
            cards
            label={text.people}
            items={items}
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
      </Loaded>
      {editing ? (
        <PersonDialog person={editing === "new" ? null : editing} close={() => setEditing(null)} />
      ) : null}
      {linking ? <LinkDialog name={linking} close={() => setLinking(null)} /> : null}
      {removing ? (
        <ConfirmDialog
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
        </ConfirmDialog>
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
          <Agents />
        </div>
      ) : (
        <EmptyState icon="lock" title={text.notAdmin}>
          {text.notAdminText}
        </EmptyState>
      )}
    </Page>
  );
}
