/** A change to a file: line numbers, the words that changed, and what happens to the file as a whole. */
import { useMemo } from "react";
import type { SectionOf } from "@/api/card";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import { Badge, Banner, type Tone } from "@/ui";
import { broken } from "./breaks";
import css from "./card.module.css";
import { CodeLine } from "./code";
import { Leaf, Whole } from "./leaf";
import { marksOf } from "./marks";
import { useLong } from "./parts";
import { languageOf } from "./tokens";

const s = strings.queue.card;
const MOST = 120;

/** How a line looks, by its sign: `@` is a heading, `\` a remark. */
const LINE: Record<string, string | undefined> = {
  "+": css.plus,
  "-": css.minus,
  "@": css.heading,
  "\\": css.heading,
};
const CHANGE: Record<string, Tone> = { create: "good", overwrite: "warn", delete: "bad" };

export function Diff({ section }: { section: SectionOf<"diff"> }) {
  const { change } = section;
  const lines = useMemo(
    () => section.lines.map((line) => ({ ...line, text: broken(line.text) })),
    [section.lines],
  );
  const language = useMemo(() => languageOf(section.path), [section.path]);
  const marks = useMemo(() => marksOf(lines), [lines]);
  const { shown, bar } = useLong(lines, MOST, strings.queue.lines);
  const numbered = lines.some((line) => line.old != null || line.new != null);
  const count = (op: string) => lines.filter((line) => line.op === op).length;
  return (
    <figure className={css.file}>
      <figcaption className={css.fileHead}>
        <code className={css.filePath}>
          <Leaf slot="path">
            <span className="verbatim">{section.path}</span>
          </Leaf>
        </code>
        <Badge tone={CHANGE[change]}>{(s.change as Record<string, string>)[change] ?? s.change.change}</Badge>
        <span className={css.counts}>
          <span className={css.countPlus}>+{count("+")}</span>{" "}
          <span className={css.countMinus}>−{count("-")}</span>
          <span className="visually-hidden">{s.counts(count("+"), count("-"))}</span>
        </span>
      </figcaption>
      <Whole>
        <div className={cx(css.diff, !numbered && css.plainDiff)} data-lines>
          {shown.map((line, index) => {
            const heading = line.op === "@" || line.op === "\\";
            return (
              <div key={index} className={cx(css.line, LINE[line.op])} data-op={line.op}>
                {numbered ? (
                  <>
                    <span className={cx(css.lineNumber, css.lineOld)} aria-hidden>
                      {line.old ?? ""}
                    </span>
                    <span className={css.lineNumber} aria-hidden>
                      {line.new ?? ""}
                    </span>
                  </>
                ) : null}
                <span className={css.sign} aria-hidden>
                  {heading ? "" : line.op}
                </span>
                <span className="visually-hidden">
                  {line.op === "+" ? s.added : line.op === "-" ? s.removed : ""}
                </span>
                <code className="verbatim">
                  {heading ? (
                    line.text
                  ) : (
                    <CodeLine text={line.text} language={language} marks={marks.get(index)} />
                  )}
                </code>
              </div>
            );
          })}
        </div>
      </Whole>
      {bar}
      {section.truncated ? <Banner tone="warn">{s.truncated}</Banner> : null}
    </figure>
  );
}
