/** The card, whole: what to look at twice, the sections in order, and everything else. Every place draws this. */
import { type ReactNode, useMemo } from "react";
import { type CardFlag, type CardSection, cardOf, textsOf } from "@/api/card";
import type { DisplayField, RequestRecord } from "@/api/extra";
import { strings } from "@/strings";
import { Banner, Icon } from "@/ui";
import css from "../detail.module.css";
import { flagsOf } from "../flags";
import { Section } from "../section";
import { SectionPart } from "./body";
import own from "./card.module.css";
import { Fields } from "./fields";
import { At, CardTextsProvider, flagsByPointer } from "./leaf";
import { flaggedFirst, placeOf, restGroups } from "./place";

const s = strings.queue.card;

export interface StepParts {
  sections: CardSection[];
  rest: DisplayField[];
}

/** The place of the step with this number in a plan that nobody changed. */
function stepAt(number: number): string {
  return `/steps/${number - 1}/`;
}

/** The card of a record. `steps` draws the steps of a plan in its own way. */
export function Card({
  record,
  compact = false,
  steps,
}: {
  record: RequestRecord;
  /** Whether headings that say nothing new are left out: in a batch, where many cards stand below each other. */
  compact?: boolean;
  steps?(parts: (number: number) => StepParts): ReactNode;
}) {
  const card = cardOf(record);
  const texts = useMemo(() => {
    const flags = flagsByPointer(card?.flagged ?? []);
    const known = new Map(textsOf(record.display));
    for (const { pointer, text } of card?.rest ?? []) known.set(pointer, text);
    return { texts: known, flags };
  }, [card, record]);
  if (!card) return <Banner tone="warn">{strings.queue.notShown}</Banner>;
  if (card.sections.length === 0 && card.rest.length === 0) {
    return <Banner tone="warn">{strings.queue.erased}</Banner>;
  }
  const parts = (number: number): StepParts => ({
    sections: card.sections.filter((section) => section.step === number),
    rest: flaggedFirst(
      card.rest.filter((field) => field.pointer.startsWith(stepAt(number))),
      card.flagged,
    ),
  });
  const inSteps = (field: DisplayField) => steps !== undefined && /^\/steps\/\d+\//.test(field.pointer);
  const plain = card.sections.filter((section) => !steps || section.step == null);
  const rest = flaggedFirst(
    card.rest.filter((field) => !inSteps(field)),
    card.flagged,
  );
  return (
    <CardTextsProvider value={texts}>
      <div className={own.card} data-card data-hidden={card.hidden}>
        <Flags flags={flagsOf(record, card)} />
        {card.hidden > 0 ? <Banner tone="bad">{s.hidden(card.hidden)}</Banner> : null}
        {plain.map((section, index) => (
          <SectionPart key={index} section={section} />
        ))}
        {steps?.(parts)}
        <Rest fields={rest} bare={card.sections.length === 0} compact={compact} />
      </div>
    </CardTextsProvider>
  );
}

function Flags({ flags }: { flags: readonly CardFlag[] }) {
  if (flags.length === 0) return null;
  return (
    <Section title={strings.queue.section.warnings}>
      <ul className={css.warningList}>
        {flags.map((flag, index) => (
          <li key={index} className={css.warningItem}>
            <Icon name="warning" />
            <span>
              <span className="verbatim">{flag.why}</span>
              {flag.pointer ? <code className={`${own.where} verbatim`}>{flag.pointer}</code> : null}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Rest({
  fields,
  bare,
  compact,
}: {
  fields: readonly DisplayField[];
  /** Whether there is nothing else on the card. */
  bare: boolean;
  compact: boolean;
}) {
  const { runs, around } = restGroups(fields);
  return (
    <>
      {runs.fields.length > 0 ? (
        <Section title={!bare ? s.rest : compact ? undefined : s.values}>
          <Fields fields={runs.fields} strip={runs.strip} />
        </Section>
      ) : null}
      {around.fields.length > 0 ? (
        isShort(around.fields) ? (
          <Line fields={around.fields} />
        ) : (
          <Section title={s.around}>
            <Fields fields={around.fields} strip={around.strip} />
          </Section>
        )
      ) : null}
    </>
  );
}

/** Few short values fit on a line. */
function isShort(fields: readonly DisplayField[]): boolean {
  return fields.length <= 16 && fields.every((field) => field.text.length <= 60);
}

/** Who asks and from where, on one line. */
function Line({ fields }: { fields: readonly DisplayField[] }) {
  return (
    <dl className={own.around} aria-label={s.around}>
      {fields.map((field) => (
        <div key={field.pointer}>
          <dt className="verbatim">{placeOf(field, "")}</dt>
          <dd>
            <At pointers={[field.pointer]}>
              <span className="verbatim">{field.text}</span>
            </At>
          </dd>
        </div>
      ))}
    </dl>
  );
}
