/** Deciding many at once: every one is shown, each has its own result. */
import { useQueries, useQueryClient } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";
import { cardOf, sentenceOf } from "@/api/card";
import type { BatchResults, Row } from "@/api/extra";
import { keys } from "@/api/keys";
import { decideMany, requestQuery } from "@/api/requests";
import { drafts } from "@/lib/drafts";
import { strings } from "@/strings";
import { Badge, Banner, Button, Checkbox, Dialog, Field, Loading, RiskMark, TextArea } from "@/ui";
import { FormDialog } from "@/ui/form-dialog";
import { happened, refusal } from "./actions";
import { Card } from "./card";
import { decisionOn, viewKey } from "./decision";
import css from "./detail.module.css";
import { useBatchDraft } from "./drafts";
import { highest, splitBatch } from "./model";
import { viaOf } from "./pause";
import { refusedApproval, useViewer } from "./refused";
import { FoldsProvider, useSeen, useSettled } from "./seen";

const s = strings.queue;

/** Refusals after which the same request can be looked at again. */
const STALE = ["stale_display", "stale_digest", "stale_version"];
const fine = (result: BatchResults["results"][number]) => result.status < 300;

export default function BatchDialog({
  word,
  rows,
  whole = false,
  onDone,
  onClose,
}: {
  word: "approve" | "deny";
  rows: Row[];
  /** They belong together, so all or none are approved by default. */
  whole?: boolean;
  onDone(): void;
  onClose(): void;
}) {
  const { together, alone } = useMemo(
    () => (word === "approve" ? splitBatch(rows) : { together: rows, alone: [] }),
    [word, rows],
  );
  const queries = useQueries({ queries: together.map((row) => requestQuery(row.id)) });
  const loaded = queries.every((query) => !query.isPending);
  const records = queries.flatMap((query) => (query.data ? [query.data] : []));
  const pending = records.filter((record) => record.state === "pending");
  // What cannot be read here, or not in full, is not approved unseen.
  const drawn = word === "approve" ? pending.filter((record) => cardOf(record)?.hidden === 0) : pending;
  // What the server would refuse is left out, each with its reason.
  const viewer = useViewer(drawn);
  const refusals = new Map<string, number>();
  const open = drawn.filter((record) => {
    const reason = word === "approve" ? refusedApproval(record, viewer(record)) : null;
    if (reason !== null) refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
    return reason === null;
  });
  const gone = records.length - pending.length;
  const unread = loaded ? together.length - records.length + pending.length - drawn.length : 0;
  const [reason, setReason] = useBatchDraft(word, rows);
  const [atomic, setAtomic] = useState(whole && word === "approve");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [results, setResults] = useState<BatchResults | null>(null);
  const client = useQueryClient();
  const scroller = useRef<HTMLDivElement>(null);
  const region = useRef<HTMLDivElement>(null);
  // After a change of the content, the reviewer must look again.
  const view = `${loaded} ${open.map((one) => `${one.id} ${viewKey(one)}`).join()}`;
  const { seen, folds } = useSeen(scroller, region, view);
  const { settled, isSettled } = useSettled(view);
  const tools = new Set(open.map((record) => record.tool ?? record.kind)).size;
  const ready = loaded && settled && open.length > 0 && !busy && (word === "deny" || seen.all);

  const send = () => {
    if (!ready || !isSettled()) return;
    setBusy(true);
    setError(null);
    const more = reason.trim() ? { reason: reason.trim() } : {};
    decideMany(
      open.map((record) => ({ id: record.id, ...decisionOn(record, word, more) })),
      atomic,
    )
      .then((answer) => {
        for (const { id } of answer.results) void client.invalidateQueries({ queryKey: keys.request(id) });
        // What was typed stays until it was sent for all of them.
        if (answer.applied && answer.results.every(fine)) drafts.drop("batch", word);
        setResults(answer);
      })
      .catch((problem: unknown) => setError(refusal(problem)))
      .finally(() => setBusy(false));
  };

  if (results) {
    // What only changed can be looked at again, with everything that was typed.
    const again = results.results.some((result) => STALE.includes(result.code ?? ""));
    return (
      <Dialog
        open
        wide
        title={s.batch.results}
        onClose={onDone}
        footer={
          <>
            {again ? (
              <Button look="primary" autoFocus onClick={() => setResults(null)}>
                {s.batch.again}
              </Button>
            ) : null}
            <Button look={again ? "plain" : "primary"} autoFocus={!again} onClick={onDone}>
              {strings.common.close}
            </Button>
          </>
        }
      >
        {results.applied ? null : <Banner tone="bad">{s.batch.none}</Banner>}
        <ul className={css.similar}>
          {results.results.map((result) => {
            const record = open.find((one) => one.id === result.id);
            const applied = fine(result);
            return (
              <li key={result.id}>
                <Badge tone={applied ? "good" : "bad"}>
                  {applied ? s.batch.applied : (result.code ?? result.status)}
                </Badge>
                <span className="verbatim">{record ? sentenceOf(record) : result.id}</span>
                {applied ? null : (
                  <span className={css.muted}>
                    {result.problem?.record && result.problem.record.state !== "pending"
                      ? happened(result.problem.record)
                      : result.code === "stale_display"
                        ? s.staleDisplay
                        : result.problem?.detail}
                  </span>
                )}
              </li>
            );
          })}
        </ul>
      </Dialog>
    );
  }

  return (
    <FormDialog
      wide
      title={word === "approve" ? s.batch.approveTitle(open.length) : s.batch.denyTitle(open.length)}
      submit={
        word === "approve"
          ? s.batch.approve(open.length, tools, strings.risk[highest(together)])
          : s.batch.deny(open.length)
      }
      look={word === "approve" ? "good" : "bad"}
      ready={ready}
      hint={
        word === "approve" && loaded && open.length > 0 && !seen.all ? (
          <p className={css.hint} role="status">
            {s.batch.scroll}
          </p>
        ) : null
      }
      error={error}
      onSubmit={send}
      onClose={() => {
        drafts.drop("batch", word);
        onClose();
      }}
    >
      {alone.length > 0 ? <Banner tone="warn">{s.batch.alone(alone.length)}</Banner> : null}
      {gone > 0 ? (
        <Banner tone="warn" role="status">
          {s.batch.gone(gone)}
        </Banner>
      ) : null}
      {[...refusals].map(([reason, count]) => (
        <Banner key={reason} tone="warn" role="status">
          {s.batch.refused(count, reason)}
        </Banner>
      ))}
      {unread > 0 ? <Banner tone="warn">{s.batch.unread(unread)}</Banner> : null}
      {loaded ? (
        <div className={css.batchList} ref={scroller} tabIndex={0} role="region" aria-label={s.batch.items}>
          <div ref={region} className={css.must}>
            <FoldsProvider folds={folds}>
              {open.map((record) => {
                const via = viaOf(record);
                return (
                  <section key={record.id} data-id={record.id} className={css.batchItem}>
                    <div className={css.top}>
                      <RiskMark risk={record.risk} />
                      <span className="verbatim">
                        {record.agent}
                        {via === null ? "" : ` › ${via}`}
                      </span>
                      <code className="verbatim">{record.tool ?? strings.kind[record.kind]}</code>
                    </div>
                    <h3 className="verbatim">{sentenceOf(record)}</h3>
                    <Card record={record} compact />
                  </section>
                );
              })}
            </FoldsProvider>
          </div>
        </div>
      ) : (
        <Loading />
      )}
      <Field label={word === "deny" ? s.denyReason : s.note} hint={word === "deny" ? s.denyHint : undefined}>
        <TextArea
          rows={2}
          autoFocus={word === "deny"}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </Field>
      <Checkbox checked={atomic} onChange={(event) => setAtomic(event.target.checked)}>
        {s.batch.atomic} <span className={css.muted}>{s.batch.atomicHint}</span>
      </Checkbox>
    </FormDialog>
  );
}
