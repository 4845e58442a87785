/** A plan, step by step. */
import { useState } from "react";
import type { DisplayField, JsonObject, RequestRecord, Step } from "@/api/extra";
import { cx } from "@/lib/cx";
import { parseObject } from "@/lib/strict-json";
import { strings } from "@/strings";
import { Badge, Button, Field, Icon, TextArea } from "@/ui";
import css from "./detail.module.css";
import { Fields, Long } from "./previews";
import { type StepDraft, shift, toHere, update } from "./steps";

const s = strings.queue.plan;

export function PlanSteps({
  record,
  draft,
  setDraft,
  canDecide,
}: {
  record: RequestRecord;
  draft: StepDraft[];
  setDraft(draft: StepDraft[]): void;
  canDecide: boolean;
}) {
  const steps = record.steps ?? [];
  const fields = record.display?.fields ?? [];
  const preview = record.display?.preview;
  const effects = new Map(preview?.type === "plan" ? preview.steps.map((step) => [step.id, step]) : []);
  const modify = record.can_modify === true && canDecide;
  const editing = modify && record.allowed.includes("edit");
  return (
    <>
      <ol className={css.steps}>
        {draft.map((one, place) => {
          const index = steps.findIndex((step) => step.id === one.id);
          const step = steps[index];
          if (!step) return null;
          const at = (name: string) =>
            fields.find((field) => field.pointer === `/steps/${index}/${name}`)?.text;
          const prefix = `/steps/${index}/arguments`;
          const own = fields.filter(
            (field) => field.pointer === prefix || field.pointer.startsWith(`${prefix}/`),
          );
          return (
            <StepItem
              key={one.id}
              number={place + 1}
              last={place === draft.length - 1}
              step={step}
              draft={one}
              effect={effects.get(one.id)?.effect ?? at("action") ?? one.id}
              action={at("action")}
              description={at("description")}
              fields={own}
              prefix={prefix}
              canDecide={canDecide}
              modify={modify}
              editing={editing}
              change={(change) => setDraft(update(draft, one.id, change))}
              shift={(by) => setDraft(shift(draft, one.id, by))}
              toHere={() => setDraft(toHere(draft, one.id))}
            />
          );
        })}
      </ol>
      {canDecide && !modify ? <p className={cx(css.muted, css.small)}>{s.fixed}</p> : null}
    </>
  );
}

function StepItem(props: {
  number: number;
  last: boolean;
  step: Step;
  draft: StepDraft;
  effect: string;
  action: string | undefined;
  description: string | undefined;
  fields: DisplayField[];
  prefix: string;
  canDecide: boolean;
  modify: boolean;
  editing: boolean;
  change(change: Partial<StepDraft>): void;
  shift(by: 1 | -1): void;
  toHere(): void;
}) {
  const { draft, step, number } = props;
  const [open, setOpen] = useState(false);
  const name = s.step(number);
  return (
    <li className={cx(css.step, !draft.run && css.stepOut)}>
      <span className={css.stepNumber} aria-hidden>
        {number}
      </span>
      <div className={css.stepBody}>
        <div className={css.stepHead}>
          <span className="visually-hidden">{name}: </span>
          <span className={cx(css.stepEffect, "verbatim")}>{props.effect}</span>
          {step.optional ? <Badge>{s.optional}</Badge> : null}
          {draft.arguments ? <Badge tone="accent">{s.edited}</Badge> : null}
        </div>
        {props.action && props.action !== props.effect ? (
          <code className={cx("verbatim", css.muted)}>{props.action}</code>
        ) : null}
        {props.description ? (
          <Long text={props.description} className={cx(css.plainBlock, css.letter)} />
        ) : null}
        {draft.arguments ? (
          <pre className="verbatim">{JSON.stringify(draft.arguments, null, 2)}</pre>
        ) : props.fields.length > 0 ? (
          <Fields fields={props.fields} strip={props.prefix} />
        ) : null}
        {props.canDecide ? (
          <div className={css.stepTools}>
            <Button
              size="small"
              aria-pressed={draft.run}
              aria-label={`${name}: ${s.run}`}
              onClick={() => props.change({ run: true })}
            >
              {s.run}
            </Button>
            <Button
              size="small"
              aria-pressed={!draft.run}
              aria-label={`${name}: ${s.skip}`}
              onClick={() => props.change({ run: false })}
            >
              {s.skip}
            </Button>
            {props.last ? null : (
              <Button size="small" look="quiet" aria-label={`${name}: ${s.toHere}`} onClick={props.toHere}>
                {s.toHere}
              </Button>
            )}
            {props.modify ? (
              <>
                <Button
                  size="small"
                  look="quiet"
                  square
                  aria-label={`${name}: ${s.up}`}
                  disabled={number === 1}
                  onClick={() => props.shift(-1)}
                >
                  <Icon name="up" />
                </Button>
                <Button
                  size="small"
                  look="quiet"
                  square
                  aria-label={`${name}: ${s.down}`}
                  disabled={props.last}
                  onClick={() => props.shift(1)}
                >
                  <Icon name="down" />
                </Button>
              </>
            ) : null}
            {props.editing ? (
              <Button size="small" look="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
                {s.edit}
              </Button>
            ) : null}
            {draft.arguments ? (
              <Button size="small" look="quiet" onClick={() => props.change({ arguments: null })}>
                {s.reset}
              </Button>
            ) : null}
          </div>
        ) : null}
        {open ? (
          <StepEdit
            value={draft.arguments ?? step.arguments ?? {}}
            onSave={(value) => {
              props.change({ arguments: value, run: true });
              setOpen(false);
            }}
          />
        ) : null}
      </div>
    </li>
  );
}

function StepEdit({ value, onSave }: { value: JsonObject; onSave(value: JsonObject): void }) {
  const [text, setText] = useState(() => JSON.stringify(value, null, 2));
  const parsed = parseObject(text);
  return (
    <>
      <Field
        label={strings.queue.editRaw}
        error={
          parsed.ok
            ? null
            : strings.queue.editBad(parsed.error.line, parsed.error.column, parsed.error.message)
        }
      >
        <TextArea
          mono
          rows={6}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </Field>
      <div className={css.stepTools}>
        <Button
          size="small"
          look="primary"
          disabled={!parsed.ok}
          onClick={() => parsed.ok && onSave(parsed.value)}
        >
          {strings.common.save}
        </Button>
      </div>
    </>
  );
}
