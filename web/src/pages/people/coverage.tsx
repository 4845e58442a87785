/** An agent's report of its tools: which ask, which were left out, and which Placet does not see. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Agent } from "@/api/agents";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { strings } from "@/strings";
import { Badge, Banner, Button, Dialog, Table, useToast } from "@/ui";
import { visible } from "../shared/visible";
import { problem } from "./parts";
import css from "./people.module.css";

const text = strings.people;

const TONES = { complete: "good", partial: "bad", unknown: undefined } as const;
const ORDER = { uncovered: 0, unasked: 1, gated: 2 } as const;

/** One word, and how much is out of sight. */
export function CoveredMark({ agent }: { agent: Agent }) {
  const hidden = agent.coverage.flatMap(({ parts }) => parts).filter(({ status }) => status === "uncovered");
  return (
    <Badge tone={TONES[agent.covered]}>
      {agent.covered === "partial" ? text.outOfSight(hidden.length) : text.coverageWords[agent.covered]}
    </Badge>
  );
}

export function CoverageDialog({ agent, close }: { agent: Agent; close(): void }) {
  const client = useQueryClient();
  const toast = useToast();
  const forget = useMutation({
    mutationFn: () => call(`/v1/agents/${encodeURIComponent(agent.name)}/coverage`, { method: "DELETE" }),
    onSuccess: () => {
      toast({ text: text.coverageForgotten(visible(agent.name)), tone: "good" });
      void client.invalidateQueries({ queryKey: keys.agents });
      close();
    },
  });
  return (
    <Dialog
      open
      wide
      title={text.coverageTitle(visible(agent.name))}
      onClose={close}
      footer={
        <>
          <Button disabled={forget.isPending || agent.coverage.length === 0} onClick={() => forget.mutate()}>
            {text.forgetCoverage}
          </Button>
          <Button look="primary" onClick={close}>
            {text.done}
          </Button>
        </>
      }
    >
      <p>{text.coverageText}</p>
      {forget.error ? <Banner tone="bad">{problem(forget.error)}</Banner> : null}
      {agent.coverage.length === 0 ? <p className={css.quiet}>{text.noCoverage}</p> : null}
      {agent.coverage.map((report) => (
        <section key={`${report.framework} ${report.agent}`} className={css.report}>
          <h3>
            {visible(report.agent)} <span className={css.quiet}>{visible(report.framework)}</span>
          </h3>
          <Table
            cards
            label={visible(report.agent)}
            items={report.parts.toSorted((a, b) => ORDER[a.status] - ORDER[b.status])}
            rowKey={(part) => JSON.stringify([part.agent, part.kind, part.name])}
            empty={<p className={css.quiet}>{text.noParts}</p>}
            columns={[
              {
                key: "status",
                head: text.partStatus,
                cell: (part) => (
                  <Badge
                    tone={part.status === "uncovered" ? "bad" : part.status === "gated" ? "good" : undefined}
                  >
                    {text.partWords[part.status]}
                  </Badge>
                ),
              },
              { key: "name", head: text.name, cell: (part) => <code>{visible(part.name)}</code> },
              {
                key: "what",
                head: text.partWhat,
                cell: (part) => `${visible(part.kind)}, ${visible(part.agent)}`,
              },
              { key: "why", head: text.partWhy, cell: (part) => visible(part.why ?? "") },
            ]}
          />
        </section>
      ))}
    </Dialog>
  );
}
