/** What a yes would run, whole: the preview, and every value that it does not show. Detail, batches and dialogs use it. */
import type { Preview, RequestRecord } from "@/api/extra";
import { strings } from "@/strings";
import { Badge, Banner } from "@/ui";
import css from "./detail.module.css";
import { warningsOf } from "./pause";
import { bodyOf, Fields, leftOver, PreviewBody } from "./previews";
import { Section, shownText } from "./section";

const s = strings.queue;

function previewTitle(record: RequestRecord, preview: Preview): string {
  if (preview.type !== "json") return s.preview[preview.type];
  if (record.kind === "input") return s.preview.question;
  if (record.kind === "confirmation") return s.preview.confirmation;
  return s.section.arguments;
}

/** Where a replacement stands: what will run is not what was asked for. */
function replacedAt(record: RequestRecord): "/decision" | "/proposal" | null {
  const fields = record.display?.fields ?? [];
  const at = (["/decision", "/proposal"] as const).find((base) =>
    fields.some((field) => field.pointer.startsWith(`${base}/`)),
  );
  return at ?? null;
}

export function Runs({
  record,
  elsewhere = false,
  plan = true,
  compact = false,
}: {
  record: RequestRecord;
  /** Whether the values of a replacement are listed by the caller. */
  elsewhere?: boolean;
  /** Whether the plan is listed here, and not by the caller. */
  plan?: boolean;
  /** Whether titles that say nothing new are left out: in a batch, where many stand below each other. */
  compact?: boolean;
}) {
  const display = record.display;
  const fields = display?.fields ?? [];
  if (!display || fields.length === 0) return <Banner tone="warn">{s.erased}</Banner>;
  const preview = display.preview ?? { type: "json" as const };
  const warnings = warningsOf(record);
  const base = replacedAt(record);
  const options = fields.filter((field) => field.pointer.startsWith("/input/options/"));
  const suggestion = shownText(record, "/default");
  // Options and the suggestion are drawn below, each with its whole text.
  const own = bodyOf(fields).filter(
    ({ pointer }) =>
      !pointer.startsWith("/input/options/") &&
      pointer !== "/default" &&
      (plan || !/^\/(steps|title|estimated_duration)(\/|$)/.test(pointer)),
  );
  const asked = leftOver(own, display.shown, warnings);
  const replaced =
    base === null || elsewhere
      ? []
      : leftOver(
          fields.filter((field) => field.pointer.startsWith(`${base}/`)),
          display.shown,
          warnings,
        );
  const strip = record.kind === "action" ? "/arguments" : "";
  const bare = preview.type === "json";
  const others = bare ? s.section.arguments : s.section.otherArguments;
  const title = base ? s.nowProposed : compact ? undefined : others;
  const drawn = !bare && (preview.type !== "plan" || plan);
  return (
    <>
      {drawn || options.length > 0 || suggestion ? (
        <Section title={compact ? undefined : previewTitle(record, preview)}>
          {drawn ? (
            <div className={css.drawn} data-preview={preview.type}>
              <PreviewBody preview={preview} />
            </div>
          ) : null}
          {options.length > 0 ? (
            <div className={css.chips}>
              {options.map((option) => (
                <Badge key={option.pointer}>
                  <span className="verbatim">{option.text}</span>
                </Badge>
              ))}
            </div>
          ) : null}
          {suggestion ? (
            <p className={css.muted}>
              {s.preview.suggestion}: <span className="verbatim">{suggestion}</span>
            </p>
          ) : null}
        </Section>
      ) : null}
      {replaced.length > 0 ? (
        <Section title={s.nowReplacement}>
          <Fields fields={replaced} strip={base ?? ""} />
        </Section>
      ) : null}
      {asked.length > 0 ? (
        <Section title={title}>
          <Fields fields={asked} strip={strip} />
        </Section>
      ) : null}
    </>
  );
}
