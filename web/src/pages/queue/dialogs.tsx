/** The dialogs of a decision: approve, deny, answer, ask others, settle. */
import { useEffect, useMemo, useState } from "react";
import type { Decide, Json, Remember, RequestRecord } from "@/api/extra";
import { effectOf } from "@/api/queue";
import { dryRun, reassign, resolve } from "@/api/requests";
import { modKey } from "@/app/keys";
import { strings } from "@/strings";
import { Banner, Button, Checkbox, Dialog, Field, Input, RiskMark, Select, Spinner, TextArea } from "@/ui";
import { decisionOn, refusal, type Submit, viewKey } from "./actions";
import css from "./detail.module.css";
import { type Friction, frictionOf } from "./friction";
import { Long } from "./previews";

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

export function isStale({ record, current }: Pick<DialogProps, "record" | "current">): boolean {
  return viewKey(record) !== viewKey(current);
}

export function Trouble({ error, stale }: { error: string | null; stale: boolean }) {
  if (stale) {
    return (
      <Banner tone="warn" role="alert">
        {s.stale}
      </Banner>
    );
  }
  if (!error) return null;
  return (
    <Banner tone="bad" role="alert">
      {error}
    </Banner>
  );
}

/** What must be typed before a yes counts. */
export function useProof(record: RequestRecord, friction: Friction) {
  const [name, setName] = useState("");
  const [code, setCode] = useState("");
  const wanted = record.display?.code ?? null;
  const enough =
    (friction.type === null || name.trim() === friction.type) &&
    (!friction.code || (wanted !== null && code.trim().toLowerCase() === wanted.toLowerCase()));
  const body: Partial<Decide> = friction.code ? { step_up: { code: code.trim() } } : {};
  const fields = (
    <>
      {friction.type !== null ? (
        <Field label={s.typeTool(friction.type)} hint={s.typeToolHint}>
          <Input
            autoFocus
            mono
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </Field>
      ) : null}
      {friction.code && wanted === null ? <Banner tone="bad">{s.noCode}</Banner> : null}
      {friction.code && wanted !== null ? (
        <Field label={s.codeLabel} hint={s.codeHint(wanted)}>
          <Input
            autoFocus
            mono
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            value={code}
            onChange={(event) => setCode(event.target.value)}
          />
        </Field>
      ) : null}
    </>
  );
  return { enough, body, fields };
}

const HOURS = [1, 8, 24, 168];

function useRemember(record: RequestRecord, base: Decide) {
  const [scope, setScope] = useState<"none" | Remember["scope"]>("none");
  const [hours, setHours] = useState(8);
  const [uses, setUses] = useState(10);
  const [at, setAt] = useState<ReadonlySet<string>>(() => new Set());
  const [answer, setAnswer] = useState<{ covers: string | null; error: string | null } | null>(null);
  // Where a code is asked for each time, nothing is remembered.
  const possible =
    record.kind === "action" &&
    record.proposal === null &&
    record.tool !== null &&
    record.needs.step_up === null;

  const remember = useMemo<Remember | undefined>(() => {
    if (scope === "none") return undefined;
    const out: Remember = { scope, expires_in: `${hours}h`, uses };
    if (scope === "pattern") {
      out.arguments = Object.fromEntries(
        [...at].map((name) => [name, { equals: record.arguments?.[name] ?? null } as Json]),
      );
    }
    return out;
  }, [scope, hours, uses, at, record.arguments]);

  const text = JSON.stringify(remember);
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again when the scope changes, as text
  useEffect(() => {
    setAnswer(null);
    if (!remember || (remember.scope === "pattern" && at.size === 0)) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      dryRun(record.id, { ...base, remember }, abort.signal)
        .then((dry) => setAnswer({ covers: dry.covers, error: null }))
        .catch((error: unknown) => {
          if (!abort.signal.aborted) setAnswer({ covers: null, error: refusal(error) });
        });
    }, 250);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);

  const names = Object.entries(record.arguments ?? {})
    .filter(([name, value]) => /^[\w-]+$/.test(name) && (value === null || typeof value !== "object"))
    .map(([name]) => name)
    .slice(0, 12);
  const choice = (value: "none" | Remember["scope"], label: string) => (
    <Checkbox type="radio" name="remember" checked={scope === value} onChange={() => setScope(value)}>
      {label}
    </Checkbox>
  );
  const fields = possible ? (
    <fieldset className={css.plainFieldset}>
      <legend>{s.remember}</legend>
      <div className={css.choices}>
        {choice("none", s.rememberNo)}
        {choice("exact", s.rememberExact)}
        {names.length > 0 ? choice("pattern", s.rememberPattern) : null}
        {choice("session", s.rememberSession(record.tool ?? "", record.session))}
      </div>
      {scope === "pattern" ? (
        <div className={css.chips} role="group" aria-label={s.rememberWhich}>
          {names.map((name) => (
            <Checkbox
              key={name}
              checked={at.has(name)}
              onChange={(event) => {
                const next = new Set(at);
                if (event.target.checked) next.add(name);
                else next.delete(name);
                setAt(next);
              }}
            >
              <code className="verbatim">{name}</code>
            </Checkbox>
          ))}
        </div>
      ) : null}
      {scope !== "none" ? (
        <>
          <div className={css.inlineFields}>
            <Field label={s.rememberFor}>
              <Select value={hours} onChange={(event) => setHours(Number(event.target.value))}>
                {HOURS.map((one) => (
                  <option key={one} value={one}>
                    {s.rememberHours(one)}
                  </option>
                ))}
              </Select>
            </Field>
            <Field label={s.rememberUses}>
              <Input
                type="number"
                min={1}
                max={1000}
                value={uses}
                onChange={(event) => setUses(Math.max(1, Math.floor(Number(event.target.value) || 1)))}
              />
            </Field>
          </div>
          {answer === null ? (
            scope === "pattern" && at.size === 0 ? null : (
              <p className={css.muted}>
                <Spinner label={s.rememberChecking} /> {s.rememberChecking}
              </p>
            )
          ) : (
            <Banner tone={answer.error ? "bad" : "accent"} role="status">
              {answer.error ?? (
                <span>
                  {s.rememberCovers}: <span className="verbatim">{answer.covers ?? ""}</span>
                </span>
              )}
            </Banner>
          )}
        </>
      ) : null}
    </fieldset>
  ) : null;
  const ready = scope === "none" || (answer !== null && answer.error === null);
  return { fields, remember, ready };
}

/** Yes, as hard as the risk asks for. `extra` carries decided steps. */
export function ApproveDialog(
  props: DialogProps & { extra?: Partial<Decide>; label?: string; options: boolean },
) {
  const { record, submit, onDone, onClose, extra } = props;
  const friction = frictionOf(record, "approve");
  const proof = useProof(record, friction);
  const [note, setNote] = useState("");
  const base = decisionOn(
    record,
    extra?.steps?.some((step) => step.decision === "edit") ? "edit" : "approve",
    {
      ...extra,
      ...proof.body,
    },
  );
  const remember = useRemember(record, base);
  const { busy, error, run } = useSend(onDone);
  const stale = isStale(props);
  const ready = proof.enough && remember.ready && !stale && !busy;
  const send = () => {
    if (!ready) return;
    const body: Decide = { ...base };
    if (note.trim()) body.reason = note.trim();
    if (remember.remember) body.remember = remember.remember;
    run(() => submit(record, body, { undo: friction.undo, label: props.label ?? s.approve }));
  };
  return (
    <Dialog
      open
      title={s.approveTitle}
      onClose={onClose}
      onSubmit={send}
      footer={
        <>
          <Button onClick={onClose}>{strings.common.cancel}</Button>
          <Button
            type="submit"
            look="good"
            disabled={!ready}
            autoFocus={friction.type === null && !friction.code}
          >
            {props.label ?? s.approve}
          </Button>
        </>
      }
    >
      <div>
        <RiskMark risk={record.risk} />
        <p className={`${css.confirmEffect} verbatim`}>{effectOf(record)}</p>
        <p className={css.muted}>{s.approveHow}</p>
      </div>
      {proof.fields}
      <Field label={s.note}>
        <Input value={note} maxLength={8000} onChange={(event) => setNote(event.target.value)} />
      </Field>
      {remember.fields}
      <Trouble error={error} stale={stale} />
    </Dialog>
  );
}

export function DenyDialog(props: DialogProps & { label?: string }) {
  const { record, submit, onDone, onClose } = props;
  const [reason, setReason] = useState("");
  const { busy, error, run } = useSend(onDone);
  const stale = isStale(props);
  const send = () => {
    if (busy || stale) return;
    const more = reason.trim() ? { reason: reason.trim() } : {};
    run(() =>
      submit(record, decisionOn(record, "deny", more), {
        undo: frictionOf(record, "deny").undo,
        label: s.deny,
      }),
    );
  };
  return (
    <Dialog
      open
      title={s.denyTitle}
      onClose={onClose}
      onSubmit={send}
      footer={
        <>
          <Button onClick={onClose}>{strings.common.cancel}</Button>
          <Button type="submit" look="bad" disabled={busy || stale} hotkey={modKey("↵")}>
            {props.label ?? s.denyButton}
          </Button>
        </>
      }
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
      <Trouble error={error} stale={stale} />
    </Dialog>
  );
}

const FILE = 128 * 1024;

function useAnswer(record: RequestRecord) {
  const spec = record.input ?? { type: "text" as const };
  const options = spec.options ?? [];
  const shown = (index: number) =>
    record.display?.fields.find((field) => field.pointer === `/input/options/${index}`)?.text ?? "";
  const preset = record.default ?? null;
  const [text, setText] = useState(
    typeof preset === "string" || typeof preset === "number" ? String(preset) : "",
  );
  const [many, setMany] = useState<readonly string[]>(
    Array.isArray(preset) ? preset.filter((one): one is string => typeof one === "string") : [],
  );
  const [file, setFile] = useState<{ name: string; size: number; answer: Json } | null>(null);
  const [fileError, setFileError] = useState<string | null>(null);
  const required = record.required !== false;

  let answer: Json = null;
  let problem: string | null = null;
  switch (spec.type) {
    case "number": {
      const number = Number(text);
      if (text.trim() === "") break;
      if (!Number.isFinite(number)) problem = s.respondNumber("", "");
      else if ((spec.min != null && number < spec.min) || (spec.max != null && number > spec.max)) {
        problem = s.respondNumber(String(spec.min ?? ""), String(spec.max ?? ""));
      } else answer = number;
      break;
    }
    case "multi_choice":
      answer = many.length > 0 || !required ? [...many] : null;
      break;
    case "file":
      answer = file?.answer ?? null;
      problem = fileError;
      break;
    default:
      answer = text === "" ? null : text;
  }
  const empty = answer === null || (Array.isArray(answer) && answer.length === 0);
  const ready = problem === null && !(required && empty);

  const label = s.answer;
  let field: React.ReactNode;
  switch (spec.type) {
    case "number":
      field = (
        <Field
          label={label}
          hint={s.respondNumber(String(spec.min ?? ""), String(spec.max ?? ""))}
          error={problem}
        >
          <Input
            autoFocus
            inputMode="decimal"
            value={text}
            autoComplete="off"
            onChange={(event) => setText(event.target.value)}
          />
        </Field>
      );
      break;
    case "date":
      field = (
        <Field label={label}>
          <Input autoFocus type="date" value={text} onChange={(event) => setText(event.target.value)} />
        </Field>
      );
      break;
    case "choice":
      field = (
        <fieldset className={css.plainFieldset}>
          <legend>{label}</legend>
          <div className={css.choices}>
            {options.map((option, index) => (
              <Checkbox
                key={option}
                type="radio"
                name="answer"
                autoFocus={index === 0}
                checked={text === option}
                onChange={() => setText(option)}
              >
                <span className="verbatim">{shown(index)}</span>
              </Checkbox>
            ))}
          </div>
        </fieldset>
      );
      break;
    case "multi_choice":
      field = (
        <fieldset className={css.plainFieldset}>
          <legend>{label}</legend>
          <div className={css.choices}>
            {options.map((option, index) => (
              <Checkbox
                key={option}
                autoFocus={index === 0}
                checked={many.includes(option)}
                onChange={(event) =>
                  setMany(event.target.checked ? [...many, option] : many.filter((one) => one !== option))
                }
              >
                <span className="verbatim">{shown(index)}</span>
              </Checkbox>
            ))}
          </div>
        </fieldset>
      );
      break;
    case "file":
      field = (
        <Field
          label={label}
          hint={file ? s.respondFileChosen(file.name, `${file.size} B`) : s.respondFile("128 KiB")}
          error={fileError}
        >
          <Input
            autoFocus
            type="file"
            onChange={(event) => {
              const chosen = event.target.files?.[0];
              setFile(null);
              setFileError(null);
              if (!chosen) return;
              if (chosen.size > FILE) {
                setFileError(s.respondFileTooBig("128 KiB"));
                return;
              }
              void chosen.arrayBuffer().then((bytes) => {
                setFile({
                  name: chosen.name,
                  size: chosen.size,
                  answer: {
                    name: chosen.name,
                    media_type: chosen.type || "application/octet-stream",
                    content_base64: base64(new Uint8Array(bytes)),
                  },
                });
              });
            }}
          />
        </Field>
      );
      break;
    default:
      field = (
        <Field label={label}>
          <TextArea
            autoFocus
            rows={4}
            value={text}
            maxLength={16_384}
            onChange={(event) => setText(event.target.value)}
          />
        </Field>
      );
  }
  return { answer, ready, field, required };
}

/** Bytes as padded standard base64. */
export function base64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

export function RespondDialog(props: DialogProps) {
  const { record, submit, onDone, onClose } = props;
  const friction = frictionOf(record, "respond");
  const proof = useProof(record, friction.code ? friction : { ...friction, type: null });
  const { answer, ready, field } = useAnswer(record);
  const { busy, error, run } = useSend(onDone);
  const stale = isStale(props);
  const can = ready && proof.enough && !busy && !stale;
  const question = record.display?.fields.find((one) => one.pointer === "/question")?.text;
  const send = () => {
    if (!can) return;
    run(() =>
      submit(record, decisionOn(record, "respond", { answer, ...proof.body }), {
        undo: friction.undo,
        label: s.sent.respond,
      }),
    );
  };
  return (
    <Dialog
      open
      title={s.respondTitle}
      onClose={onClose}
      onSubmit={send}
      footer={
        <>
          <Button onClick={onClose}>{strings.common.cancel}</Button>
          <Button type="submit" look="primary" disabled={!can}>
            {s.respondButton}
          </Button>
        </>
      }
    >
      {question ? (
        <Long text={question} className={css.letter} />
      ) : (
        <p className="verbatim">{effectOf(record)}</p>
      )}
      {field}
      {proof.fields}
      <Trouble error={error} stale={stale} />
    </Dialog>
  );
}

export function ReassignDialog({
  record,
  onDone,
  onClose,
}: Pick<DialogProps, "record" | "onDone" | "onClose">) {
  const [to, setTo] = useState(record.asked.join(" "));
  const [reason, setReason] = useState("");
  const { busy, error, run } = useSend(onDone);
  const names = to.split(/[\s,]+/).filter(Boolean);
  return (
    <Dialog
      open
      title={s.reassignTitle}
      onClose={onClose}
      onSubmit={() => {
        if (names.length > 0) run(() => reassign(record.id, names, reason.trim() || undefined));
      }}
      footer={
        <>
          <Button onClick={onClose}>{strings.common.cancel}</Button>
          <Button type="submit" look="primary" disabled={busy || names.length === 0}>
            {s.reassignButton}
          </Button>
        </>
      }
    >
      <Field label={s.reassignTo} hint={s.reassignHint}>
        <Input autoFocus value={to} autoComplete="off" onChange={(event) => setTo(event.target.value)} />
      </Field>
      <Field label={s.note}>
        <Input value={reason} onChange={(event) => setReason(event.target.value)} />
      </Field>
      <Trouble error={error} stale={false} />
    </Dialog>
  );
}

export function ResolveDialog({
  record,
  onDone,
  onClose,
}: Pick<DialogProps, "record" | "onDone" | "onClose">) {
  const [status, setStatus] = useState<"succeeded" | "failed">("failed");
  const [reason, setReason] = useState("");
  const { busy, error, run } = useSend(onDone);
  return (
    <Dialog
      open
      title={s.resolveTitle}
      onClose={onClose}
      onSubmit={() => {
        if (reason.trim()) run(() => resolve(record.id, status, reason.trim()));
      }}
      footer={
        <>
          <Button onClick={onClose}>{strings.common.cancel}</Button>
          <Button type="submit" look="primary" disabled={busy || !reason.trim()}>
            {strings.common.save}
          </Button>
        </>
      }
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
      <Trouble error={error} stale={false} />
    </Dialog>
  );
}
