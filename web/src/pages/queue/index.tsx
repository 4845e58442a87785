/** The queue: a list and the request that is shown, worked from the keyboard. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import type { Row } from "@/api/extra";
import { keys } from "@/api/keys";
import { useLive } from "@/api/live";
import { type QueueData, withoutDecided } from "@/api/queue";
import { useHasRole } from "@/api/session";
import { useCommands } from "@/app/commands";
import { useKeys } from "@/app/keys";
import type { QueueSearch } from "@/app/router";
import { cx } from "@/lib/cx";
import { useMedia } from "@/lib/media";
import { strings } from "@/strings";
import { Button, EmptyState, ErrorState, Loading, useToast } from "@/ui";
import { Connect } from "../connect";
import { Detail, type DetailActions } from "./detail";
import { type ListHandle, QueueList } from "./list";
import {
  anyFilter,
  arrange,
  byUrgency,
  countSame,
  first,
  holdOrder,
  type Item,
  last,
  matches,
  move,
  nextPending,
} from "./model";
import css from "./queue.module.css";
import { Toolbar } from "./toolbar";
import { undos, useDelayedDecisions } from "./undo";

const BatchDialog = lazy(() => import("./batch"));

const s = strings.queue;
const MOST = 100;
const NONE: ReadonlyMap<string, Row> = new Map();

export default function QueuePage() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const toast = useToast();
  const live = useLive();
  const search = useSearch({ from: "/queue" });
  const { data } = useQuery<QueueData>({ queryKey: keys.queue, enabled: false });
  const phone = useMedia("(max-width: 720px)");
  const rows = data?.rows ?? NONE;

  const change = useCallback(
    (next: Partial<QueueSearch>, replace = true) => {
      void navigate({ to: "/queue", search: (before) => clean({ ...before, ...next }), replace });
    },
    [navigate],
  );

  // What is listed, in order; the order holds still while a pointer is over the list.
  const [held, setHeld] = useState(false);
  const [folded, setFolded] = useState<ReadonlySet<string>>(() => new Set());
  const order = useRef<string[]>([]);
  const filters = useDeferredValue(search);
  const listed = useMemo(() => {
    const sorted = [...rows.values()].filter((row) => matches(row, filters)).sort(byUrgency);
    return held ? holdOrder(order.current, sorted) : sorted;
  }, [rows, filters, held]);
  order.current = useMemo(() => listed.map((row) => row.id), [listed]);
  const grouping = filters.group ?? "none";
  const items = useMemo<Item[]>(() => arrange(listed, grouping, folded), [listed, grouping, folded]);
  const same = useMemo(() => countSame(rows.values()), [rows]);
  const agents = useMemo(() => [...new Set([...rows.values()].map((row) => row.agent))].sort(), [rows]);
  const complete = data?.complete === true;
  const decided = rows.size - (data?.pending ?? 0);
  const shownPending = useMemo(() => listed.filter((row) => row.state === "pending").length, [listed]);

  // The cursor: the row whose detail is shown.
  const [cursor, setCursor] = useState<string | null>(search.r ?? null);
  useEffect(() => {
    if (search.r) setCursor(search.r);
  }, [search.r]);
  const shown = search.r ?? (phone ? null : cursor?.startsWith("req_") ? cursor : null);
  useEffect(() => {
    // On a wide screen something is always shown.
    if (phone || search.r || (cursor !== null && items.some((item) => item.key === cursor))) return;
    setCursor(first(items));
  }, [phone, search.r, cursor, items]);
  const detailId = useSlow(shown, 70);

  const list = useRef<ListHandle>(null);
  const detail = useRef<DetailActions>(null);
  const input = useRef<HTMLInputElement>(null);
  const armed = useRef<string | null>(null);
  const revealed = useRef<string | null>(null);
  useEffect(() => {
    // A request that was opened by its address is brought into view once, and kept there while the rest is loading.
    if (shown === null || revealed.current === shown || !items.some((item) => item.key === shown)) return;
    if (complete || !search.r) revealed.current = shown;
    list.current?.reveal(shown);
  }, [shown, items, complete, search.r]);

  const go = (key: string | null) => {
    if (key === null) return;
    setCursor(key);
    armed.current = null;
    list.current?.reveal(key);
    if (search.r) change({ r: key.startsWith("req_") ? key : undefined });
  };
  const pick = useCallback(
    (key: string) => {
      setCursor(key);
      armed.current = null;
      change({ r: key }, !phone);
    },
    [change, phone],
  );

  const [checked, setChecked] = useState<ReadonlySet<string>>(() => new Set());
  const check = useCallback(
    (ids: string[], on?: boolean) => {
      setChecked((all) => {
        const next = new Set(all);
        for (const id of ids) {
          if (on ?? !next.has(id)) next.add(id);
          else next.delete(id);
        }
        if (next.size > MOST) {
          toast({ text: s.selectedMost(MOST), tone: "warn" });
          return all;
        }
        return next;
      });
    },
    [toast],
  );
  const checkOne = useCallback((id: string) => check([id]), [check]);
  const chosen = useMemo(
    () => [...checked].flatMap((id) => rows.get(id) ?? []).filter((row) => row.state === "pending"),
    [checked, rows],
  );
  const [batch, setBatch] = useState<{ word: "approve" | "deny"; rows: Row[] } | null>(null);

  const reviewer = useHasRole("reviewer");
  const decideChosen = (word: "approve" | "deny") => {
    if (reviewer) setBatch({ word, rows: chosen });
    else toast({ text: s.notReviewer, tone: "warn", milliseconds: 2500 });
  };

  const fold = useCallback((key: string) => {
    setFolded((all) => {
      const next = new Set(all);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  }, []);
  const current = items.find((item) => item.key === cursor);
  const toggle = () => {
    if (current?.type === "row" && current.row.state === "pending") check([current.row.id]);
    if (current?.type === "group") {
      check(current.rows.filter((row) => row.state === "pending").map((row) => row.id));
    }
  };
  const extend = (step: 1 | -1) => {
    if (current?.type === "row" && current.row.state === "pending") check([current.row.id], true);
    const next = move(items, cursor, step);
    const item = items.find((one) => one.key === next);
    if (item?.type === "row" && item.row.state === "pending") check([item.row.id], true);
    go(next);
  };
  /** A decision on a row that is out of view first shows it; the second press decides. */
  const decide = (what: Exclude<keyof DetailActions, "close">) => {
    if (cursor === null || shown === null) return;
    // On a phone the request covers the list, so the decision is about the shown request.
    if (!phone && current && list.current?.reveal(cursor) && armed.current !== cursor) {
      armed.current = cursor;
      toast({ text: s.armed, tone: "warn", milliseconds: 2500 });
      return;
    }
    if (detailId !== shown) return;
    detail.current?.[what]();
  };
  const undo = () => {
    const id = undos.undo();
    toast({ text: id === null ? s.nothingToUndo : s.undone, milliseconds: 2000 });
    if (id !== null) go(id);
  };

  useKeys({
    j: () => go(move(items, cursor, 1)),
    arrowdown: () => go(move(items, cursor, 1)),
    k: () => go(move(items, cursor, -1)),
    arrowup: () => go(move(items, cursor, -1)),
    J: () => extend(1),
    K: () => extend(-1),
    "g g": () => go(first(items)),
    G: () => go(last(items)),
    x: toggle,
    enter: () => {
      if (current?.type === "group") fold(current.key);
      else if (cursor) pick(cursor);
    },
    a: () => (chosen.length > 0 ? decideChosen("approve") : decide("approve")),
    d: () => (chosen.length > 0 ? decideChosen("deny") : decide("deny")),
    A: () => decide("approveAll"),
    D: () => decide("denyAll"),
    e: () => decide("edit"),
    r: () => decide("respond"),
    s: () => decide("reassign"),
    u: undo,
    "/": () => input.current?.focus(),
    escape: () => {
      if (detail.current?.close()) return;
      if (checked.size > 0) setChecked(new Set());
      else if (search.r && phone) change({ r: undefined });
    },
  });
  useCommands([
    { id: "q-approve", label: s.approve, group: s.detail, keys: "a", run: () => decide("approve") },
    { id: "q-deny", label: s.deny, group: s.detail, keys: "d", run: () => decide("deny") },
    {
      id: "q-approve-all",
      label: s.pause.approve,
      group: s.detail,
      keys: "A",
      run: () => decide("approveAll"),
    },
    { id: "q-deny-all", label: s.pause.deny, group: s.detail, keys: "D", run: () => decide("denyAll") },
    { id: "q-edit", label: s.edit, group: s.detail, keys: "e", run: () => decide("edit") },
    { id: "q-reassign", label: s.reassign, group: s.detail, keys: "s", run: () => decide("reassign") },
    { id: "q-undo", label: s.undo, group: s.detail, keys: "u", run: undo },
    { id: "q-none", label: s.groupNone, group: s.grouping, run: () => change({ group: undefined }) },
    { id: "q-session", label: s.groupSession, group: s.grouping, run: () => change({ group: "session" }) },
    { id: "q-same", label: s.groupSame, group: s.grouping, run: () => change({ group: "same" }) },
    { id: "q-search", label: s.search, group: s.title, keys: "/", run: () => input.current?.focus() },
  ]);

  const decidedOne = useCallback(
    (id: string) => {
      if (phone) return change({ r: undefined });
      const next = nextPending(items, id);
      if (next === null) return;
      setCursor(next);
      list.current?.reveal(next);
      if (search.r) change({ r: next });
    },
    [items, phone, change, search.r],
  );
  const nothing = items.length === 0 && data?.complete === true && !anyFilter(filters);
  const waiting = useDelayedDecisions();
  const sending = useMemo(() => new Set(waiting.map((one) => one.id)), [waiting]);

  if (!data) {
    if (live.status === "lost") return <ErrorState error={new Error(strings.live.lost)} />;
    return <Loading />;
  }
  return (
    <div className={cx(css.queue, shown !== null && css.showing)}>
      <h1 className="visually-hidden">{s.title}</h1>
      <section className={css.left} aria-label={s.title}>
        <Toolbar search={search} agents={agents} input={input} onChange={change} />
        <div className={css.status}>
          <span role="status">
            {s.shown(shownPending, data.pending)}
            {data.complete ? "" : `, ${s.loadingRest}`}
          </span>
          {decided > 0 ? (
            <Button
              look="quiet"
              size="small"
              onClick={() =>
                client.setQueryData<QueueData>(
                  keys.queue,
                  (queue) => queue && withoutDecided(queue, (row) => row.id === shown),
                )
              }
            >
              {s.clearDecided(decided)}
            </Button>
          ) : null}
        </div>
        {nothing && phone ? (
          <Connect />
        ) : items.length === 0 ? (
          <EmptyState
            icon={anyFilter(filters) ? "filter" : "check"}
            title={anyFilter(filters) ? s.emptyFiltered : s.empty}
          >
            {anyFilter(filters) ? s.emptyFilteredText : s.emptyText}
          </EmptyState>
        ) : (
          <QueueList
            items={items}
            cursor={cursor}
            checked={checked}
            waiting={sending}
            same={same}
            handle={list}
            onPick={pick}
            onCheck={checkOne}
            onFold={fold}
            onHold={setHeld}
          />
        )}
        {checked.size > 0 ? (
          <div className={css.selection} role="group" aria-label={s.selected(checked.size)}>
            <span role="status">{s.selected(chosen.length)}</span>
            {reviewer ? (
              <>
                <Button
                  size="small"
                  look="good"
                  hotkey="a"
                  disabled={chosen.length === 0}
                  onClick={() => decideChosen("approve")}
                >
                  {s.approveSelected}
                </Button>
                <Button
                  size="small"
                  look="bad"
                  hotkey="d"
                  disabled={chosen.length === 0}
                  onClick={() => decideChosen("deny")}
                >
                  {s.denySelected}
                </Button>
              </>
            ) : (
              <span>{s.notReviewer}</span>
            )}
            <Button size="small" look="quiet" hotkey="Esc" onClick={() => setChecked(new Set())}>
              {s.clearSelection}
            </Button>
          </div>
        ) : null}
      </section>
      <div className={css.right}>
        {detailId ? (
          <Detail
            key={detailId}
            id={detailId}
            actions={detail}
            onDecided={decidedOne}
            onBack={phone ? () => change({ r: undefined }) : undefined}
          />
        ) : nothing && !phone ? (
          <Connect />
        ) : (
          <EmptyState title={s.pick}>{s.pickText}</EmptyState>
        )}
      </div>
      {batch ? (
        <Suspense fallback={null}>
          <BatchDialog
            word={batch.word}
            rows={batch.rows}
            onDone={() => {
              setBatch(null);
              setChecked(new Set());
            }}
            onClose={() => setBatch(null)}
          />
        </Suspense>
      ) : null}
    </div>
  );
}

function clean(search: QueueSearch): QueueSearch {
  return Object.fromEntries(
    Object.entries(search).filter(([, value]) => value !== undefined && value !== ""),
  );
}

/** A value that follows after a short wait, so that quick changes are skipped. */
function useSlow<T>(value: T, wait: number): T {
  const [slow, setSlow] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(value), wait);
    return () => clearTimeout(timer);
  }, [value, wait]);
  return slow;
}
