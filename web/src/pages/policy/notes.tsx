/** What the server has to say about a policy, each at its line. */
import type { PolicyNote } from "@/api/extra";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import { Icon } from "@/ui";
import { visible } from "../shared/visible";
import css from "./policy.module.css";

const text = strings.policy;

function Note({
  note,
  bad,
  go,
}: {
  note: PolicyNote;
  bad: boolean;
  go?: ((line: number, column: number) => void) | undefined;
}) {
  const { line } = note;
  return (
    <li className={cx(css.note, bad ? css.noteBad : css.noteWarn)}>
      <Icon name="warning" />
      <div>
        <p>
          {visible(note.message)}
          {note.rule ? <span className={css.quiet}> · {text.rule(visible(note.rule))}</span> : null}
        </p>
        {note.fix ? (
          <p className={css.quiet}>
            {text.fix}: {visible(note.fix)}
          </p>
        ) : null}
      </div>
      {line ? (
        go ? (
          <button type="button" className={css.goLine} onClick={() => go(line, note.column ?? 1)}>
            {text.line(line)}
          </button>
        ) : (
          <span className={css.quiet}>{text.line(line)}</span>
        )
      ) : null}
    </li>
  );
}

export function Notes({
  problems = [],
  warnings = [],
  findings = [],
  go,
}: {
  problems?: PolicyNote[];
  warnings?: PolicyNote[];
  findings?: PolicyNote[];
  go?: (line: number, column: number) => void;
}) {
  if (problems.length + warnings.length + findings.length === 0) return null;
  return (
    <ul className={css.notes} aria-label={text.problemList}>
      {problems.map((note, at) => (
        <Note key={`p${at}`} note={note} bad go={go} />
      ))}
      {findings.map((note, at) => (
        <Note key={`f${at}`} note={note} bad={note.severity === "error"} go={go} />
      ))}
      {warnings.map((note, at) => (
        <Note key={`w${at}`} note={note} bad={false} go={go} />
      ))}
    </ul>
  );
}
