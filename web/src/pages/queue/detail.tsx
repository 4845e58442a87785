/** One request, in a fixed order: what happens, why it waits, what the agent claims, what came before. */
import { useQuery } from "@tanstack/react-query";
import { lazy, type Ref, Suspense, useEffect, useImperativeHandle, useRef, useState } from "react";
import { cardOf } from "@/api/card";
import { ApiError } from "@/api/client";
import type { Decide, RequestRecord } from "@/api/extra";
import { useLive } from "@/api/live";
import { requestQuery, revoke } from "@/api/requests";
import { useMe } from "@/api/session";
import { drafts } from "@/lib/drafts";
import { strings } from "@/strings";
import { Banner, Button, EmptyState, ErrorState, Icon, Loading, useToast } from "@/ui";
import { refusal, useSubmit } from "./actions";
import { RespondForm } from "./answer";
import bar from "./bar.module.css";
import type { BarHandle } from "./bar-form";
import { Card } from "./card";
import { decisionOn, viewKey } from "./decision";
import css from "./detail.module.css";
import { ReassignDialog, ResolveDialog } from "./dialogs";
import { seenOf, useDraft } from "./drafts";
import { ApproveForm, DenyForm } from "./forms";
import { frictionOf } from "./friction";
import { Lineage } from "./lineage";
import { PlanSteps } from "./plan";
import { refusedApproval, refusedYes, useViewer } from "./refused";
import { Section, shownText } from "./section";
import { DecisionPart, Effect, Past, ProposalPart, Raw, ReplacedPart, Top, Why, Words } from "./sections";
import { FoldsProvider, useSeen, useSettled } from "./seen";
import { decisionsOf, draftOf, type StepDraft, unchanged } from "./steps";
import { type PauseActions, Together } from "./together";
import { undos, useDelayedDecisions } from "./undo";
import { AfterYes, Waits } from "./waits";

const EditDialog = lazy(() => import("./edit").then((module) => ({ default: module.EditDialog })));

const s = strings.queue;

/** What the keys of the page do to the request that is shown. */
export interface DetailActions {
  approve(): void;
  deny(): void;
  edit(): void;
  respond(): void;
  reassign(): void;
  /** All items of the pause that it belongs to. */
  approveAll(): void;
  denyAll(): void;
  /** Closes the form in the bar; false if none is open. */
  close(): boolean;
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
  return (
    <RequestDetail key={id} record={query.data} actions={actions} onDecided={onDecided} onBack={onBack} />
  );
}

type OpenForm = {
  type: "approve" | "deny" | "edit" | "respond" | "reassign" | "resolve";
  record: RequestRecord;
  /** Whether the options of an approval are unfolded. */
  options?: boolean;
};

/** The forms that stand in the bar, beside what they are about. */
const IN_BAR = ["approve", "deny", "respond"];

/** Dialogs whose text is kept, in the order in which they are offered again. */
const DIALOGS = ["deny", "edit", "respond", "approve"] as const;

function keptDrafts(person: string, record: RequestRecord): string[] {
  return drafts.parts(person, record.id, seenOf(record));
}

function RequestDetail({
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
  const waiting = useDelayedDecisions().find((one) => one.id === record.id);
  const scroller = useRef<HTMLDivElement>(null);
  const must = useRef<HTMLDivElement>(null);
  const view = viewKey(record);
  const { seen, folds, next } = useSeen(scroller, must, view);
  const { settled, isSettled } = useSettled(`${record.id} ${record.version}`);
  const [open, setOpen] = useState<OpenForm | null>(null);
  const form = useRef<BarHandle>(null);
  const pause = useRef<PauseActions>(null);
  const steps = record.steps ?? [];
  const [draft, setDraft] = useDraft<StepDraft[]>(record, "plan", () => draftOf(steps));
  const drafted = useRef(view);
  useEffect(() => {
    if (drafted.current === view) return;
    // A changed plan gets a new draft.
    drafted.current = view;
    setDraft(draftOf(record.steps ?? []));
    drafts.drop(record.id, "plan");
  });

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
  // Refusals of the server are shown before the person tries.
  const viewer = useViewer([record])(record);
  const refused = pending ? refusedYes(record, viewer) : null;
  const refusedAsIs = pending ? refusedApproval(record, viewer) : null;
  // What the card does not show cannot be approved.
  const card = cardOf(record);
  const hidden = card === null ? s.notShown : card.hidden > 0 ? s.card.hidden(card.hidden) : null;
  const unseen = seen.folded ? s.expandHint : seen.all ? null : s.seenHint(seen.percent);
  const noYes =
    blocked ?? refusedAsIs ?? hidden ?? unseen ?? (plan && running === 0 ? strings.queue.plan.none : null);

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
  /** Closing a dialog drops its draft. */
  const close = () => {
    if (open) drafts.drop(record.id, open.type);
    setOpen(null);
    // The keys work on, and a screen reader goes on with the request.
    scroller.current?.focus({ preventScroll: true });
  };
  const inBar = open !== null && IN_BAR.includes(open.type);
  const begun =
    open || !pending ? undefined : DIALOGS.find((part) => keptDrafts(me.name, record).includes(part));
  const guard = (): boolean => {
    if (!isSettled()) {
      toast({ text: s.settleHint, tone: "warn", milliseconds: 1500 });
      return false;
    }
    return !explain(blocked);
  };
  /** Says why something cannot be done, if there is a reason. */
  const explain = (reason: string | null): boolean => {
    if (reason) toast({ text: reason, tone: "warn", milliseconds: 2500 });
    return reason !== null;
  };
  const approve = (options = false) => {
    if (!guard() || !canApprove) return;
    if (noYes) {
      // Show the next unseen part instead. The line above the buttons says why.
      if (noYes === unseen) next();
      else explain(noYes);
      return;
    }
    const friction = frictionOf(record, "approve");
    if (friction.confirm || options) return show({ type: "approve", record, options });
    const edited = extra?.steps?.some((step) => step.decision === "edit");
    submit(record, decisionOn(record, edited ? "edit" : "approve", extra), {
      undo: true,
      label: labels.approve,
    })
      .then(done)
      .catch((error: unknown) => toast({ text: refusal(error), tone: "bad" }));
  };
  const start = (type: OpenForm["type"], allowed = true) => {
    if (!guard() || !allowed) return;
    if ((type === "edit" || type === "respond") && explain(refused)) return;
    show({ type, record });
  };
  /** Opens a form. The same form that is open already gets the focus, so nothing that was typed is lost. */
  const show = (next: OpenForm) => {
    if (open?.type === next.type) form.current?.focus();
    else setOpen(next);
  };
  const handle: DetailActions = {
    approve: () =>
      record.kind === "input" && record.proposal === null ? start("respond", can("respond")) : approve(),
    deny: () => start("deny"),
    edit: () => start("edit", can("edit") && record.kind === "action"),
    respond: () => start("respond", can("respond")),
    reassign: () => start("reassign"),
    approveAll: () => pause.current?.approveAll(),
    denyAll: () => pause.current?.denyAll(),
    close: () => {
      if (inBar) close();
      return inBar;
    },
  };
  useImperativeHandle(actions, () => handle);

  const undo = () => {
    undos.undo(record.id);
    toast({ text: s.undone, milliseconds: 2000 });
  };
  const inert = !settled || blocked !== null;
  const common = {
    current: record,
    submit,
    onDone: done,
    onClose: close,
    onRenew: () => open && setOpen({ ...open, record }),
  };
  const inForm = { ...common, unseen: noYes, handle: form };
  const noEdit = inert || refused !== null;
  const hint = pending && (canApprove || refused !== null || !reviewer) ? noYes : null;

  return (
    <article className={css.detail} aria-label={s.detail} data-id={record.id}>
      <div className={css.scroll} ref={scroller} tabIndex={0} role="region" aria-label={s.detail}>
        <div className={css.inner}>
          <Together record={record} actions={pause} onDone={() => onDecided?.(record.id)} />
          <div className={css.must} ref={must}>
            <FoldsProvider folds={folds}>
              <Top record={record} onBack={onBack} />
              <Effect record={record} />
              {record.proposal ? <ProposalPart record={record} /> : null}
              <Card
                record={record}
                steps={
                  plan
                    ? (parts) => (
                        <Section title={s.plan.steps}>
                          <PlanSteps
                            record={record}
                            draft={draft}
                            setDraft={setDraft}
                            canDecide={pending && reviewer && canApprove && refusedAsIs === null}
                            parts={parts}
                          />
                        </Section>
                      )
                    : undefined
                }
              />
              <ReplacedPart record={record} />
            </FoldsProvider>
          </div>
          {/* What the person did to the plan need not be read by them, so it is no part of what must be seen. */}
          {changedPlan ? (
            <Banner tone="accent" role="status">
              {s.plan.counts(running, steps.length)}
            </Banner>
          ) : null}
          <DecisionPart record={record} />
          <AfterYes record={record} />
          <Why record={record} />
          <Words record={record} />
          <Lineage record={record} />
          <Past record={record} />
          <Raw record={record} />
        </div>
      </div>
      {pending || inBar ? (
        <div className={css.bar} role="group" aria-label={s.decided}>
          {inBar ? (
            <>
              {open.type === "approve" ? (
                <ApproveForm
                  {...inForm}
                  record={open.record}
                  extra={extra}
                  label={labels.approve}
                  options={open.options === true}
                />
              ) : null}
              {open.type === "deny" ? (
                <DenyForm {...inForm} record={open.record} label={labels.deny} />
              ) : null}
              {open.type === "respond" ? <RespondForm {...inForm} record={open.record} /> : null}
            </>
          ) : null}
          {begun && !waiting ? (
            <p className={css.hint} role="status">
              <span>{s.begun(strings.word[begun])}</span>{" "}
              <Button size="small" aria-disabled={inert} onClick={() => start(begun)}>
                {s.goOn}
              </Button>
            </p>
          ) : null}
          <Waits record={record} />
          {hint !== null ? (
            <p className={bar.refused} role="status">
              {hint === unseen ? null : <Icon name="lock" size={15} />}
              <span>{hint}</span>
            </p>
          ) : null}
          {record.display?.code ? (
            <span className={css.codeBox}>
              <span>{s.codeLabel}</span> <b>{record.display.code}</b>
            </span>
          ) : null}
          {inBar ? null : waiting ? (
            <Button look="primary" hotkey="u" onClick={undo}>
              {s.undo}
            </Button>
          ) : (
            <>
              {record.kind === "input" && record.proposal === null && can("respond") ? (
                <Button look="primary" hotkey="r" aria-disabled={noEdit} onClick={() => start("respond")}>
                  {s.respond}
                </Button>
              ) : null}
              {canApprove ? (
                <Button
                  look="good"
                  hotkey="a"
                  aria-disabled={inert || noYes !== null}
                  title={hint ?? undefined}
                  onClick={() => approve()}
                >
                  {labels.approve}
                </Button>
              ) : null}
              <Button look="bad" hotkey="d" aria-disabled={inert} onClick={() => start("deny")}>
                {labels.deny}
              </Button>
              {can("edit") && record.kind === "action" ? (
                <Button hotkey="e" aria-disabled={noEdit} onClick={() => start("edit")}>
                  {s.edit}
                </Button>
              ) : null}
              {record.kind !== "input" && can("respond") ? (
                <Button hotkey="r" aria-disabled={noEdit} onClick={() => start("respond")}>
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
      {open?.type === "edit" ? (
        <Suspense fallback={null}>
          <EditDialog {...common} unseen={null} record={open.record} />
        </Suspense>
      ) : null}
      {open?.type === "reassign" ? (
        <ReassignDialog
          record={open.record}
          onDone={() => {
            setOpen(null);
            toast({ text: s.reassigned, tone: "good" });
          }}
          onClose={close}
        />
      ) : null}
      {open?.type === "resolve" ? (
        <ResolveDialog record={open.record} onDone={() => setOpen(null)} onClose={close} />
      ) : null}
    </article>
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
