/** Where a request comes from: the agents above and below, and over A2A the conversation, the task and the item. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { RequestRecord } from "@/api/extra";
import { originOf } from "@/api/origin";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import css from "./detail.module.css";
import { bare, lineageOf, type Lineage as OverA2a, proxied } from "./pause";
import { Section } from "./section";

const s = strings.queue;

export function Lineage({ record }: { record: RequestRecord }) {
  const fields = (record.display?.fields ?? []).filter((field) => field.pointer.startsWith("/context/"));
  const a2a = lineageOf(record);
  const lineage = fields.filter((field) => /^\/context\/lineage\/\d+$/.test(field.pointer));
  if (!a2a && lineage.length === 0) return null;
  const names = lineage.map((field) => bare(field.text));
  const known = a2a && proxied(record) ? [record.agent, a2a.via] : [record.agent];
  // What the doors of A2A read out of a pause are agents below the one that pauses; elsewhere an agent names those above it.
  const below = proxied(record) || a2a?.dialect === "kagent";
  const chain = below ? [...known, ...names] : [...names, ...known];
  return (
    <Section title={s.section.lineage}>
      {chain.length > 1 ? (
        <ol className={css.lineage}>
          {chain.map((name, index) => (
            <li key={index}>
              {(below ? index < known.length : index >= names.length) ? (
                <strong className="verbatim">{name}</strong>
              ) : (
                <span className="verbatim">{name}</span>
              )}
            </li>
          ))}
        </ol>
      ) : null}
      {a2a ? <Block record={record} lineage={a2a} /> : null}
    </Section>
  );
}

function Block({ record, lineage }: { record: RequestRecord; lineage: OverA2a }) {
  const { via, conversation, task, dialect, id, item, items } = lineage;
  return (
    <dl className={cx(css.pairs, css.block, css.facts)} aria-label={s.a2a.title}>
      <Fact name={s.a2a.agent}>
        <b className="verbatim">{via}</b>{" "}
        <span className={css.muted}>{originOf(record)?.desk ? s.a2a.desk : s.a2a.proxied}</span>
      </Fact>
      {conversation !== null ? (
        <Fact name={s.a2a.conversation}>
          <Link to="/queue" search={{ session: record.session }} className="verbatim">
            {conversation}
          </Link>
        </Fact>
      ) : null}
      <Word name={s.a2a.task} text={task} />
      <Word name={s.a2a.dialect} text={dialect} />
      {item !== null && items !== null ? <Fact name={s.a2a.item}>{s.a2a.itemOf(item, items)}</Fact> : null}
      <Word name={s.a2a.id} text={id} />
    </dl>
  );
}

function Word({ name, text }: { name: string; text: string | null }) {
  if (text === null) return null;
  return (
    <Fact name={name}>
      <code className="verbatim">{text}</code>
    </Fact>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={css.pair}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
