/** What will run, by its type. Every text comes from the server, ready to be shown as it is. */
import { type ReactNode, useState } from "react";
import type { DisplayField, Preview, Warning } from "@/api/extra";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import { Badge, Banner, Button } from "@/ui";
import css from "./detail.module.css";
import { useFold } from "./seen";

const s = strings.queue.preview;

/** Longest text that is shown without a fold. */
const LINES = 24;
const CHARACTERS = 2400;
const ROWS = 80;

/** A text that is folded when it is long. A folded text counts as unseen. */
export function Long({ text, className }: { text: string; className?: string }) {
  const lines = text.split("\n").length;
  const long = text.length > CHARACTERS || lines > LINES;
  const [open, setOpen] = useState(false);
  const folded = long && !open;
  useFold(folded);
  return (
    <div className={cx(css.block, className)}>
      <pre className="verbatim">{folded ? clip(text) : text}</pre>
      {folded ? (
        <div className={css.foldBar}>
          <Button size="small" onClick={() => setOpen(true)}>
            {strings.queue.showAll(text.length, strings.queue.characters)}
          </Button>
        </div>
      ) : null}
    </div>
  );
}

function clip(text: string): string {
  const byLines = text.split("\n").slice(0, LINES).join("\n");
  return `${byLines.slice(0, CHARACTERS)} …`;
}

/** Values with their places, folded when they are many. */
export function Fields({
  fields,
  strip = "",
  mark,
}: {
  fields: readonly DisplayField[];
  strip?: string;
  /** Which ones are drawn as changed. */
  mark?(field: DisplayField): boolean;
}) {
  const [open, setOpen] = useState(false);
  const folded = fields.length > ROWS && !open;
  useFold(folded);
  return (
    <div className={css.fields}>
      <dl>
        {(folded ? fields.slice(0, ROWS) : fields).map((field, index) => (
          <div
            key={`${index} ${field.pointer}`}
            className={cx(css.fieldRow, mark?.(field) && css.fieldChanged)}
          >
            <dt className="verbatim">
              {placeOf(field, strip)}
              {mark?.(field) ? ` (${strings.queue.changedMark})` : ""}
            </dt>
            <dd>
              <Long text={field.text} className={css.plainBlock} />
            </dd>
          </div>
        ))}
      </dl>
      {folded ? (
        <div className={css.foldBar}>
          <Button size="small" onClick={() => setOpen(true)}>
            {strings.queue.showAll(fields.length, strings.queue.values)}
          </Button>
        </div>
      ) : null}
    </div>
  );
}

/** The place as people read it. A key that looks like a list index stands in quotes, as on the other pages. */
export function placeOf(field: DisplayField, strip: string): string {
  const parts = field.pointer.split("/").slice(1);
  const drawn = parts.map((part, at) =>
    field.keys?.includes(at) || part.startsWith('"') ? `"${part.replaceAll('"', '\\"')}"` : part,
  );
  const under = strip !== "" && (field.pointer === strip || field.pointer.startsWith(`${strip}/`));
  const own = under ? drawn.slice(strip.split("/").length - 1) : drawn;
  return own.join("/") || strip.replace(/^\//, "");
}

/** The parts of a record that a decision is about. */
const BODY =
  /^\/(arguments|title|steps|estimated_duration|question|input|default|message|details|confirm_label|cancel_label)(\/|$)/;

/** What the agent asked for, value by value: all but its words, its context and the schema for edits. */
export function bodyOf(fields: readonly DisplayField[]): DisplayField[] {
  return fields.filter((field) => BODY.test(field.pointer));
}

/**
 * The fields that the preview does not show whole. The server says by their places which ones it shows; texts are never
 * compared, because equal texts stand in many places. A server that does not say shows none.
 */
export function leftOver(
  fields: readonly DisplayField[],
  shown: readonly string[] | undefined,
  warnings: readonly Warning[] = [],
): DisplayField[] {
  const seen = new Set(shown ?? []);
  const risky = new Set(warnings.map((warning) => warning.pointer));
  const out = fields.filter((field) => !seen.has(field.pointer));
  // Fields with a warning come first.
  return [
    ...out.filter((field) => risky.has(field.pointer)),
    ...out.filter((field) => !risky.has(field.pointer)),
  ];
}

function Pair({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={css.pair}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Text({ children, mono }: { children: string; mono?: boolean }) {
  return <span className={cx("verbatim", mono && "mono")}>{children}</span>;
}

/** Several texts, each in its own box, so that two do not look like one. */
function Several({ texts }: { texts: readonly string[] }) {
  return (
    <span className={css.several}>
      {texts.map((text, index) => (
        <span key={index} className="verbatim">
          {text === "" ? '""' : text}
        </span>
      ))}
    </span>
  );
}

/** What the server drew. The values that it does not show are listed by `Runs`. */
export function PreviewBody({ preview }: { preview: Preview }) {
  switch (preview.type) {
    case "shell":
      return <Shell preview={preview} />;
    case "sql":
      return (
        <>
          <div className={css.chips}>
            <Badge tone="accent">{preview.kind}</Badge>
            {preview.statements > 1 ? <Badge tone="warn">{s.sqlStatements(preview.statements)}</Badge> : null}
            {preview.tables.map((table) => (
              <Badge key={table}>
                <Text mono>{table}</Text>
              </Badge>
            ))}
            {preview.where ? null : <Badge tone="bad">{s.sqlNoWhere}</Badge>}
          </div>
          <Long text={preview.statement} />
        </>
      );
    case "diff":
      return <Diff preview={preview} />;
    case "http":
      return (
        <>
          <div className={css.httpLine}>
            <Badge tone={preview.method === "GET" ? "neutral" : "warn"}>
              <Text mono>{preview.method}</Text>
            </Badge>
            <strong>
              <Text mono>{preview.host}</Text>
            </strong>
          </div>
          <Long text={preview.url} />
          {preview.headers.length > 0 ? (
            <dl className={css.pairs} aria-label={s.headers}>
              {preview.headers.map(([name = "", value = ""], index) => (
                <Pair key={`${index} ${name}`} name={name}>
                  <Text mono>{value}</Text>
                </Pair>
              ))}
            </dl>
          ) : null}
          {preview.body ? (
            <>
              <h4 className={css.subhead}>{s.body}</h4>
              <Long text={preview.body} />
            </>
          ) : null}
        </>
      );
    case "email":
      return (
        <>
          <dl className={css.pairs}>
            <Pair name={s.to}>{preview.to.length > 0 ? <Several texts={preview.to} /> : s.nobody}</Pair>
            {preview.cc.length > 0 ? (
              <Pair name={s.cc}>
                <Several texts={preview.cc} />
              </Pair>
            ) : null}
            {preview.bcc.length > 0 ? (
              <Pair name={s.bcc}>
                <Several texts={preview.bcc} />
              </Pair>
            ) : null}
            <Pair name={s.subject}>
              <strong>
                <Text>{preview.subject}</Text>
              </strong>
            </Pair>
          </dl>
          <Long text={preview.body} className={css.letter} />
        </>
      );
    case "money":
      return (
        <>
          <p className={css.amount}>
            <Text>{preview.amount}</Text> <Text>{preview.currency}</Text>
          </p>
          <dl className={css.pairs}>
            <Pair name={s.payee}>
              <strong>
                <Text>{preview.to}</Text>
              </strong>
            </Pair>
            {preview.accounts?.map(([name = "", account = ""]) => (
              <Pair key={name} name={name}>
                <Text mono>{account}</Text>
              </Pair>
            ))}
            {preview.reference ? (
              <Pair name={s.reference}>
                <Text>{preview.reference}</Text>
              </Pair>
            ) : null}
          </dl>
        </>
      );
    case "question":
      return <Long text={preview.question} className={css.letter} />;
    case "confirmation":
      return (
        <>
          <Long text={preview.message} className={css.letter} />
          {preview.details ? (
            <>
              <h4 className={css.subhead}>{s.details}</h4>
              <Long text={preview.details} className={css.letter} />
            </>
          ) : null}
        </>
      );
    case "plan":
      return (
        <ol className={css.planEffects}>
          {preview.steps.map((step, index) => (
            <li key={index} className="verbatim">
              {step.effect}
              {step.optional ? ` (${strings.queue.plan.optional})` : ""}
            </li>
          ))}
        </ol>
      );
    default:
      return null;
  }
}

function Shell({ preview }: { preview: Extract<Preview, { type: "shell" }> }) {
  return (
    <>
      {preview.opaque ? (
        <Banner tone="warn">
          <span>{s.opaque}</span>
          {preview.why ? <Text>{preview.why}</Text> : null}
        </Banner>
      ) : null}
      <Long text={preview.command} className={css.shell} />
      {preview.cwd ? (
        <dl className={css.pairs}>
          <Pair name={s.cwd}>
            <Text mono>{preview.cwd}</Text>
          </Pair>
        </dl>
      ) : null}
      {preview.claimed_cwd ? (
        <dl className={css.pairs}>
          <Pair name={s.claimedCwd}>
            <Text mono>{preview.claimed_cwd}</Text>
          </Pair>
        </dl>
      ) : null}
      {preview.commands.length > 0 ? (
        <ol className={css.commands} aria-label={s.commands(preview.commands.length)}>
          {preview.commands.map((command, index) => (
            <li key={index}>
              {command.joined ? <span className={css.joined}>{command.joined}</span> : null}
              <span className={css.words}>
                {command.words.map((word, at) => (
                  <code key={at} className={cx("verbatim", at === 0 && css.program)}>
                    {word === "" ? '""' : word}
                  </code>
                ))}
                {command.redirects.map((redirect, at) => (
                  <code key={`r${at}`} className={cx("verbatim", css.redirect)}>
                    {redirect.op} {redirect.target}
                  </code>
                ))}
              </span>
            </li>
          ))}
        </ol>
      ) : null}
    </>
  );
}

const DIFF_LINES = 120;

/** How a line of a change looks, by its sign: `@` is a heading, `\\` a remark. */
const LINE: Record<string, string | undefined> = {
  "+": css.plus,
  "-": css.minus,
  "@": css.heading,
  "\\": css.heading,
};

function Diff({ preview }: { preview: Extract<Preview, { type: "diff" }> }) {
  const [open, setOpen] = useState(false);
  const folded = preview.lines.length > DIFF_LINES && !open;
  useFold(folded);
  return (
    <>
      <p className={css.path}>
        <Text mono>{preview.path}</Text>
      </p>
      <div className={css.diff}>
        {(folded ? preview.lines.slice(0, DIFF_LINES) : preview.lines).map((line, index) => (
          <div key={index} className={LINE[line.op]}>
            <span className={css.sign} aria-hidden>
              {line.op === "@" || line.op === "\\" ? "" : line.op}
            </span>
            <span className="visually-hidden">
              {line.op === "+" ? s.added : line.op === "-" ? s.removed : ""}
            </span>
            <code className="verbatim">{line.text}</code>
          </div>
        ))}
      </div>
      {folded ? (
        <div className={css.foldBar}>
          <Button size="small" onClick={() => setOpen(true)}>
            {strings.queue.showAll(preview.lines.length, strings.queue.lines)}
          </Button>
        </div>
      ) : null}
      {preview.truncated ? <Banner tone="warn">{s.truncated}</Banner> : null}
    </>
  );
}
