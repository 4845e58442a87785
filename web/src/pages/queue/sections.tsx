/** The parts of a request's detail, each drawn from the record alone. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { sentenceOf } from "@/api/card";
import type { Needs, RequestHistory, RequestRecord, Seat } from "@/api/extra";
import { approversOf } from "@/api/queue";
import { historyQuery } from "@/api/requests";
import { useMe } from "@/api/session";
import { cx } from "@/lib/cx";
import { decidedBy } from "@/lib/decided";
import { ago, exact } from "@/lib/time";
import { strings } from "@/strings";
import { Badge, Banner, Button, Icon, RiskMark } from "@/ui";
import { StateBadge } from "../shared/bits";
import { Fields } from "./card/fields";
import { Long } from "./card/long";
import { bodyOf } from "./card/place";
import css from "./detail.module.css";
import { lostOf, proxied, viaOf } from "./pause";
import { seatsOf, simple } from "./seats";
import { Section, shownText } from "./section";
import { TimeLeft } from "./time-left";

const s = strings.queue;

export function Top({ record, onBack }: { record: RequestRecord; onBack?: () => void }) {
  return (
    <div className={css.top}>
      {onBack ? (
        <Button look="quiet" size="small" square aria-label={strings.common.back} onClick={onBack}>
          <Icon name="back" />
        </Button>
      ) : null}
      <RiskMark risk={record.risk} />
      <Badge>{strings.kind[record.kind]}</Badge>
      {record.state === "pending" ? null : lostOf(record) === null ? (
        <StateBadge state={record.state} />
      ) : (
        <Badge tone="bad">{s.lost}</Badge>
      )}
      <span className={css.push}>
        {record.state === "pending" ? (
          <TimeLeft time={record.expires_at} long />
        ) : (
          <span title={exact(record.created_at)}>{s.created(ago(record.created_at))}</span>
        )}
      </span>
    </div>
  );
}

export function Effect({ record }: { record: RequestRecord }) {
  return (
    <header>
      <h2 className={cx(css.effect, "verbatim")}>{sentenceOf(record)}</h2>
      <p className={css.meta}>
        <span>
          {s.agent} <b className="verbatim">{record.agent}</b>
        </span>
        {record.tool ? (
          <span>
            <code className="verbatim">{record.tool}</code>
          </span>
        ) : null}
        <span>
          {s.session}{" "}
          <Link to="/queue" search={{ session: record.session }} className="verbatim">
            {shownText(record, "/session") ?? "…"}
          </Link>
        </span>
        {record.on_behalf_of ? (
          <span>
            {s.onBehalfOf} <b className="verbatim">{record.on_behalf_of}</b>
          </span>
        ) : null}
        {record.state === "pending" ? (
          <span title={exact(record.created_at)}>{s.created(ago(record.created_at))}</span>
        ) : null}
      </p>
    </header>
  );
}

/** Who proposes something else. The card below is of the replacement. */
export function ProposalPart({ record }: { record: RequestRecord }) {
  return (
    <Section title={s.section.proposal}>
      <Banner tone="accent">
        <span>{s.proposalBy(record.proposal?.by ?? "")}</span>
      </Banner>
    </Section>
  );
}

/** What was asked for, where a replacement would run or ran instead. Values that differ are marked. */
export function ReplacedPart({ record }: { record: RequestRecord }) {
  const all = record.display?.fields ?? [];
  const base = ["/decision", "/proposal"].find((at) =>
    all.some((field) => field.pointer.startsWith(`${at}/`)),
  );
  const now = new Map(all.map((field) => [field.pointer, field.text]));
  const asked = bodyOf(all);
  if (!base || asked.length === 0) return null;
  return (
    <Section title={s.nowProposed}>
      <Fields
        fields={asked}
        strip={record.kind === "action" ? "/arguments" : ""}
        mark={(field) => now.get(`${base}${field.pointer}`) !== field.text}
      />
    </Section>
  );
}

export function DecisionPart({ record }: { record: RequestRecord }) {
  const { decision, outcome } = record;
  if (!decision && record.state === "pending") return null;
  const lost = lostOf(record);
  return (
    <Section title={s.section.decision}>
      <Banner tone={decision?.decision === "deny" ? "bad" : decision ? "good" : "neutral"}>
        <strong>{decision ? strings.wordPast[decision.decision] : strings.state[record.state]}</strong>
        {decision ? (
          <span>{s.decidedHow(decidedBy(decision.by, decision.grant), ago(decision.at))}</span>
        ) : null}
        {decision?.reason ? <span className="verbatim">{decision.reason}</span> : null}
      </Banner>
      {record.state === "cancelled" && proxied(record) ? (
        <p className={css.muted}>{s.a2a.withdrawn}</p>
      ) : null}
      {lost !== null ? (
        <Banner tone="bad">
          <strong>{s.lost}</strong>
          <span>{s.lostText(viaOf(record) ?? "", lost)}</span>
        </Banner>
      ) : outcome ? (
        <p className={css.muted}>
          {s.section.outcome}: {strings.state[outcome.status]}{" "}
          <span className="verbatim">{outcome.note ?? ""}</span>
        </p>
      ) : null}
    </Section>
  );
}

function seatText(seat: Seat): string {
  return seat.team ? s.personOf(seat.people, seat.team) : s.person(seat.people);
}

function needsText(needs: Needs): string {
  return needs.any.map((one) => one.all.map(seatText).join(" + ")).join(` ${s.anyOf} `);
}

export function Why({ record }: { record: RequestRecord }) {
  const me = useMe();
  const approvers = approversOf(record);
  const seats = simple(record.needs) ? [] : seatsOf(record.needs, approvers);
  const mine = record.needs.any
    .flatMap((one) => one.all)
    .find((seat) => seat.team === null || me.teams.includes(seat.team));
  const pending = record.state === "pending";
  return (
    <Section title={s.section.why}>
      {record.verdict.reasons.map((reason, index) => (
        <p key={index} className="verbatim">
          {reason}
        </p>
      ))}
      <dl className={css.pairs}>
        <div className={css.pair}>
          <dt>{s.rule}</dt>
          <dd>
            <code className="verbatim">{record.verdict.rule}</code>{" "}
            <span className={css.muted} title={record.verdict.policy}>
              {s.policyVersion} <code>{record.verdict.policy.replace("sha256:", "").slice(0, 10)}</code>
            </span>
          </dd>
        </div>
        <div className={css.pair}>
          <dt>{s.risk}</dt>
          <dd>
            <RiskMark risk={record.risk} />
          </dd>
        </div>
        <div className={css.pair}>
          <dt>{s.needs}</dt>
          <dd>
            {needsText(record.needs)}
            {record.needs.four_eyes ? <div className={css.muted}>{s.fourEyes}</div> : null}
            {record.needs.step_up ? <div className={css.muted}>{s.code}</div> : null}
            {record.asked.length > 0 ? (
              <div className={css.muted}>{s.asked(record.asked.join(", "))}</div>
            ) : null}
          </dd>
        </div>
        {seats.length > 0 ? (
          <div className={css.pair}>
            <dt>{s.seats}</dt>
            <dd>
              {seats.map((row, index) => (
                <div key={index} className={css.seats}>
                  {index > 0 ? <span className={css.muted}>{s.anyOf}</span> : null}
                  {row.map((seat, at) => (
                    <span key={at} className={cx(css.seat, seat.by !== null && css.seatTaken)}>
                      {seat.by === null ? s.seatFree(seat.team) : s.seatTaken(seat.by)}
                    </span>
                  ))}
                </div>
              ))}
              {pending && mine && !approvers.includes(me.name) ? (
                <div className={cx(css.muted, css.small)}>{s.youFill(mine.team)}</div>
              ) : null}
              {pending && !mine && me.session ? (
                <div className={cx(css.muted, css.small)}>{s.youFillNone}</div>
              ) : null}
            </dd>
          </div>
        ) : null}
      </dl>
    </Section>
  );
}

export function Words({ record }: { record: RequestRecord }) {
  const summary = shownText(record, "/summary");
  if (!summary) return null;
  return (
    <Section title={s.section.words}>
      <div className={css.untrusted}>
        <p className={css.tagline}>
          <Icon name="warning" size={14} />
          {s.untrusted}
        </p>
        <Long text={summary} className={cx(css.plainBlock, css.letter)} />
      </div>
    </Section>
  );
}

export function Past({ record }: { record: RequestRecord }) {
  const { data, isPending, isError } = useQuery(historyQuery(record.id));
  if (isPending) return null;
  if (isError || !data) return <p className={cx(css.muted, css.small)}>{s.historyMissing}</p>;
  return <PastBody history={data} />;
}

function PastBody({ history }: { history: RequestHistory }) {
  return (
    <>
      <Section title={s.section.similar}>
        {history.similar.length === 0 ? (
          <p className={css.muted}>{s.noSimilar}</p>
        ) : (
          <ul className={css.similar}>
            {history.similar.map((one) => (
              <li key={one.id}>
                <Badge tone={one.decision === "deny" ? "bad" : one.decision ? "good" : "neutral"}>
                  {one.decision ? strings.wordPast[one.decision] : strings.state[one.state]}
                </Badge>
                <span className={cx(css.similarWhat, "verbatim")}>{one.sentence}</span>
                {one.exact ? <Badge>{s.similarExact}</Badge> : null}
                <span className="verbatim">{one.by.join(", ")}</span>
                <span className={cx(css.muted, "verbatim")}>{one.agent}</span>
                <Link to="/queue" search={{ r: one.id }}>
                  <time dateTime={one.at} title={exact(one.at)}>
                    {ago(one.at)}
                  </time>
                </Link>
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Section title={s.section.timeline}>
        <ol className={css.timeline}>
          {history.entries.map((entry) => (
            <li key={entry.seq}>
              <span className="verbatim">{entry.text}</span>
              <time dateTime={entry.at}>{exact(entry.at)}</time>
            </li>
          ))}
        </ol>
      </Section>
    </>
  );
}

export function Raw({ record }: { record: RequestRecord }) {
  const [open, setOpen] = useState(false);
  const fields = useMemo(() => record.display?.fields ?? [], [record]);
  return (
    <details className={css.raw} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className={css.summaryHead}>{s.section.raw}</summary>
      {open ? (
        <div className={css.section}>
          <dl className={css.pairs}>
            {[
              [s.id, record.id],
              [s.version, String(record.version)],
              [s.digest, record.digest],
              [s.displayDigest, record.display?.digest ?? ""],
            ].map(([name, value]) => (
              <div key={name} className={css.pair}>
                <dt>{name}</dt>
                <dd className={css.digest}>{value}</dd>
              </div>
            ))}
          </dl>
          <Fields fields={fields} />
          <p>
            <a href={record.url}>{s.openPage}</a>
          </p>
        </div>
      ) : null}
    </details>
  );
}
