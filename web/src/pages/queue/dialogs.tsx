/** Dialogs that decide nothing: ask others, say what the outcome was. */
import { useState } from "react";
import type { RequestRecord } from "@/api/extra";
import { reassign, resolve } from "@/api/requests";
import { strings } from "@/strings";
import { Checkbox, Field, Input, TextArea } from "@/ui";
import { FormDialog } from "@/ui/form-dialog";
import css from "./detail.module.css";
import { useSend } from "./forms";

const s = strings.queue;

interface PlainProps {
  record: RequestRecord;
  onDone(): void;
  onClose(): void;
}

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
