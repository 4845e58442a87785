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
              {placeOf(field.pointer, strip)}
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

function placeOf(pointer: string, strip: string): string {
  const rest = strip && pointer.startsWith(strip) ? pointer.slice(strip.length) : pointer;
  return rest.replace(/^\//, "") || strip.replace(/^\//, "");
}

/** Every text that a preview shows, to see which arguments it leaves out. */
export function textsOf(preview: Preview): Set<string> {
  const out = new Set<string>();
  const visit = (value: unknown) => {
    if (typeof value === "string") out.add(value);
    else if (Array.isArray(value)) value.forEach(visit);
    else if (value && typeof value === "object") Object.values(value).forEach(visit);
  };
  visit(preview);
  return out;
}

/** The arguments that a typed preview does not already show, word for word. */
export function leftOver(
  fields: readonly DisplayField[],
  preview: Preview | undefined,
  warnings: readonly Warning[] = [],
): DisplayField[] {
  const risky = new Set(warnings.map((warning) => warning.pointer));
  const out = unshown(fields, preview);
  // What a warning is about comes first, however far down it was written.
  return [
    ...out.filter((field) => risky.has(field.pointer)),
    ...out.filter((field) => !risky.has(field.pointer)),
  ];
}

function unshown(fields: readonly DisplayField[], preview: Preview | undefined): DisplayField[] {
  const own = fields.filter(
    (field) => field.pointer === "/arguments" || field.pointer.startsWith("/arguments/"),
  );
  if (!preview || preview.type === "json") return own;
  const shown = textsOf(preview);
  return own.filter((field) => {
    const quoted = field.text.startsWith('"') && field.text.endsWith('"');
    const inner = quoted ? field.text.slice(1, -1) : field.text;
    return !shown.has(inner) && !shown.has(inner.replaceAll('\\"', '"'));
  });
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

export function PreviewBody({
  preview,
  fields,
  warnings,
}: {
  preview: Preview;
  fields: readonly DisplayField[];
  warnings?: readonly Warning[];
}) {
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
            {!preview.where && /^(delete|update)$/i.test(preview.kind) ? (
              <Badge tone="bad">{s.sqlNoWhere}</Badge>
            ) : null}
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
            <Badge tone={preview.method === "GET" ? "neutral" : "warn"}>{preview.method}</Badge>
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
            <Pair name={s.to}>
              <Text>{preview.to.join(", ") || s.nobody}</Text>
            </Pair>
            {preview.cc.length > 0 ? (
              <Pair name={s.cc}>
                <Text>{preview.cc.join(", ")}</Text>
              </Pair>
            ) : null}
            {preview.bcc.length > 0 ? (
              <Pair name={s.bcc}>
                <Text>{preview.bcc.join(", ")}</Text>
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
            <Text>{preview.amount}</Text> <span>{preview.currency}</span>
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
      return null;
    default: {
      const own = leftOver(fields, undefined, warnings);
      if (own.length === 0) return <p className={css.muted}>{s.noArguments}</p>;
      return <Fields fields={own} strip="/arguments" />;
    }
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
          <div key={index} className={line.op === "+" ? css.plus : line.op === "-" ? css.minus : undefined}>
            <span className={css.sign} aria-hidden>
              {line.op}
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
