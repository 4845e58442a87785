/** Writing a policy: checked while typing, tried on history, put in force on what it was made from. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { ApiError, call } from "@/api/client";
import { keys } from "@/api/keys";
import { useHasRole } from "@/api/session";
import { strings } from "@/strings";
import { Badge, Banner, Button, Dialog, Loading, Spinner, useToast } from "@/ui";
import { CodeEditor, marksOf } from "./code";
import {
  type Policy,
  type PolicyCheck,
  policyQuery,
  type Simulation,
  shadowQuery,
  useCheck,
  useSimulation,
  type Verdict,
  versionQuery,
} from "./data";
import { DiffView } from "./diff-view";
import { Notes } from "./notes";
import css from "./policy.module.css";
import { WhatIf } from "./what-if";

const text = strings.policy;

/** A draft, and the version that it was made from. It is kept while another page is open. */
export interface Draft {
  text: string;
  base: string;
}
let kept: Draft | null = null;
export function keptDraft(): Draft | null {
  return kept;
}
export function keepDraft(draft: Draft | null): void {
  kept = draft;
}

function Status({ verdict, same }: { verdict: Verdict; same: boolean }) {
  return (
    <span className={css.status} role="status">
      {verdict.checking ? (
        <>
          <Spinner label={text.check} /> {text.check}
        </>
      ) : verdict.error ? (
        <Badge tone="bad">{verdict.error.message}</Badge>
      ) : verdict.problems.length > 0 ? (
        <Badge tone="bad">{text.invalid(verdict.problems.length)}</Badge>
      ) : same ? (
        <Badge>{text.same}</Badge>
      ) : (
        <>
          <Badge tone="good">{text.valid}</Badge>
          {verdict.warnings.length + verdict.findings.length > 0 ? (
            <Badge tone="warn">{text.warnings(verdict.warnings.length + verdict.findings.length)}</Badge>
          ) : null}
        </>
      )}
    </span>
  );
}

function SaveDialog({
  draft,
  before,
  simulation,
  close,
  saved,
  stale,
}: {
  draft: Draft;
  before: string;
  simulation: Simulation;
  close(): void;
  saved(): void;
  stale(): void;
}) {
  const client = useQueryClient();
  const toast = useToast();
  const seen = simulation.text === draft.text ? simulation.report : null;
  const put = useMutation({
    mutationFn: () =>
      call<PolicyCheck>("/v1/policy", {
        method: "PUT",
        body: { policy: draft.text, expected: draft.base, source: "dashboard" },
      }),
    onSuccess: async (checked) => {
      toast({ text: checked.changed === false ? text.unchanged : text.saved, tone: "good" });
      await client.invalidateQueries({ queryKey: keys.policy });
      void client.invalidateQueries({ queryKey: keys.grants });
      saved();
    },
    onError: (error) => {
      if (error instanceof ApiError && error.code === "stale_policy") {
        void client.invalidateQueries({ queryKey: keys.policy });
        stale();
      }
    },
  });
  return (
    <Dialog
      open
      wide
      title={text.saveTitle}
      onClose={close}
      onSubmit={() => put.mutate()}
      footer={
        <>
          <Button onClick={close}>{strings.common.cancel}</Button>
          <Button type="submit" look="primary" disabled={put.isPending}>
            {text.save}
          </Button>
        </>
      }
    >
      <p>{text.saveText}</p>
      {seen === null ? (
        <Banner tone="warn">{text.saveUnseen}</Banner>
      ) : seen.denied_now_allowed_count > 0 ? (
        <Banner tone="bad" role="alert">
          {text.saveDanger(seen.denied_now_allowed_count)}
        </Banner>
      ) : null}
      {put.error ? (
        <Banner tone="bad" role="alert">
          {put.error.message}
        </Banner>
      ) : null}
      <h3>{text.changes}</h3>
      <DiffView before={before} after={draft.text} label={text.changes} />
    </Dialog>
  );
}

/** Another person put a policy first: shows the changes and asks which text to keep. */
function Stale({ draft, current, set }: { draft: Draft; current: Policy; set(draft: Draft): void }) {
  const base = useQuery(versionQuery(draft.base));
  return (
    <div className={css.stale}>
      <Banner tone="warn" role="alert">
        {text.stale}
      </Banner>
      {base.isPending ? (
        <Loading />
      ) : base.data ? (
        <>
          <h3>{text.staleDiff}</h3>
          <DiffView before={base.data.text} after={current.text} label={text.staleDiff} />
        </>
      ) : null}
      <div className={css.bar}>
        <Button onClick={() => set({ text: draft.text, base: current.hash })}>{text.rebase}</Button>
        <Button look="bad" onClick={() => set({ text: current.text, base: current.hash })}>
          {text.takeTheirs}
        </Button>
      </div>
    </div>
  );
}

export function Edit({
  policy,
  draft,
  setDraft,
}: {
  policy: Policy;
  draft: Draft;
  setDraft(draft: Draft | null): void;
}) {
  const admin = useHasRole("admin");
  const client = useQueryClient();
  const toast = useToast();
  const area = useRef<HTMLTextAreaElement>(null);
  const verdict = useCheck(draft.text);
  const simulation = useSimulation();
  const [saving, setSaving] = useState(false);
  const [asking, setAsking] = useState(false);
  const same = draft.text === policy.text;
  const stale = draft.base !== policy.hash && !same;
  const shadow = useMutation({
    mutationFn: () => call("/v1/policy/shadow", { method: "PUT", body: { policy: draft.text } }),
    onSuccess: () => {
      toast({ text: text.shadowSetDone, tone: "good" });
      void client.invalidateQueries({ queryKey: shadowQuery.queryKey });
    },
    onError: (error) => toast({ text: error.message, tone: "bad" }),
  });
  const go = (line: number, column: number) => {
    const element = area.current;
    if (!element) return;
    const lines = draft.text.split("\n");
    const at =
      lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0) + Math.max(0, column - 1);
    element.focus();
    element.setSelectionRange(at, at);
    element.closest("[data-scroll]")?.scrollTo({ top: Math.max(0, (line - 6) * 20) });
  };
  const { running, report } = simulation;
  const result = useRef<HTMLElement>(null);
  const begun = simulation.text !== null;
  useEffect(() => {
    if (begun) result.current?.scrollIntoView({ block: "nearest" });
  }, [begun]);
  useEffect(() => {
    if (report) result.current?.scrollIntoView({ block: "start" });
  }, [report]);
  return (
    <div className={css.edit}>
      {admin ? null : <Banner>{text.readOnly}</Banner>}
      {stale ? <Stale draft={draft} current={policy} set={setDraft} /> : null}
      <div className={css.bar}>
        <Status verdict={verdict} same={same} />
        <span className={css.push} />
        {same ? null : (
          <Button look="quiet" onClick={() => setAsking(true)}>
            {text.reset}
          </Button>
        )}
        <Button disabled={!verdict.valid || running !== null} onClick={() => simulation.run(draft.text)}>
          {text.simulate}
        </Button>
        {admin ? (
          <>
            <Button disabled={!verdict.valid || same || shadow.isPending} onClick={() => shadow.mutate()}>
              {text.shadowSet}
            </Button>
            <Button look="primary" disabled={!verdict.valid || same || stale} onClick={() => setSaving(true)}>
              {text.save}
            </Button>
          </>
        ) : null}
      </div>
      <CodeEditor
        ref={area}
        label={text.editor}
        text={draft.text}
        marks={marksOf(verdict.problems, [...verdict.warnings, ...verdict.findings])}
        onChange={(next) => setDraft({ ...draft, text: next })}
      />
      <Notes problems={verdict.problems} warnings={verdict.warnings} findings={verdict.findings} go={go} />
      {running || report || simulation.error ? (
        <section className={css.result} aria-label={text.whatIf} ref={result}>
          <h2>{text.whatIf}</h2>
          {running ? (
            <div className={css.progress} role="status">
              <progress
                aria-label={text.simulating}
                max={Math.max(1, running.of)}
                value={running.of > 0 ? running.done : undefined}
              />
              <span>
                {text.simulating} · {text.simulated(running.requests)}
              </span>
              <Button size="small" onClick={simulation.stop}>
                {text.stop}
              </Button>
            </div>
          ) : null}
          {simulation.error ? (
            <Banner tone="bad" role="alert">
              {simulation.error}
            </Banner>
          ) : null}
          {report ? <WhatIf report={report} /> : null}
        </section>
      ) : null}
      {saving ? (
        <SaveDialog
          draft={draft}
          before={policy.text}
          simulation={simulation}
          close={() => setSaving(false)}
          saved={() => {
            setSaving(false);
            setDraft(null);
          }}
          stale={() => {
            setSaving(false);
            void client.invalidateQueries({ queryKey: policyQuery.queryKey });
          }}
        />
      ) : null}
      {asking ? (
        <Dialog
          open
          title={text.resetAsk}
          onClose={() => setAsking(false)}
          onSubmit={() => {
            setAsking(false);
            setDraft(null);
          }}
          footer={
            <>
              <Button onClick={() => setAsking(false)}>{strings.common.cancel}</Button>
              <Button type="submit" look="bad">
                {text.reset}
              </Button>
            </>
          }
        >
          <DiffView before={policy.text} after={draft.text} label={text.changes} />
        </Dialog>
      ) : null}
    </div>
  );
}
