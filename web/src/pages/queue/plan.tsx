/** A plan, step by step. */
import { type HTMLAttributes, type PointerEvent, useRef, useState } from "react";
import type { JsonObject, RequestRecord, Step } from "@/api/extra";
import { cx } from "@/lib/cx";
import { drafts } from "@/lib/drafts";
import { parseObject } from "@/lib/strict-json";
import { strings } from "@/strings";
import { Badge, Button, Field, Icon, TextArea } from "@/ui";
import type { StepParts } from "./card";
import { SectionPart } from "./card/body";
import { Fields } from "./card/fields";
import { PlacesProvider } from "./card/leaf";
import { StepHead } from "./card/step";
import css from "./detail.module.css";
import { useDraft } from "./drafts";
import { landing, place, type StepDraft, shift, toHere, update } from "./steps";

const s = strings.queue.plan;

export function PlanSteps({
  record,
  draft,
  setDraft,
  canDecide,
  parts,
}: {
  record: RequestRecord;
  draft: StepDraft[];
  setDraft(draft: StepDraft[]): void;
  canDecide: boolean;
  /** What the card has of each step. */
  parts(number: number): StepParts;
}) {
  const steps = record.steps ?? [];
  const modify = record.can_modify === true && canDecide;
  const editing = modify && record.allowed.includes("edit");
  const { list, dragged, mark, grip } = useDrag(draft, setDraft);
  return (
    <>
      <ol className={css.steps} ref={list}>
        {draft.map((one, at_) => {
          const index = steps.findIndex((step) => step.id === one.id);
          const step = steps[index];
          if (!step) return null;
          return (
            <StepItem
              key={one.id}
              number={at_ + 1}
              last={at_ === draft.length - 1}
              record={record}
              step={step}
              draft={one}
              grip={modify && draft.length > 1 ? grip(one.id) : undefined}
              className={cx(one.id === dragged && css.dragged, mark(one.id, at_))}
              parts={parts(index + 1)}
              prefix={`/steps/${index}`}
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

type Grip = Pick<
  HTMLAttributes<HTMLElement>,
  "onPointerDown" | "onPointerMove" | "onPointerUp" | "onPointerCancel"
>;

/** Steps follow a finger or a mouse by their handle. Nothing moves until it is let go; the buttons do the same. */
function useDrag(draft: StepDraft[], setDraft: (draft: StepDraft[]) => void) {
  const list = useRef<HTMLOListElement>(null);
  const [drag, setDrag] = useState<{ id: string; to: number } | null>(null);
  const from = drag ? draft.findIndex((step) => step.id === drag.id) : -1;
  const target = (id: string, y: number) => {
    const items = [...(list.current?.children ?? [])] as HTMLElement[];
    const boxes = items.map((item) => {
      const { top, height } = item.getBoundingClientRect();
      return { id: item.dataset.step ?? "", top, height };
    });
    return landing(boxes, id, y);
  };
  const grip = (id: string): Grip => ({
    onPointerDown: (event: PointerEvent<HTMLElement>) => {
      if (event.button !== 0) return;
      event.preventDefault();
      event.currentTarget.setPointerCapture(event.pointerId);
      setDrag({ id, to: draft.findIndex((step) => step.id === id) });
    },
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      if (drag?.id === id) setDrag({ id, to: target(id, event.clientY) });
    },
    onPointerUp: (event: PointerEvent<HTMLElement>) => {
      if (drag?.id === id) setDraft(place(draft, id, target(id, event.clientY)));
      setDrag(null);
    },
    onPointerCancel: () => setDrag(null),
  });
  /** The line that says where it would land. */
  const mark = (id: string, at: number) => {
    if (!drag || drag.to === from || id === drag.id) return undefined;
    const place_ = at < from ? at : at - 1;
    if (drag.to < from) return place_ === drag.to ? css.dropAbove : undefined;
    return place_ === drag.to - 1 ? css.dropBelow : undefined;
  };
  return { list, dragged: drag?.id, mark, grip };
}

function StepItem(props: {
  number: number;
  last: boolean;
  record: RequestRecord;
  step: Step;
  draft: StepDraft;
  /** What makes the handle drag; none where the order is fixed. */
  grip?: Grip;
  className?: string;
  parts: StepParts;
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
  const head = props.parts.sections.find((section) => section.type === "step");
  const sections = props.parts.sections.filter((section) => section !== head);
  const { rest } = props.parts;
  const badges = draft.arguments ? <Badge tone="accent">{s.edited}</Badge> : null;
  return (
    <li data-step={step.id} className={cx(css.step, !draft.run && css.stepOut, props.className)}>
      <span className={css.stepSide} aria-hidden>
        <span className={css.stepNumber}>{number}</span>
        {props.grip ? (
          <span className={css.grip} title={s.drag} {...props.grip}>
            <Icon name="grip" size={16} />
          </span>
        ) : null}
      </span>
      <div className={css.stepBody}>
        {head ? (
          <PlacesProvider section={head}>
            <StepHead section={head} number={number} badges={badges} />
          </PlacesProvider>
        ) : (
          <div className={css.stepHead}>
            <span className="visually-hidden">{name}: </span>
            {badges}
          </div>
        )}
        {sections.map((section, index) => (
          <SectionPart key={index} section={section} />
        ))}
        {rest.length > 0 ? <Fields fields={rest} strip={props.prefix} /> : null}
        {draft.arguments ? (
          <>
            <p className={css.subhead}>{s.instead}</p>
            <pre className="verbatim">{JSON.stringify(draft.arguments, null, 2)}</pre>
          </>
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
            record={props.record}
            id={step.id}
            value={draft.arguments ?? step.arguments ?? {}}
            onSave={(value) => {
              drafts.drop(props.record.id, `step.${step.id}`);
              props.change({ arguments: value, run: true });
              setOpen(false);
            }}
          />
        ) : null}
      </div>
    </li>
  );
}

function StepEdit({
  record,
  id,
  value,
  onSave,
}: {
  record: RequestRecord;
  id: string;
  value: JsonObject;
  onSave(value: JsonObject): void;
}) {
  const [text, setText] = useDraft(record, `step.${id}`, () => JSON.stringify(value, null, 2));
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
