/** One request, in a fixed order: what happens, why it waits, what the agent claims, what came before. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import {
  lazy,
  type ReactNode,
  type Ref,
  Suspense,
  useEffect,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
} from "react";
import { ApiError } from "@/api/client";
import type { Decide, Needs, Preview, RequestHistory, RequestRecord, Seat } from "@/api/extra";
import { useLive } from "@/api/live";
import { approversOf, effectOf } from "@/api/queue";
import { historyQuery, requestQuery, revoke } from "@/api/requests";
import { useMe } from "@/api/session";
import { cx } from "@/lib/cx";
import { ago, exact } from "@/lib/time";
import { strings } from "@/strings";
import { Badge, Banner, Button, EmptyState, ErrorState, Icon, Loading, RiskMark, useToast } from "@/ui";
import { decisionOn, happened, refusal, useSubmit, viewKey } from "./actions";
import css from "./detail.module.css";
import { ApproveDialog, DenyDialog, ReassignDialog, ResolveDialog, RespondDialog } from "./dialogs";
import { frictionOf } from "./friction";
import { PlanSteps } from "./plan";
import { Fields, Long, leftOver, PreviewBody } from "./previews";
import { seatsOf, simple } from "./seats";
import { FoldsProvider, useSeen, useSettled } from "./seen";
import { decisionsOf, draftOf, unchanged } from "./steps";
import { TimeLeft } from "./time-left";
import { undos, useWaiting } from "./undo";

const EditDialog = lazy(() => import("./edit").then((module) => ({ default: module.EditDialog })));

const s = strings.queue;

/** What the keys of the page do to the request that is shown. */
export interface DetailActions {
  approve(): void;
  deny(): void;
  edit(): void;
  respond(): void;
  reassign(): void;
}

export function Detail({
  id,
  actions,
  onDecided,
  onBack,
}: {
  id: string;
  actions?: Ref<DetailActions>;
  onDecided?(id: string): void;
  onBack?(): void;
}) {
  const query = useQuery(requestQuery(id));
  if (query.isPending) return <Loading />;
  if (query.isError) {
    const gone = query.error instanceof ApiError && query.error.status === 404;
    if (!gone) return <ErrorState error={query.error} retry={() => void query.refetch()} />;
    return (
      <EmptyState
        icon="search"
        title={s.gone}
        action={onBack ? <Button onClick={onBack}>{strings.common.back}</Button> : null}
      >
        {s.goneText}
      </EmptyState>
    );
  }
  return <Shown key={id} record={query.data} actions={actions} onDecided={onDecided} onBack={onBack} />;
}

type Open = { type: "approve" | "deny" | "edit" | "respond" | "reassign" | "resolve"; record: RequestRecord };

function Shown({
  record,
  actions,
  onDecided,
  onBack,
}: {
  record: RequestRecord;
  actions?: Ref<DetailActions>;
  onDecided?(id: string): void;
  onBack?(): void;
}) {
  const me = useMe();
  const live = useLive();
  const toast = useToast();
  const submit = useSubmit();
  const waiting = useWaiting().find((one) => one.id === record.id);
  const scroller = useRef<HTMLDivElement>(null);
  const must = useRef<HTMLDivElement>(null);
  const view = viewKey(record);
  const { seen, folds, next } = useSeen(scroller, must, view);
  const { settled, isSettled } = useSettled(`${record.id} ${record.version}`);
  const [open, setOpen] = useState<Open | null>(null);
  const steps = record.steps ?? [];
  const [draft, setDraft] = useState(() => draftOf(steps));
  // biome-ignore lint/correctness/useExhaustiveDependencies: another plan, another draft
  useEffect(() => setDraft(draftOf(record.steps ?? [])), [view]);

  const pending = record.state === "pending";
  const reviewer = me.roles.includes("reviewer");
  const offline = live.status === "lost";
  const can = (word: "approve" | "edit" | "respond") => record.allowed.includes(word);
  // A replacement on the table is approved with `approve`, also where only an answer was offered.
  const canApprove = can("approve") || record.proposal !== null;
  const plan = record.kind === "plan" && steps.length > 0 && record.proposal === null;
  const running = draft.filter((step) => step.run).length;
  const changedPlan = plan && !unchanged(steps, draft);

  /** Why nothing can be decided now; null when it can. */
  const blocked = !pending
    ? s.decided
    : !reviewer
      ? s.notReviewer
      : offline
        ? s.offlineHint
        : waiting
          ? s.waitHint
          : null;
  const unseen = seen.folded ? s.expandHint : seen.all ? null : s.seenHint(seen.percent);
  const noYes = blocked ?? unseen ?? (plan && running === 0 ? strings.queue.plan.none : null);

  const extra: Partial<Decide> | undefined = changedPlan ? { steps: decisionsOf(draft) } : undefined;
  const labels = {
    approve: record.proposal
      ? s.second
      : plan
        ? s.approvePlan(running, steps.length)
        : (shownText(record, "/confirm_label") ?? s.approve),
    deny: shownText(record, "/cancel_label") ?? s.deny,
  };

  const done = () => {
    setOpen(null);
    onDecided?.(record.id);
  };
  const guard = (): boolean => {
    if (!isSettled()) {
      toast({ text: s.settleHint, tone: "warn", milliseconds: 1500 });
      return false;
    }
    if (blocked) {
      toast({ text: blocked, tone: "warn", milliseconds: 2500 });
      return false;
    }
    return true;
  };
  const approve = (options = false) => {
    if (!guard() || !canApprove) return;
    if (noYes) {
      // Show the next part instead, until all of it was there. The line above the buttons says why.
      if (noYes === unseen) next();
      else toast({ text: noYes, tone: "warn", milliseconds: 2500 });
      return;
    }
    const friction = frictionOf(record, "approve");
    if (friction.confirm || options) return setOpen({ type: "approve", record });
    const edited = extra?.steps?.some((step) => step.decision === "edit");
    submit(record, decisionOn(record, edited ? "edit" : "approve", extra), {
      undo: true,
      label: labels.approve,
    })
      .then(done)
      .catch((error: unknown) => toast({ text: refusal(error), tone: "bad" }));
  };
  const start = (type: Open["type"], allowed = true) => {
    if (guard() && allowed) setOpen({ type, record });
  };
  const handle: DetailActions = {
    approve: () =>
      record.kind === "input" && record.proposal === null ? start("respond", can("respond")) : approve(),
    deny: () => start("deny"),
    edit: () => start("edit", can("edit") && record.kind === "action"),
    respond: () => start("respond", can("respond")),
    reassign: () => start("reassign"),
  };
  useImperativeHandle(actions, () => handle);

  const undo = () => {
    undos.undo(record.id);
    toast({ text: s.undone, milliseconds: 2000 });
  };
  const inert = !settled || blocked !== null;
  const yesLabel = noYes && pending && reviewer ? noYes : undefined;

  return (
    <article className={css.detail} aria-label={s.detail} data-id={record.id}>
      <div className={css.scroll} ref={scroller} tabIndex={0} role="region" aria-label={s.detail}>
        <div className={css.inner}>
          <div className={css.must} ref={must}>
            <FoldsProvider folds={folds}>
              <Top record={record} onBack={onBack} />
              <Effect record={record} />
              {record.proposal ? <ProposalPart record={record} /> : null}
              {record.display?.warnings?.length ? <WarningPart record={record} /> : null}
              {plan ? (
                <Section title={s.preview.plan}>
                  <PlanSteps
                    record={record}
                    draft={draft}
                    setDraft={setDraft}
                    canDecide={pending && reviewer && canApprove}
                  />
                  {changedPlan ? (
                    <Banner tone="accent" role="status">
                      {strings.queue.plan.counts(running, steps.length)}
                    </Banner>
                  ) : null}
                </Section>
              ) : (
                <PreviewPart record={record} />
              )}
            </FoldsProvider>
          </div>
          <DecisionPart record={record} />
          <Why record={record} />
          <Words record={record} />
          <Lineage record={record} />
          <Past record={record} />
          <Raw record={record} />
        </div>
      </div>
      {pending ? (
        <div className={css.bar} role="group" aria-label={s.decided}>
          {yesLabel && canApprove ? (
            <p className={css.hint} role="status">
              {yesLabel}
            </p>
          ) : null}
          {record.display?.code ? (
            <span className={css.codeBox}>
              <span>{s.codeLabel}</span> <b>{record.display.code}</b>
            </span>
          ) : null}
          {waiting ? (
            <Button look="primary" hotkey="u" onClick={undo}>
              {s.undo}
            </Button>
          ) : (
            <>
              {record.kind === "input" && record.proposal === null && can("respond") ? (
                <Button look="primary" hotkey="r" aria-disabled={inert} onClick={() => start("respond")}>
                  {s.respond}
                </Button>
              ) : null}
              {canApprove ? (
                <Button
                  look="good"
                  hotkey="a"
                  aria-disabled={inert || noYes !== null}
                  title={yesLabel}
                  onClick={() => approve()}
                >
                  {labels.approve}
                </Button>
              ) : null}
              <Button look="bad" hotkey="d" aria-disabled={inert} onClick={() => start("deny")}>
                {labels.deny}
              </Button>
              {can("edit") && record.kind === "action" ? (
                <Button hotkey="e" aria-disabled={inert} onClick={() => start("edit")}>
                  {s.edit}
                </Button>
              ) : null}
              {record.kind !== "input" && can("respond") ? (
                <Button hotkey="r" aria-disabled={inert} onClick={() => start("respond")}>
                  {s.respond}
                </Button>
              ) : null}
              <Button look="quiet" hotkey="s" aria-disabled={inert} onClick={() => start("reassign")}>
                {s.reassign}
              </Button>
              {canApprove && record.kind === "action" && !frictionOf(record, "approve").confirm ? (
                <Button look="quiet" aria-disabled={inert || noYes !== null} onClick={() => approve(true)}>
                  {s.approveWith}
                </Button>
              ) : null}
            </>
          )}
        </div>
      ) : (
        <AfterBar
          record={record}
          reviewer={reviewer}
          onResolve={() => setOpen({ type: "resolve", record })}
        />
      )}
      {open?.type === "approve" ? (
        <ApproveDialog
          record={open.record}
          current={record}
          submit={submit}
          extra={extra}
          label={labels.approve}
          options
          onDone={done}
          onClose={() => setOpen(null)}
        />
      ) : null}
      {open?.type === "deny" ? (
        <DenyDialog
          record={open.record}
          current={record}
          submit={submit}
          label={labels.deny}
          onDone={done}
          onClose={() => setOpen(null)}
        />
      ) : null}
      {open?.type === "edit" ? (
        <Suspense fallback={null}>
          <EditDialog
            record={open.record}
            current={record}
            submit={submit}
            onDone={done}
            onClose={() => setOpen(null)}
          />
        </Suspense>
      ) : null}
      {open?.type === "respond" ? (
        <RespondDialog
          record={open.record}
          current={record}
          submit={submit}
          onDone={done}
          onClose={() => setOpen(null)}
        />
      ) : null}
      {open?.type === "reassign" ? (
        <ReassignDialog
          record={open.record}
          onDone={() => {
            setOpen(null);
            toast({ text: s.reassigned, tone: "good" });
          }}
          onClose={() => setOpen(null)}
        />
      ) : null}
      {open?.type === "resolve" ? (
        <ResolveDialog record={open.record} onDone={() => setOpen(null)} onClose={() => setOpen(null)} />
      ) : null}
    </article>
  );
}

function shownText(record: RequestRecord, pointer: string): string | null {
  return record.display?.fields.find((field) => field.pointer === pointer)?.text ?? null;
}

/** The text of a quoted value, without its quotes. */
function bare(text: string): string {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}

function Section({ title, children, className }: { title: string; children: ReactNode; className?: string }) {
  return (
    <section className={cx(css.section, className)}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Top({ record, onBack }: { record: RequestRecord; onBack?: () => void }) {
  return (
    <div className={css.top}>
      {onBack ? (
        <Button look="quiet" size="small" square aria-label={strings.common.back} onClick={onBack}>
          <Icon name="back" />
        </Button>
      ) : null}
      <RiskMark risk={record.risk} />
      <Badge>{strings.kind[record.kind]}</Badge>
      {record.state === "pending" ? null : <StateBadge record={record} />}
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

export function StateBadge({ record }: { record: Pick<RequestRecord, "state"> }) {
  const bad = ["denied", "failed", "revoked"].includes(record.state);
  const good = ["approved", "answered", "succeeded", "claimed"].includes(record.state);
  return <Badge tone={bad ? "bad" : good ? "good" : "neutral"}>{strings.state[record.state]}</Badge>;
}

function Effect({ record }: { record: RequestRecord }) {
  return (
    <header>
      <h2 className={cx(css.effect, "verbatim")}>{effectOf(record)}</h2>
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

function previewTitle(record: RequestRecord, preview: Preview | undefined): string {
  if (record.proposal && record.kind === "action" && preview?.type === "json") return s.nowProposed;
  if (preview && preview.type !== "json") return s.preview[preview.type];
  if (record.kind === "input") return s.preview.question;
  if (record.kind === "confirmation") return s.preview.confirmation;
  return s.section.arguments;
}

/** The kind's own texts, where the server made no preview. */
function fallbackPreview(record: RequestRecord): Preview {
  if (record.kind === "input") return { type: "question", question: shownText(record, "/question") ?? "" };
  if (record.kind === "confirmation") {
    return {
      type: "confirmation",
      message: shownText(record, "/message") ?? "",
      details: shownText(record, "/details"),
    };
  }
  return { type: "json" };
}

function PreviewPart({ record }: { record: RequestRecord }) {
  const fields = record.display?.fields ?? [];
  const preview = record.display?.preview ?? fallbackPreview(record);
  const warnings = record.display?.warnings ?? [];
  const rest = preview.type === "json" || record.kind !== "action" ? [] : leftOver(fields, preview, warnings);
  const options = fields.filter((field) => field.pointer.startsWith("/input/options/"));
  const suggestion = shownText(record, "/default");
  if (fields.length === 0) return <Banner tone="warn">{s.erased}</Banner>;
  return (
    <>
      <Section title={previewTitle(record, preview)}>
        <PreviewBody preview={preview} fields={fields} warnings={warnings} />
        {options.length > 0 ? (
          <div className={css.chips}>
            {options.map((option) => (
              <Badge key={option.pointer}>
                <span className="verbatim">{option.text}</span>
              </Badge>
            ))}
          </div>
        ) : null}
        {suggestion ? (
          <p className={css.muted}>
            {s.preview.suggestion}: <span className="verbatim">{suggestion}</span>
          </p>
        ) : null}
      </Section>
      {rest.length > 0 ? (
        <Section title={record.proposal ? s.nowProposed : s.section.otherArguments}>
          <Fields fields={rest} strip="/arguments" />
        </Section>
      ) : null}
    </>
  );
}

function ProposalPart({ record }: { record: RequestRecord }) {
  const all = record.display?.fields ?? [];
  const fields = all.filter((field) => field.pointer.startsWith("/proposal/"));
  const asked = new Map(all.map((field) => [field.pointer, field.text]));
  return (
    <Section title={s.section.proposal}>
      <Banner tone="accent">
        <span>{s.proposalBy(record.proposal?.by ?? "")}</span>
      </Banner>
      <Fields
        fields={fields}
        strip="/proposal"
        mark={(field) => asked.get(field.pointer.slice("/proposal".length)) !== field.text}
      />
    </Section>
  );
}

function WarningPart({ record }: { record: RequestRecord }) {
  return (
    <Section title={s.section.warnings}>
      <ul className={css.warningList}>
        {record.display?.warnings?.map((warning, index) => (
          <li key={index} className={css.warningItem}>
            <Icon name="warning" />
            <span className="verbatim">
              {warning.text}
              {warning.pointer ? ` (${warning.pointer})` : ""}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function DecisionPart({ record }: { record: RequestRecord }) {
  const { decision, outcome } = record;
  if (!decision && record.state === "pending") return null;
  const fields = (record.display?.fields ?? []).filter((field) => field.pointer.startsWith("/decision/"));
  return (
    <Section title={s.section.decision}>
      <Banner tone={decision?.decision === "deny" ? "bad" : decision ? "good" : "neutral"}>
        <strong>{decision ? strings.wordPast[decision.decision] : strings.state[record.state]}</strong>
        <span>{happened(record)}</span>
        {decision?.reason ? <span className="verbatim">{decision.reason}</span> : null}
      </Banner>
      {fields.length > 0 ? <Fields fields={fields} strip="/decision" /> : null}
      {outcome ? (
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

function Why({ record }: { record: RequestRecord }) {
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

function Words({ record }: { record: RequestRecord }) {
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

function Lineage({ record }: { record: RequestRecord }) {
  const fields = (record.display?.fields ?? []).filter((field) => field.pointer.startsWith("/context"));
  const lineage = fields.filter((field) => /^\/context\/lineage\/\d+$/.test(field.pointer));
  const others = fields.filter((field) => !lineage.includes(field) && field.pointer !== "/context");
  if (fields.length === 0 || (lineage.length === 0 && others.length === 0)) return null;
  return (
    <Section title={s.section.lineage}>
      {lineage.length > 0 ? (
        <ol className={css.lineage}>
          {lineage.map((field) => (
            <li key={field.pointer}>
              <span className="verbatim">{bare(field.text)}</span>
            </li>
          ))}
          <li>
            <strong className="verbatim">{record.agent}</strong>
          </li>
        </ol>
      ) : null}
      {others.length > 0 ? <Fields fields={others} strip="/context" /> : null}
    </Section>
  );
}

function Past({ record }: { record: RequestRecord }) {
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
                <span>{one.by.join(", ") || s.byPolicy}</span>
                <span className={css.muted}>{one.exact ? s.similarExact : s.similarShape}</span>
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

function Raw({ record }: { record: RequestRecord }) {
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

function AfterBar({
  record,
  reviewer,
  onResolve,
}: {
  record: RequestRecord;
  reviewer: boolean;
  onResolve(): void;
}) {
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  const canRevoke = reviewer && record.state === "approved" && record.claimable;
  const canResolve = reviewer && record.state === "unknown";
  if (!canRevoke && !canResolve) return null;
  return (
    <div className={css.bar}>
      {canRevoke ? (
        <Button
          look="bad"
          disabled={busy}
          onClick={() => {
            setBusy(true);
            revoke(record.id)
              .then(() => toast({ text: s.revoked, tone: "good" }))
              .catch((error: unknown) => toast({ text: refusal(error), tone: "bad" }))
              .finally(() => setBusy(false));
          }}
        >
          {s.revoke}
        </Button>
      ) : null}
      {canResolve ? <Button onClick={onResolve}>{s.resolve}</Button> : null}
    </div>
  );
}
