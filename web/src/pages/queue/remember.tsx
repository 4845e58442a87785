/** "Remember this": a grant that comes with an approval. The server says what it would cover. */
import { useEffect, useMemo, useState } from "react";
import type { Decide, DryRun, Json, JsonObject, Remember, RequestRecord } from "@/api/extra";
import { originOf } from "@/api/origin";
import { votesOf } from "@/api/queue";
import { dryRun } from "@/api/requests";
import { strings } from "@/strings";
import { Banner, Checkbox, Field, Input, Select, Spinner } from "@/ui";
import { refusal } from "./actions";
import css from "./detail.module.css";
import { riskLevel } from "./model";

const s = strings.queue;
const HOURS = [1, 8, 24, 168];

type Answer = { covers: string | null; would: DryRun["would"]; error: string | null };

/** Whether the form of the command can be remembered: the hook program resolved its paths. */
function hasForm(record: RequestRecord): boolean {
  const { command, cmd } = (record.arguments ?? {}) as JsonObject;
  const paths = (record.context as JsonObject | null)?.paths;
  return originOf(record)?.paths === true && (command ?? cmd) !== undefined && paths !== undefined;
}

export function useRemember(record: RequestRecord, base: Decide) {
  const [scope, setScope] = useState<"none" | Remember["scope"]>("none");
  const [hours, setHours] = useState(8);
  const [uses, setUses] = useState(10);
  const [at, setAt] = useState<ReadonlySet<string>>(() => new Set());
  const [within, setWithin] = useState<"session" | "project">("session");
  const [answer, setAnswer] = useState<Answer | null>(null);
  // Nothing is remembered that needs a code, is of high risk, or needs more than one person.
  const possible =
    record.kind === "action" &&
    record.proposal === null &&
    record.tool !== null &&
    record.needs.step_up === null &&
    riskLevel(record.risk) < riskLevel("high") &&
    votesOf(record).need === 1;

  const remember = useMemo<Remember | undefined>(() => {
    if (scope === "none") return undefined;
    const out: Remember = { scope, expires_in: `${hours}h`, uses };
    if (scope === "template") out.within = within;
    if (scope === "pattern") {
      out.arguments = Object.fromEntries(
        [...at].map((name) => [name, { equals: record.arguments?.[name] ?? null } as Json]),
      );
    }
    return out;
  }, [scope, hours, uses, at, within, record.arguments]);

  const text = JSON.stringify(remember);
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again when the scope changes, as text
  useEffect(() => {
    setAnswer(null);
    if (!remember || (remember.scope === "pattern" && at.size === 0)) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      dryRun(record.id, { ...base, remember }, abort.signal)
        .then((dry) => setAnswer({ covers: dry.covers, would: dry.would ?? null, error: null }))
        .catch((error: unknown) => {
          if (!abort.signal.aborted) setAnswer({ covers: null, would: null, error: refusal(error) });
        });
    }, 250);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);

  const names = Object.entries(record.arguments ?? {})
    .filter(([name, value]) => /^[\w-]+$/.test(name) && (value === null || typeof value !== "object"))
    .map(([name]) => name)
    .slice(0, 12);
  const choice = (value: "none" | Remember["scope"], label: string) => (
    <Checkbox type="radio" name="remember" checked={scope === value} onChange={() => setScope(value)}>
      {label}
    </Checkbox>
  );
  const fields = possible ? (
    <fieldset className={css.plainFieldset}>
      <legend>{s.remember}</legend>
      <div className={css.choices}>
        {choice("none", s.rememberNo)}
        {choice("exact", s.rememberExact)}
        {hasForm(record) ? choice("template", s.rememberTemplate) : null}
        {names.length > 0 ? choice("pattern", s.rememberPattern) : null}
        {choice("session", s.rememberSession(record.tool ?? "", record.session))}
      </div>
      {scope === "pattern" ? (
        <div className={css.chips} role="group" aria-label={s.rememberWhich}>
          {names.map((name) => (
            <Checkbox
              key={name}
              checked={at.has(name)}
              onChange={(event) => {
                const next = new Set(at);
                if (event.target.checked) next.add(name);
                else next.delete(name);
                setAt(next);
              }}
            >
              <code className="verbatim">{name}</code>
            </Checkbox>
          ))}
        </div>
      ) : null}
      {scope !== "none" ? (
        <>
          {answer === null ? (
            scope === "pattern" && at.size === 0 ? null : (
              <p className={css.muted}>
                <Spinner label={s.rememberChecking} /> {s.rememberChecking}
              </p>
            )
          ) : (
            <Banner tone={answer.error ? "bad" : "accent"} role="status">
              {answer.error ?? (
                <span>
                  {s.rememberCovers}: <span className="verbatim">{answer.covers ?? ""}</span>
                </span>
              )}
            </Banner>
          )}
          {answer?.would ? <TemplateEffect would={answer.would} /> : null}
          <div className={css.inlineFields}>
            {scope === "template" ? (
              <Field label={s.rememberWithin}>
                <Select
                  value={within}
                  onChange={(event) => setWithin(event.target.value === "project" ? "project" : "session")}
                >
                  <option value="session">{s.rememberInSession}</option>
                  <option value="project">{s.rememberInProject}</option>
                </Select>
              </Field>
            ) : null}
            <Field label={s.rememberFor}>
              <Select value={hours} onChange={(event) => setHours(Number(event.target.value))}>
                {HOURS.map((one) => (
                  <option key={one} value={one}>
                    {s.rememberHours(one)}
                  </option>
                ))}
              </Select>
            </Field>
            <Field label={s.rememberUses}>
              <Input
                type="number"
                min={1}
                max={1000}
                value={uses}
                onChange={(event) => setUses(Math.max(1, Math.floor(Number(event.target.value) || 1)))}
              />
            </Field>
          </div>
        </>
      ) : null}
    </fieldset>
  ) : null;
  const ready = scope === "none" || (answer !== null && answer.error === null);
  return { fields, remember, ready };
}

/** The newest calls that such a grant would have let pass, as the agent wrote them. */
function TemplateEffect({ would }: { would: NonNullable<DryRun["would"]> }) {
  return (
    <div className={css.would}>
      <p className={css.muted}>{s.rememberWould(would.covered, would.looked_at)}</p>
      {would.denied > 0 ? <Banner tone="bad">{s.rememberDenied(would.denied)}</Banner> : null}
      {would.examples.map((line) => (
        <code key={line} className="verbatim">
          {line}
        </code>
      ))}
    </div>
  );
}
