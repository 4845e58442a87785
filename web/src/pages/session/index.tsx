/** One session of an agent: what passed, what was confined, what was asked, and how to be asked less. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { PARTS, type Summary, summaryQuery } from "@/api/attention";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { useCanSuggest, useMe } from "@/api/session";
import { useKeys } from "@/app/keys";
import { moment } from "@/lib/time";
import { strings } from "@/strings";
import { Button, EmptyState, ErrorState, Loading, Page, Table, useToast, Verbatim } from "@/ui";
import { Headline, Parts } from "../shared/attention";
import { Section } from "../shared/bits";

const text = strings.attention;

function useTakeBack() {
  const client = useQueryClient();
  const toast = useToast();
  return useMutation({
    mutationFn: (id: string) => call(`/v1/grants/${encodeURIComponent(id)}`, { method: "DELETE" }),
    onSuccess: () => toast({ text: text.takenBack, tone: "good" }),
    onError: (error) => toast({ text: error.message, tone: "bad" }),
    onSettled: () => {
      void client.invalidateQueries({ queryKey: keys.grants });
      void client.invalidateQueries({ queryKey: ["summary"] });
    },
  });
}

function Lines({ summary, part }: { summary: Summary; part: (typeof PARTS)[number] }) {
  const items = summary.lines.filter((line) => line.part === part);
  if (items.length === 0) return null;
  const asked = part === "asked";
  return (
    <Section title={text.parts[part]}>
      <Table
        label={text.parts[part]}
        cards
        items={items}
        rowKey={(line) => line.request}
        columns={[
          { key: "tool", head: text.tool, cell: (line) => <Verbatim>{line.tool}</Verbatim> },
          {
            key: "effect",
            head: text.effect,
            cell: (line) => (line.effect === null ? "–" : <Verbatim>{line.effect}</Verbatim>),
          },
          { key: "count", head: text.count, number: true, cell: (line) => line.count.toLocaleString() },
          {
            key: "outcome",
            head: text.outcome,
            cell: (line) =>
              asked
                ? [
                    line.approved > 0 ? text.approved(line.approved) : null,
                    line.denied > 0 ? text.denied(line.denied) : null,
                  ]
                    .filter(Boolean)
                    .join(", ") || "–"
                : "–",
          },
          {
            key: "request",
            head: text.request,
            cell: (line) => (
              <Link to="/history" search={{ id: line.request }}>
                {text.request}
              </Link>
            ),
          },
        ]}
      />
    </Section>
  );
}

function SessionSummary({ summary }: { summary: Summary }) {
  const me = useMe();
  const navigate = useNavigate();
  const takeBack = useTakeBack();
  const suggests = useCanSuggest();
  const mine = (by: string | null) => me.roles.includes("admin") || by === me.name;
  const first = summary.grants.find((grant) => grant.stands && mine(grant.by));
  const makeRule = () => void navigate({ to: "/policy", search: { tab: "suggest" } as never });
  useKeys({
    m: () => {
      if (suggests) makeRule();
    },
    t: () => {
      if (first && !takeBack.isPending) takeBack.mutate(first.id);
    },
  });
  return (
    <>
      <Headline attention={summary.attention} />
      <Parts attention={summary.attention} />
      {suggests ? (
        <p>
          <Button look="primary" hotkey="m" onClick={makeRule}>
            {text.makeRule}
          </Button>
        </p>
      ) : null}
      {PARTS.filter((part) => part !== "passed").map((part) => (
        <Lines key={part} summary={summary} part={part} />
      ))}
      {summary.grants.length > 0 ? (
        <Section title={text.grants}>
          <Table
            label={text.grants}
            cards
            items={summary.grants}
            rowKey={(grant) => grant.id}
            columns={[
              { key: "tool", head: text.tool, cell: (grant) => <Verbatim>{grant.tool}</Verbatim> },
              { key: "by", head: strings.policy.grantBy, cell: (grant) => grant.by ?? "–" },
              { key: "count", head: text.count, cell: (grant) => text.grantCount(grant.count) },
              {
                key: "revoke",
                head: <span className="visually-hidden">{text.takeBack}</span>,
                number: true,
                cell: (grant) =>
                  !grant.stands ? (
                    text.over
                  ) : mine(grant.by) ? (
                    <Button
                      size="small"
                      look="bad"
                      hotkey={grant === first ? "t" : undefined}
                      disabled={takeBack.isPending}
                      onClick={() => takeBack.mutate(grant.id)}
                    >
                      {text.takeBack}
                    </Button>
                  ) : null,
              },
            ]}
          />
        </Section>
      ) : null}
    </>
  );
}

/** A name in the address as text. The router reads some names as numbers or JSON, and quotes them in its links. */
function named(search: string, key: "session" | "agent"): string | undefined {
  const written = new URLSearchParams(search).get(key);
  if (!written) return undefined;
  try {
    const read: unknown = JSON.parse(written);
    return typeof read === "string" ? read : written;
  } catch {
    return written;
  }
}

export default function SessionPage() {
  // Drawn again when the address changes.
  useSearch({ strict: false });
  const { search } = useRouter().history.location;
  const [session, agent] = [named(search, "session"), named(search, "agent")];
  const query = useQuery(summaryQuery(session, agent));
  const summary = query.data;
  const about = summary
    ? `${text.sessionAbout} ${moment(summary.from)} – ${moment(summary.to)}.${summary.whole ? "" : ` ${text.notWhole}`}`
    : `${text.sessionAbout} ${session ? "" : text.newest}`;
  return (
    <Page
      title={
        summary ? (
          <>
            {text.session} <Verbatim>{text.sessionOf(summary.session, summary.agent)}</Verbatim>
          </>
        ) : (
          text.session
        )
      }
      about={about}
    >
      {query.isPending ? (
        <Loading />
      ) : summary === null ? (
        <EmptyState icon="search" title={text.none}>
          {text.noneText}
        </EmptyState>
      ) : !summary ? (
        <ErrorState error={query.error} retry={() => void query.refetch()} />
      ) : (
        <SessionSummary summary={summary} />
      )}
    </Page>
  );
}
