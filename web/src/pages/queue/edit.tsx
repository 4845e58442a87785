/** Editing the arguments: a form or raw JSON, and the policy's answer before anything is sent. */
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { cardOf, sentenceOf } from "@/api/card";
import type { Decide, DisplayField, DryRun, Json, JsonObject, RequestRecord } from "@/api/extra";
import { dryRun } from "@/api/requests";
import { cx } from "@/lib/cx";
import { parseObject, parseStrict, sameJson } from "@/lib/strict-json";
import { strings } from "@/strings";
import { Banner, Checkbox, Field, Input, Select, Spinner, Tabs, TextArea } from "@/ui";
import { FormDialog } from "@/ui/form-dialog";
import { refusal } from "./actions";
import { Card } from "./card";
import { decisionOn } from "./decision";
import css from "./detail.module.css";
import { useDraft } from "./drafts";
import { type FormProps, useDecision } from "./forms";
import { frictionOf } from "./friction";
import { useProof } from "./proof";
import { type FormField, formFields, numberFrom } from "./schema-form";
import { FoldsProvider, useSeen } from "./seen";

const s = strings.queue;

/** What was typed so far, in the form or as text. */
interface EditDraft {
  tab: string;
  values: JsonObject;
  raw: string;
}

export function EditDialog(props: FormProps) {
  const { record, submit, onClose } = props;
  const before = useMemo<JsonObject>(() => record.proposal?.arguments ?? record.arguments ?? {}, [record]);
  const [{ tab, values, raw }, keep] = useDraft<EditDraft>(record, "edit", () => ({
    tab: "form",
    values: before,
    raw: JSON.stringify(before, null, 2),
  }));
  const [bad, setBad] = useState<ReadonlyMap<string, string>>(new Map());
  const panel = useId();
  const fields = useMemo(() => formFields(record.arguments_schema as Json, before), [record, before]);

  const parsed = tab === "raw" ? parseObject(raw) : null;
  const next = parsed ? (parsed.ok ? parsed.value : null) : bad.size === 0 ? values : null;
  const changed = next !== null && !sameJson(next, before);
  const { free, stale, trouble, run } = useDecision(props);

  const [dry, setDry] = useState<{ for: string; answer: DryRun | null; error: string | null } | null>(null);
  const text = next && changed ? JSON.stringify(next) : null;
  const code = record.display?.code ?? null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again when the arguments change, as text
  useEffect(() => {
    if (text === null || stale || next === null) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      const more: Partial<Decide> = { arguments: next };
      if (record.needs.step_up && code) more.step_up = { code };
      dryRun(record.id, decisionOn(record, "edit", more), abort.signal)
        .then((answer) => setDry({ for: text, answer, error: null }))
        .catch((error: unknown) => {
          if (!abort.signal.aborted) setDry({ for: text, answer: null, error: refusal(error) });
        });
    }, 350);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, stale]);
  const answer = dry && dry.for === text ? dry : null;

  // The word to type is one of what would run.
  const judged = answer?.answer?.record;
  const friction = {
    ...frictionOf(judged ? { ...judged, needs: record.needs } : record, "edit"),
    code: record.needs.step_up !== null,
  };
  const proof = useProof(record, friction);
  const shown = judged ? cardOf(judged) : null;
  const scroller = useRef<HTMLDivElement>(null);
  const region = useRef<HTMLDivElement>(null);
  const { seen, folds } = useSeen(scroller, region, `${text} ${shown?.digest ?? ""}`);
  const readable = shown !== null && shown.hidden === 0;
  const ready = changed && readable && seen.all && proof.enough && free;
  const send = () => {
    if (!ready || next === null) return;
    run(() =>
      submit(record, decisionOn(record, "edit", { arguments: next, ...proof.body }), {
        undo: friction.undo,
        label: s.sent.edit,
      }),
    );
  };
  const change = (name: string, value: Json | undefined, problem: string | null) => {
    setBad((all) => {
      const out = new Map(all);
      if (problem) out.set(name, problem);
      else out.delete(name);
      return out;
    });
    if (problem) return;
    const next = { ...values };
    if (value === undefined) delete next[name];
    else next[name] = value;
    keep({ tab, values: next, raw });
  };

  return (
    <FormDialog
      wide
      title={s.editTitle}
      submit={s.editButton}
      look="good"
      ready={ready}
      hint={
        judged && readable && !seen.all ? (
          <p className={css.hint} role="status">
            {seen.folded ? s.expandHint : s.seenHint(seen.percent)}
          </p>
        ) : null
      }
      onSubmit={send}
      onClose={onClose}
    >
      <Tabs
        label={s.editTitle}
        panelId={panel}
        value={tab}
        onChange={(id) => {
          if (id === tab) return;
          if (id === "raw") keep({ tab: id, values, raw: JSON.stringify(values, null, 2) });
          else if (parsed?.ok) {
            keep({ tab: id, values: parsed.value, raw });
            setBad(new Map());
          }
        }}
        items={[
          { id: "form", label: s.editForm },
          { id: "raw", label: s.editRaw },
        ]}
      />
      <div id={panel} role="tabpanel" className={css.formFields}>
        {tab === "form" ? (
          <>
            <p className={cx(css.muted, css.small)}>
              {record.arguments_schema ? s.editSchema : s.editNoSchema}
            </p>
            {fields.map((field) => (
              <FormRow
                key={field.name}
                field={field}
                value={Object.hasOwn(values, field.name) ? values[field.name] : undefined}
                changed={!sameJson(values[field.name] ?? null, before[field.name] ?? null)}
                shown={shownAt(record.display?.fields ?? [], field.name)}
                error={bad.get(field.name) ?? null}
                onChange={(value, problem) => change(field.name, value, problem)}
              />
            ))}
          </>
        ) : (
          <Field
            label={s.editRaw}
            error={
              parsed && !parsed.ok
                ? s.editBad(parsed.error.line, parsed.error.column, parsed.error.message)
                : null
            }
          >
            <TextArea
              mono
              rows={12}
              spellCheck={false}
              value={raw}
              onChange={(event) => keep({ tab, values, raw: event.target.value })}
            />
          </Field>
        )}
      </div>
      {next === null ? null : !changed ? (
        <p className={css.muted}>{s.editUnchanged}</p>
      ) : (
        <>
          <Strip record={record} before={before} after={next} dry={answer?.answer ?? null} />
          {answer === null ? (
            <p className={css.muted}>
              <Spinner label={s.dryChecking} /> {s.dryChecking}
            </p>
          ) : answer.error ? (
            <Banner tone="bad" role="alert">
              {answer.error}
            </Banner>
          ) : answer.answer ? (
            <>
              <DryAnswer dry={answer.answer} />
              <p className={cx(css.confirmEffect, "verbatim")}>{sentenceOf(answer.answer.record)}</p>
            </>
          ) : null}
          {judged ? (
            <div
              className={css.dialogList}
              ref={scroller}
              tabIndex={0}
              role="region"
              aria-label={s.section.effect}
            >
              <div ref={region}>
                <FoldsProvider folds={folds}>
                  <Card record={judged} />
                </FoldsProvider>
              </div>
            </div>
          ) : null}
          {judged ? proof.fields : null}
        </>
      )}
      {trouble}
    </FormDialog>
  );
}

/** The answer of the dry run. */
export function DryAnswer({ dry }: { dry: DryRun }) {
  return (
    <Banner tone={dry.stricter || dry.voided.length > 0 ? "warn" : "good"} role="status">
      <strong>{dry.decides ? s.dryOk : s.dryMore}</strong>
      {dry.stricter ? <span>{s.dryStricter}</span> : null}
      {dry.ruling ? <span>{s.dryRisk(strings.risk[dry.ruling.risk])}</span> : null}
      {dry.ruling ? <span className="verbatim">{s.dryRule(dry.ruling.verdict.rule)}</span> : null}
      {dry.voided.length > 0 ? <span>{s.dryVoided(dry.voided.join(", "))}</span> : null}
    </Banner>
  );
}

/** The server's text for one top-level argument. */
function shownAt(fields: readonly DisplayField[], name: string): string | null {
  const pointer = `/arguments/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  return fields.find((field) => field.pointer === pointer)?.text ?? null;
}

function FormRow(props: {
  field: FormField;
  value: Json | undefined;
  changed: boolean;
  shown: string | null;
  error: string | null;
  onChange(value: Json | undefined, problem: string | null): void;
}) {
  const { field, value, onChange } = props;
  const [text, setText] = useState(() =>
    value === undefined ? "" : field.kind === "json" ? JSON.stringify(value, null, 2) : String(value),
  );
  const label = (
    <span className="verbatim">
      {field.label}
      {field.required ? " *" : ""}
      {props.changed ? ` (${s.changedMark})` : ""}
    </span>
  );
  const hint = (
    <>
      {field.hint ? <span className="verbatim">{field.hint} </span> : null}
      {props.changed && props.shown !== null ? (
        <span className="verbatim">
          {s.strip.proposed}: {props.shown}
        </span>
      ) : null}
    </>
  );
  const frame = (control: React.ReactNode) => (
    <div className={props.changed ? css.changed : undefined}>
      <Field label={label} hint={hint} error={props.error}>
        {control}
      </Field>
    </div>
  );
  switch (field.kind) {
    case "boolean":
      return (
        <div className={props.changed ? css.changed : undefined}>
          <Checkbox checked={value === true} onChange={(event) => onChange(event.target.checked, null)}>
            {label}
          </Checkbox>
        </div>
      );
    case "choice":
      return frame(
        <Select
          value={typeof value === "string" ? value : ""}
          onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value, null)}
        >
          {field.required ? null : <option value="">{s.absent}</option>}
          {field.options.map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </Select>,
      );
    case "number":
    case "integer":
      return frame(
        <Input
          mono
          inputMode="decimal"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            if (event.target.value.trim() === "" && !field.required) return onChange(undefined, null);
            const number = numberFrom(event.target.value, field.kind === "integer");
            onChange(number ?? undefined, number === null ? s.respondNumber("", "") : null);
          }}
        />,
      );
    case "json":
      return frame(
        <TextArea
          mono
          rows={Math.min(10, text.split("\n").length + 1)}
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            if (event.target.value.trim() === "" && !field.required) return onChange(undefined, null);
            const parsed = parseStrict(event.target.value);
            if (parsed.ok) onChange(parsed.value, null);
            else onChange(undefined, s.editBad(parsed.error.line, parsed.error.column, parsed.error.message));
          }}
        />,
      );
    case "long":
      return frame(
        <TextArea
          mono
          rows={6}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            onChange(event.target.value, null);
          }}
        />,
      );
    default:
      return frame(
        <Input
          value={text}
          autoComplete="off"
          onChange={(event) => {
            setText(event.target.value);
            onChange(event.target.value, null);
          }}
        />,
      );
  }
}

/** Proposed, yours, and what the server says will run: only what differs. */
function Strip({
  record,
  before,
  after,
  dry,
}: {
  record: RequestRecord;
  before: JsonObject;
  after: JsonObject;
  dry: DryRun | null;
}) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) =>
      !sameJson(before[name] ?? null, after[name] ?? null) ||
      Object.hasOwn(before, name) !== Object.hasOwn(after, name),
  );
  const old = record.display?.fields ?? [];
  const now = dry?.record.display?.fields ?? [];
  const from = record.proposal?.arguments ? "/proposal/arguments" : "/arguments";
  const runs = ["/decision/arguments", "/proposal/arguments"].find((prefix) =>
    now.some((field) => field.pointer.startsWith(prefix)),
  );
  return (
    <section
      className={css.stripScroll}
      tabIndex={0}
      aria-label={`${s.strip.proposed}, ${s.strip.yours}, ${s.strip.runs}`}
    >
      <div className={css.strip}>
        <div className={css.stripHead} />
        <div className={css.stripHead}>{s.strip.proposed}</div>
        <div className={css.stripHead}>{s.strip.yours}</div>
        <div className={css.stripHead}>{s.strip.runs}</div>
        {names.map((name) => [
          <div key={`${name} name`} className={cx(css.stripName, "verbatim")}>
            {name}
          </div>,
          <div key={`${name} old`} className={cx(css.stripOld, "verbatim")}>
            {under(old, from, name) ?? s.absent}
          </div>,
          <div key={`${name} new`} className="verbatim">
            {Object.hasOwn(after, name) ? JSON.stringify(after[name]) : s.absent}
          </div>,
          <div key={`${name} runs`} className={cx(css.stripNew, "verbatim")}>
            {dry ? ((runs ? under(now, runs, name) : null) ?? s.absent) : "…"}
          </div>,
        ])}
      </div>
    </section>
  );
}

/** The server's text for everything under one top-level name. */
function under(fields: readonly DisplayField[], prefix: string, name: string): string | null {
  const pointer = `${prefix}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  const own = fields.filter((field) => field.pointer === pointer || field.pointer.startsWith(`${pointer}/`));
  if (own.length === 0) return null;
  if (own.length === 1 && own[0]?.pointer === pointer) return own[0].text;
  return own.map((field) => `${field.pointer.slice(pointer.length + 1)}: ${field.text}`).join("\n");
}
