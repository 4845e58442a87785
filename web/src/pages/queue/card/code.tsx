/** Code in colours. The text stays what it is, letter for letter. */
import { Fragment, useMemo } from "react";
import { cx } from "@/lib/cx";
import css from "./card.module.css";
import { type Piece, pieces, type Range } from "./marks";
import type { Language } from "./tokens";

/** Longer texts are not coloured. */
const MOST = 40_000;

export function Code({ text, language }: { text: string; language: Language | null }) {
  const lines = useMemo(
    () => (language && text.length <= MOST ? text.split("\n").map((line) => pieces(line, language)) : null),
    [text, language],
  );
  if (!lines) return text;
  return lines.map((line, index) => (
    <Fragment key={index}>
      {index > 0 ? "\n" : ""}
      <Pieces pieces={line} />
    </Fragment>
  ));
}

/** One line with the words that changed. */
export function CodeLine({
  text,
  language,
  marks,
}: {
  text: string;
  language: Language | null;
  marks?: readonly Range[];
}) {
  return <Pieces pieces={pieces(text, language, marks)} />;
}

function Pieces({ pieces: all }: { pieces: readonly Piece[] }) {
  return all.map(({ kind, marked, text }, index) =>
    kind === null && !marked ? (
      text
    ) : (
      <span key={index} className={cx(kind && css[kind], marked && css.marked)}>
        {text}
      </span>
    ),
  );
}
