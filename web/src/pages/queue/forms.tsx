/** The forms of a decision: approve and deny. They stand in the bar below what they are about. */
import { type Ref, useState } from "react";
import type { Decide, RequestRecord } from "@/api/extra";
import { modKey } from "@/app/keys";
import { strings } from "@/strings";
import { Banner, Button, Field, Input, RiskMark, TextArea } from "@/ui";
import { refusal, type Submit } from "./actions";
import css from "./bar.module.css";
import { BarForm, type BarHandle } from "./bar-form";
import { decisionOn, viewKey } from "./decision";
import { useDraft } from "./drafts";
import { frictionOf } from "./friction";
import { useProof } from "./proof";
import { useRemember } from "./remember";

const s = strings.queue;

export interface FormProps {
  /** As it was when the form was opened, or its author went on with it: this is what is decided on. */
  record: RequestRecord;
  /** As it is now. */
  current: RequestRecord;
  /** Why an approval cannot be sent yet, such as what was not seen. */
  unseen: string | null;
  submit: Submit;
  handle?: Ref<BarHandle>;
  onDone(): void;
  onClose(): void;
  /** Goes on with what is shown now. Everything that was typed stays. */
  onRenew(): void;
}

/** Sends once, keeps the refusal. */
export function useSend(onDone: () => void) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const run = (work: () => Promise<unknown>) => {
    if (busy) return;
    setBusy(true);
    setError(null);
    work()
      .then(onDone)
      .catch((problem: unknown) => setError(refusal(problem)))
      .finally(() => setBusy(false));
  };
  return { busy, error, run };
}

/** Sends a decision on the content that the form is about, or says why it cannot be sent. */
export function useDecision(props: Pick<FormProps, "record" | "current" | "unseen" | "onDone" | "onRenew">) {
  const { busy, error, run } = useSend(props.onDone);
  const stale = viewKey(props.record) !== viewKey(props.current);
  const gone = props.current.state !== "pending";
  return {
    /** Whether nothing is being sent and the content did not change. */
    free: !busy && !stale,
    stale,
    run,
    trouble: stale ? (
      <Banner tone="warn" role="alert">
        <span>{gone ? s.staleGone : s.stale}</span>
        {gone ? null : (
          <Button
            size="small"
            aria-disabled={props.unseen !== null}
            onClick={() => props.unseen ?? props.onRenew()}
          >
            {props.unseen ?? s.renew}
          </Button>
        )}
      </Banner>
    ) : error ? (
      <Banner tone="bad" role="alert">
        {error}
      </Banner>
    ) : null,
  };
}

/** Approves, with what the risk asks for. `extra` carries decided steps. */
export function ApproveForm(props: FormProps & { extra?: Partial<Decide>; label: string; options: boolean }) {
  const { record, submit, onClose, extra, label } = props;
  const friction = frictionOf(record, "approve");
  const proof = useProof(record, friction);
  const [note, setNote] = useDraft(record, "approve", () => "");
  const edited = extra?.steps?.some((step) => step.decision === "edit");
  const base = decisionOn(record, edited ? "edit" : "approve", { ...extra, ...proof.body });
  const remember = useRemember(record, base);
  const { free, trouble, run } = useDecision(props);
  const [wide] = useState(props.options || note !== "");
  const ready = proof.enough && remember.ready && free && props.unseen === null;
  const send = () => {
    if (!ready) return;
    const body: Decide = { ...base };
    if (note.trim()) body.reason = note.trim();
    if (remember.remember) body.remember = remember.remember;
    run(() => submit(record, body, { undo: friction.undo, label }));
  };
  const running = extra?.steps?.filter((step) => step.decision !== "deny").length;
  return (
    <BarForm
      title={
        <>
          {s.approveTitle} <RiskMark risk={record.risk} />
        </>
      }
      submit={label}
      look="good"
      ready={ready}
      focusSubmit={friction.type === null && !friction.code}
      handle={props.handle}
      onSubmit={send}
      onClose={onClose}
    >
      {running === undefined ? null : <p>{s.plan.counts(running, extra?.steps?.length ?? 0)}</p>}
      {proof.fields}
      <details className={css.options} open={wide}>
        <summary>{s.options}</summary>
        <div className={css.inside}>
          <Field label={s.note}>
            <Input value={note} maxLength={8000} onChange={(event) => setNote(event.target.value)} />
          </Field>
          {remember.fields}
        </div>
      </details>
      {trouble}
    </BarForm>
  );
}

export function DenyForm(props: FormProps & { label: string }) {
  const { record, submit, onClose } = props;
  const [reason, setReason] = useDraft(record, "deny", () => "");
  // What is denied need not have been read.
  const { free, trouble, run } = useDecision({ ...props, unseen: null });
  const send = () => {
    if (!free) return;
    const more = reason.trim() ? { reason: reason.trim() } : {};
    const { undo } = frictionOf(record, "deny");
    run(() => submit(record, decisionOn(record, "deny", more), { undo, label: s.deny }));
  };
  return (
    <BarForm
      title={s.denyTitle}
      submit={props.label}
      look="bad"
      ready={free}
      hotkey={modKey("↵")}
      handle={props.handle}
      onSubmit={send}
      onClose={onClose}
    >
      <Field label={s.denyReason} hint={s.denyHint}>
        <TextArea
          autoFocus
          rows={3}
          maxLength={8000}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </Field>
      {trouble}
    </BarForm>
  );
}
