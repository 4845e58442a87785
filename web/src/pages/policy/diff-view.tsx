/** Two texts beside each other, as changed lines. */
import { useMemo, useState } from "react";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import { visible } from "../shared/visible";
import { type DiffLine, type DiffPart, diff, fold } from "./compare";
import css from "./policy.module.css";

const text = strings.policy;

function Lines({ lines }: { lines: DiffLine[] }) {
  return (
    <>
      {lines.map((line) => (
        <div
          key={`${line.before}/${line.after}`}
          className={cx(css.diffLine, line.op === "+" && css.added, line.op === "-" && css.removed)}
        >
          <span aria-hidden>{line.before ?? ""}</span>
          <span aria-hidden>{line.after ?? ""}</span>
          <span>
            {line.op === "+" ? <ins>+</ins> : line.op === "-" ? <del>−</del> : <i aria-hidden> </i>}
          </span>
          <code>{visible(line.text.replaceAll("\t", "  "))}</code>
        </div>
      ))}
    </>
  );
}

function Part({ part }: { part: DiffPart }) {
  const [open, setOpen] = useState(false);
  if (!part.fold || open || part.lines.length < 4) return <Lines lines={part.lines} />;
  return (
    <button type="button" className={css.fold} onClick={() => setOpen(true)}>
      {text.folded(part.lines.length)}
    </button>
  );
}

export function DiffView({ before, after, label }: { before: string; after: string; label: string }) {
  const parts = useMemo(() => fold(diff(before, after)), [before, after]);
  if (before === after) return <p className={css.quiet}>{text.noDiff}</p>;
  return (
    <section className={css.diff} tabIndex={0} aria-label={label}>
      <div>
        {parts.map((part, at) => (
          <Part key={at} part={part} />
        ))}
      </div>
    </section>
  );
}
