/** The dialogs of a decision: approve, deny, ask others, resolve. */
import { useState } from "react";
import type { Decide, RequestRecord } from "@/api/extra";
import { effectOf } from "@/api/queue";
import { reassign, resolve } from "@/api/requests";
import { modKey } from "@/app/keys";
import { strings } from "@/strings";
import { Banner, Checkbox, Field, Input, RiskMark, TextArea } from "@/ui";
import { FormDialog } from "@/ui/form-dialog";
import { decisionOn, refusal, type Submit, viewKey } from "./actions";
import css from "./detail.module.css";
import { useDraft } from "./drafts";
import { type Friction, frictionOf } from "./friction";
import { warningsOf } from "./pause";
import { useRemember } from "./remember";
import { Runs } from "./runs";
import { WarningList } from "./sections";

const s = strings.queue;

export interface DialogProps {
  /** As it was when the dialog was opened: this is what is decided on. */
  record: RequestRecord;
  /** As it is now. */
  current: RequestRecord;
  submit: Submit;
  onDone(): void;
  onClose(): void;
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

/** Sends a decision on the content that the dialog was opened with, or says why it cannot be sent. */
export function useDecision(props: Pick<DialogProps, "record" | "current" | "onDone">) {
  const { busy, error, run } = useSend(props.onDone);
  const stale = viewKey(props.record) !== viewKey(props.current);
  return {
    /** Whether nothing is being sent and the content did not change. */
    free: !busy && !stale,
    stale,
    run,
    trouble: stale ? (
      <Banner tone="warn" role="alert">
        {s.stale}
      </Banner>
    ) : error ? (
      <Banner tone="bad" role="alert">
        {error}
      </Banner>
    ) : null,
  };
}

/** What must be typed before an approval is sent. */
export function useProof(record: RequestRecord, friction: Friction) {
  const [name, setName] = useState("");
  const [code, setCode] = useState("");
  const wanted = record.display?.code ?? null;
  const enough =
    (friction.type === null || name.trim() === friction.type) &&
    (!friction.code || (wanted !== null && code.trim().toLowerCase() === wanted.toLowerCase()));
  const body: Partial<Decide> = friction.code ? { step_up: { code: code.trim() } } : {};
  const typed = (label: string, hint: string, value: string, change: (value: string) => void) => (
    <Field label={label} hint={hint}>
      <Input
        autoFocus
        mono
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={value}
        onChange={(event) => change(event.target.value)}
      />
    </Field>
  );
  const fields = (
    <>
      {friction.type !== null ? typed(s.typeTool(friction.type), s.typeToolHint, name, setName) : null}
      {friction.code && wanted === null ? <Banner tone="bad">{s.noCode}</Banner> : null}
      {friction.code && wanted !== null ? typed(s.codeLabel, s.codeHint(wanted), code, setCode) : null}
    </>
  );
  return { enough, body, fields };
}

/** Everything that an approval would run, also where the dialog covers the detail. */
export function WhatRuns({ record, steps }: { record: RequestRecord; steps?: Decide["steps"] }) {
  const warnings = warningsOf(record);
  return (
    <div className={css.dialogList} tabIndex={0} role="region" aria-label={s.section.effect}>
      {warnings.length > 0 ? <WarningList warnings={warnings} /> : null}
      {steps ? (
        <ol className={css.planEffects}>
          {steps.map((step) => (
            <li key={step.id} className="verbatim">
              {step.id}: {strings.word[step.decision]}
              {step.arguments ? ` ${JSON.stringify(step.arguments)}` : ""}
            </li>
          ))}
        </ol>
      ) : null}
      <Runs record={record} />
    </div>
  );
}

/** Approves, with what the risk asks for. `extra` carries decided steps. */
export function ApproveDialog(props: DialogProps & { extra?: Partial<Decide>; label: string }) {
  const { record, submit, onClose, extra, label } = props;
  const friction = frictionOf(record, "approve");
  const proof = useProof(record, friction);
  const [note, setNote] = useDraft(record, "approve", () => "");
  const edited = extra?.steps?.some((step) => step.decision === "edit");
  const base = decisionOn(record, edited ? "edit" : "approve", { ...extra, ...proof.body });
  const remember = useRemember(record, base);
  const { free, trouble, run } = useDecision(props);
  const ready = proof.enough && remember.ready && free;
  const send = () => {
    if (!ready) return;
    const body: Decide = { ...base };
    if (note.trim()) body.reason = note.trim();
    if (remember.remember) body.remember = remember.remember;
    run(() => submit(record, body, { undo: friction.undo, label }));
  };
  return (
    <FormDialog
      wide
      title={s.approveTitle}
      submit={label}
      look="good"
      ready={ready}
      focusSubmit={friction.type === null && !friction.code}
      onSubmit={send}
      onClose={onClose}
    >
      <div>
        <RiskMark risk={record.risk} />
        <p className={`${css.confirmEffect} verbatim`}>{effectOf(record)}</p>
        <p className={css.muted}>{s.approveHow}</p>
      </div>
      <WhatRuns record={record} steps={extra?.steps} />
      {proof.fields}
      <Field label={s.note}>
        <Input value={note} maxLength={8000} onChange={(event) => setNote(event.target.value)} />
      </Field>
      {remember.fields}
      {trouble}
    </FormDialog>
  );
}

export function DenyDialog(props: DialogProps & { label: string }) {
  const { record, submit, onClose } = props;
  const [reason, setReason] = useDraft(record, "deny", () => "");
  const { free, trouble, run } = useDecision(props);
  const send = () => {
    if (!free) return;
    const more = reason.trim() ? { reason: reason.trim() } : {};
    const { undo } = frictionOf(record, "deny");
    run(() => submit(record, decisionOn(record, "deny", more), { undo, label: s.deny }));
  };
  return (
    <FormDialog
      title={s.denyTitle}
      submit={props.label}
      look="bad"
      ready={free}
      hotkey={modKey("↵")}
      onSubmit={send}
      onClose={onClose}
    >
      <p className={`${css.confirmEffect} verbatim`}>{effectOf(record)}</p>
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
    </FormDialog>
  );
}

type PlainProps = Pick<DialogProps, "record" | "onDone" | "onClose">;

export function ReassignDialog({ record, onDone, onClose }: PlainProps) {
  const [to, setTo] = useState(record.asked.join(" "));
  const [reason, setReason] = useState("");
  const { busy, error, run } = useSend(onDone);
  const names = to.split(/[\s,]+/).filter(Boolean);
  return (
    <FormDialog
      title={s.reassignTitle}
      submit={s.reassignButton}
      ready={!busy && names.length > 0}
      error={error}
      onSubmit={() => {
        if (names.length > 0) run(() => reassign(record.id, names, reason.trim() || undefined));
      }}
      onClose={onClose}
    >
      <Field label={s.reassignTo} hint={s.reassignHint}>
        <Input autoFocus value={to} autoComplete="off" onChange={(event) => setTo(event.target.value)} />
      </Field>
      <Field label={s.note}>
        <Input value={reason} onChange={(event) => setReason(event.target.value)} />
      </Field>
    </FormDialog>
  );
}

export function ResolveDialog({ record, onDone, onClose }: PlainProps) {
  const [status, setStatus] = useState<"succeeded" | "failed">("failed");
  const [reason, setReason] = useState("");
  const { busy, error, run } = useSend(onDone);
  return (
    <FormDialog
      title={s.resolveTitle}
      submit={strings.common.save}
      ready={!busy && reason.trim() !== ""}
      error={error}
      onSubmit={() => {
        if (reason.trim()) run(() => resolve(record.id, status, reason.trim()));
      }}
      onClose={onClose}
    >
      <p className={css.muted}>{s.resolveHint}</p>
      <div className={css.choices}>
        {(["succeeded", "failed"] as const).map((one) => (
          <Checkbox
            key={one}
            type="radio"
            name="status"
            checked={status === one}
            onChange={() => setStatus(one)}
          >
            {strings.state[one]}
          </Checkbox>
        ))}
      </div>
      <Field label={s.reason}>
        <TextArea autoFocus value={reason} onChange={(event) => setReason(event.target.value)} />
      </Field>
    </FormDialog>
  );
}
