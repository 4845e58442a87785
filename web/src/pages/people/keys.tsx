/** Keys of programs and people. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import type { Role } from "@/api/extra";
import { keys } from "@/api/keys";
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
  Select,
  Table,
  useToast,
} from "@/ui";
import { FormDialog } from "@/ui/form-dialog";
import { Ways } from "../connect";
import { Section, When } from "../shared/bits";
import { Loaded } from "../shared/loaded";
import { visible } from "../shared/visible";
import { ConfirmDialog, NameField, problem, Secret, ShownOnce } from "./parts";
import css from "./people.module.css";

const text = strings.people;

interface Key {
  id: string;
  role: Role;
  name: string;
  owner: string | null;
  created_at: string;
  revoked_at: string | null;
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
      void client.invalidateQueries({ queryKey: keys.agents });
    },
  });
  if (make.data?.key) {
    return (
      <ShownOnce title={text.keyTitle(visible(make.data.name))} close={close}>
        <Banner tone="warn">{text.keyOnce}</Banner>
        <Secret value={make.data.key} />
        <div className={css.use}>
          <span className={css.quiet}>{text.keyUse}</span>
          <code>Authorization: Bearer …</code>
          <code>PLACET_TOKEN=…</code>
        </div>
        {role === "agent" ? <Ways known={{ name: make.data.name, key: make.data.key }} /> : null}
      </ShownOnce>
    );
  }
  return (
    <FormDialog
      title={text.newKeyTitle}
      submit={text.make}
      ready={!make.isPending}
      error={problem(make.error)}
      onSubmit={() => {
        if (name.trim() !== "") make.mutate();
      }}
      onClose={close}
    >
      <Field label={text.keyRole}>
        <Select value={role} onChange={(event) => setRole(event.target.value as Role)}>
          {(["agent", "reviewer", "admin", "auditor"] as const).map((each) => (
            <option key={each} value={each}>
              {strings.role[each]}: {text.roleText[each]}
            </option>
          ))}
        </Select>
      </Field>
      <NameField label={text.keyName} hint={text.keyNameHint} value={name} onChange={setName} />
      {role === "agent" ? (
        <Field label={text.keyOwner} hint={text.keyOwnerHint}>
          <Input autoComplete="off" value={owner} onChange={(event) => setOwner(event.target.value)} />
        </Field>
      ) : null}
    </FormDialog>
  );
}

export function Keys() {
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
      <Loaded query={query}>
        {() => (
          <Table
            cards
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
              {
                key: "may",
                head: text.keyMay,
                cell: (key) => <span className={css.quiet}>{text.roleText[key.role]}</span>,
              },
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
      </Loaded>
      {making ? <KeyDialog close={() => setMaking(false)} /> : null}
      {revoking ? (
        <ConfirmDialog
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
        </ConfirmDialog>
      ) : null}
    </Section>
  );
}
