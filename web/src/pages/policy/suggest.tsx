/** Rules suggested from history. The page can only put them into the editor. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { suggestQuery } from "@/api/attention";
import { strings } from "@/strings";
import { Button, EmptyState, ErrorState, Loading, Table, Verbatim } from "@/ui";
import { Section } from "../shared/bits";
import { CodeView } from "./code";
import css from "./policy.module.css";

const text = strings.attention;
const WHY = ["refused", "risky", "not_literal", "outside", "held"] as const;

/** `policy` is the text that the rules are added to: the draft, or the policy in force. */
export function Suggest({ policy, edit }: { policy: string; edit(next: string): void }) {
  const query = useQuery(suggestQuery);
  if (query.isPending) return <Loading />;
  if (!query.data) return <ErrorState error={query.error} retry={() => void query.refetch()} />;
  const { items, text: rules, left_out: left } = query.data;
  return (
    <Section title={text.suggest} text={text.suggestAbout}>
      <Table
        label={text.suggest}
        cards
        items={items}
        rowKey={(item) => item.rule}
        empty={
          <EmptyState icon="policy" title={text.suggestEmpty}>
            {text.suggestEmptyText}
          </EmptyState>
        }
        columns={[
          { key: "effect", head: text.effect, cell: (item) => <Verbatim>{item.effect}</Verbatim> },
          { key: "agent", head: text.agent, cell: (item) => item.agent },
          {
            key: "approvals",
            head: text.approvals,
            number: true,
            cell: (item) => (
              <Link to="/history" search={{ id: item.request }}>
                {item.approvals}
              </Link>
            ),
          },
          { key: "saved", head: text.saved, number: true, cell: (item) => item.saved.toLocaleString() },
        ]}
      />
      {items.length > 0 ? (
        <>
          <CodeView text={rules} label={text.rules} marks={new Map()} />
          <p>
            <Button
              look="primary"
              onClick={() => edit(policy.includes(rules) ? policy : `${policy.trimEnd()}\n\n${rules}`)}
            >
              {text.toEditor}
            </Button>
          </p>
        </>
      ) : null}
      {WHY.filter((why) => left[why] > 0).map((why) => (
        <p key={why} className={css.quiet}>
          {text.leftOut(left[why], text.why[why])}
        </p>
      ))}
    </Section>
  );
}
