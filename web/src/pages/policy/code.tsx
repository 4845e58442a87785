/** Policy text with line numbers and colours: to read, and to write. */
import { memo, type Ref, useMemo } from "react";
import type { PolicyNote } from "@/api/extra";
import { cx } from "@/lib/cx";
import { visible } from "../shared/visible";
import css from "./code.module.css";
import { highlight, type Piece } from "./toml";

/** Colours beyond this size would make typing slow. */
const COLOURED = 200_000;

function pieces(text: string): Piece[][] {
  return text.length > COLOURED
    ? text.split("\n").map((line) => [{ mark: "plain", text: line }])
    : highlight(text);
}

const Line = memo(function Line({ line, drawn }: { line: Piece[]; drawn: boolean }) {
  return (
    <>
      {line.map((piece, at) => (
        <span key={at} className={css[piece.mark]}>
          {drawn ? visible(piece.text.replaceAll("\t", "  ")) : piece.text}
        </span>
      ))}
      {"\n"}
    </>
  );
});

export type Marks = Map<number, "bad" | "warn">;

/** Lines with problems or notes; a problem outweighs a note. */
export function marksOf(problems: PolicyNote[], notes: PolicyNote[]): Marks {
  const marks: Marks = new Map();
  for (const note of notes) if (note.line) marks.set(note.line, "warn");
  for (const problem of problems) if (problem.line) marks.set(problem.line, "bad");
  return marks;
}

function Gutter({ count, marks }: { count: number; marks: Marks }) {
  return (
    <div className={css.gutter} aria-hidden>
      {Array.from({ length: count }, (_, at) => (
        <span
          key={at}
          className={cx(
            marks.get(at + 1) === "bad" && css.badLine,
            marks.get(at + 1) === "warn" && css.warnLine,
          )}
        >
          {at + 1}
        </span>
      ))}
    </div>
  );
}

export function CodeView({ text, label, marks = new Map() }: { text: string; label: string; marks?: Marks }) {
  const lines = useMemo(() => pieces(text.replace(/\n$/, "")), [text]);
  return (
    <section className={css.frame} tabIndex={0} aria-label={label}>
      <Gutter count={lines.length} marks={marks} />
      <pre className={css.text}>
        {lines.map((line, at) => (
          <Line key={at} line={line} drawn />
        ))}
      </pre>
    </section>
  );
}

/** A text area over the coloured text, so that typing and colours line up. */
export function CodeEditor({
  text,
  onChange,
  label,
  marks,
  ref,
  readOnly,
}: {
  text: string;
  onChange(text: string): void;
  label: string;
  marks: Marks;
  ref?: Ref<HTMLTextAreaElement>;
  readOnly?: boolean;
}) {
  const lines = useMemo(() => pieces(text), [text]);
  return (
    <div className={cx(css.frame, css.editor)} data-scroll>
      <Gutter count={lines.length} marks={marks} />
      <div className={css.layers}>
        <pre className={css.text} aria-hidden>
          {lines.map((line, at) => (
            <Line key={at} line={line} drawn={false} />
          ))}
        </pre>
        <textarea
          ref={ref}
          className={css.area}
          aria-label={label}
          value={text}
          readOnly={readOnly}
          wrap="off"
          spellCheck={false}
          autoCapitalize="none"
          autoCorrect="off"
          autoComplete="off"
          onChange={(event) => onChange(event.target.value)}
        />
      </div>
    </div>
  );
}
