/** Grants, with a button to revoke them. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { useMe } from "@/api/session";
import { moment } from "@/lib/time";
import { strings } from "@/strings";
import { Badge, Button, EmptyState, ErrorState, Loading, Table, useToast, Verbatim } from "@/ui";
import { Section } from "../shared/bits";
import { visible } from "../shared/visible";
import css from "./policy.module.css";

const text = strings.policy;

interface Grant {
  id: string;
  by: string;
  agent: string;
  tool: string;
  policy: string;
  uses: number;
  used: number;
  covers: string;
  created_at: string;
  expires_at: string;
  request: string;
}

interface EndedGrant extends Grant {
  ended_at: string;
  why: string;
}

interface Grants {
  items: Grant[];
  ended_at_upgrade: { items: EndedGrant[]; trust: number };
}

export function Grants({ policy }: { policy: string }) {
  const me = useMe();
  const client = useQueryClient();
  const toast = useToast();
  const query = useQuery({
    queryKey: keys.grants,
    queryFn: ({ signal }) => call<Grants>("/v1/grants", { signal }),
  });
  const revoke = useMutation({
    mutationFn: (id: string) => call(`/v1/grants/${encodeURIComponent(id)}`, { method: "DELETE" }),
    onSuccess: () => toast({ text: text.revoked, tone: "good" }),
    onError: (error) => toast({ text: error.message, tone: "bad" }),
    onSettled: () => void client.invalidateQueries({ queryKey: keys.grants }),
  });
  if (query.isPending) return <Loading />;
  if (!query.data) return <ErrorState error={query.error} retry={() => void query.refetch()} />;
  return (
    <>
      <Section title={text.grants} text={text.grantsText}>
        <Table
          label={text.grants}
          cards
          items={query.data.items}
          rowKey={(grant) => grant.id}
          empty={
            <EmptyState icon="key" title={text.grantsEmpty}>
              {text.grantsEmptyText}
            </EmptyState>
          }
          columns={[
            {
              key: "covers",
              head: text.grantCovers,
              cell: (grant) => (
                <div className={css.covers}>
                  <Verbatim>{visible(grant.covers)}</Verbatim>
                  {grant.policy === policy ? null : <Badge tone="warn">{text.grantVoid}</Badge>}
                </div>
              ),
            },
            { key: "for", head: text.grantFor, cell: (grant) => visible(grant.agent) },
            { key: "by", head: text.grantBy, cell: (grant) => <GrantAuthor grant={grant} /> },
            {
              key: "uses",
              head: text.grantUses,
              number: true,
              cell: (grant) => text.grantUsed(grant.used, grant.uses),
            },
            { key: "ends", head: text.grantEnds, cell: (grant) => moment(grant.expires_at) },
            {
              key: "revoke",
              head: <span className="visually-hidden">{text.revoke}</span>,
              number: true,
              cell: (grant) =>
                me.roles.includes("admin") || grant.by === me.name ? (
                  <Button
                    size="small"
                    look="bad"
                    aria-label={`${text.revoke}: ${grant.tool}, ${grant.agent}`}
                    disabled={revoke.isPending}
                    onClick={() => revoke.mutate(grant.id)}
                  >
                    {text.revoke}
                  </Button>
                ) : null,
            },
          ]}
        />
      </Section>
      <EndedAtUpgrade ended={query.data.ended_at_upgrade} />
    </>
  );
}

/** The person who gave the grant, with the request that it was given on. */
function GrantAuthor({ grant }: { grant: { by: string; request: string } }) {
  return (
    <Link to="/history" search={{ id: grant.request }}>
      {visible(grant.by)}
    </Link>
  );
}

/** What the upgrade ended, for as long as the server keeps it. */
function EndedAtUpgrade({ ended }: { ended: Grants["ended_at_upgrade"] }) {
  if (ended.items.length === 0 && ended.trust === 0) return null;
  return (
    <Section title={text.ended} text={ended.items.length > 0 ? text.endedText : undefined}>
      {ended.items.length > 0 ? (
        <Table
          label={text.ended}
          cards
          items={ended.items}
          rowKey={(grant) => grant.id}
          columns={[
            {
              key: "covers",
              head: text.endedCovered,
              cell: (grant) => (
                <div className={css.covers}>
                  <Verbatim>{visible(grant.covers)}</Verbatim>
                </div>
              ),
            },
            { key: "for", head: text.grantFor, cell: (grant) => visible(grant.agent) },
            { key: "by", head: text.grantBy, cell: (grant) => <GrantAuthor grant={grant} /> },
            { key: "ended", head: text.endedWhen, cell: (grant) => moment(grant.ended_at) },
            { key: "why", head: text.endedWhy, cell: (grant) => visible(grant.why) },
          ]}
        />
      ) : null}
      {ended.trust > 0 ? <p>{text.endedTrust(ended.trust)}</p> : null}
    </Section>
  );
}
