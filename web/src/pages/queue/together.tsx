/** Requests that were asked together: a link to each, and buttons for all pending ones. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, type Ref, Suspense, useImperativeHandle, useMemo, useState } from "react";
import { lineOf } from "@/api/card";
import type { RequestRecord, Row } from "@/api/extra";
import { keys } from "@/api/keys";
import { useLive } from "@/api/live";
import { type QueueData, toRow } from "@/api/queue";
import { groupQuery } from "@/api/requests";
import { useMe } from "@/api/session";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import { Button, RiskMark } from "@/ui";
import { StateBadge } from "../shared/bits";
import css from "./detail.module.css";
import { splitBatch } from "./model";
import { hooked, pauseOf } from "./pause";
import { useDelayedDecisions } from "./undo";

const BatchDialog = lazy(() => import("./batch"));

const s = strings.queue.pause;

/** Most that one batch takes. */
const MOST = 100;

export interface PauseActions {
  approveAll(): void;
  denyAll(): void;
}

export function Together({
  record,
  actions,
  onDone,
}: {
  record: RequestRecord;
  actions?: Ref<PauseActions>;
  /** All of them were decided. */
  onDone?(): void;
}) {
  const me = useMe();
  const live = useLive();
  const waiting = useDelayedDecisions();
  // The group of a hook is a whole turn, and the server lists what waits of it.
  const turn = hooked(record);
  const { data: group } = useQuery({ ...groupQuery(record), enabled: record.group !== null && !turn });
  const { data: queue } = useQuery<QueueData>({ queryKey: keys.queue, enabled: false });
  const items = useMemo(() => {
    // A complete queue is newer than what the record said when it was read.
    const beside = queue?.complete ? [] : (record.together?.items ?? []);
    const listed = turn ? [toRow(record), ...beside] : (group ?? []);
    return pauseOf(record.id, listed, queue?.rows.values());
  }, [record, turn, group, queue]);
  const [batch, setBatch] = useState<{ word: "approve" | "deny"; rows: Row[] } | null>(null);

  const open = items.filter((row) => row.state === "pending");
  // A decision that waits to be sent can still be undone, so its request is left out.
  const free = open.filter((row) => !waiting.some((one) => one.id === row.id)).slice(0, MOST);
  const fit = splitBatch(free).together;
  const may = me.roles.includes("reviewer") && live.status !== "lost";
  const canApprove = may && fit.length > 1;
  const canDeny = may && free.length > 1;
  const start = (word: "approve" | "deny") => setBatch({ word, rows: free });
  useImperativeHandle(actions, () => ({
    approveAll: () => canApprove && start("approve"),
    denyAll: () => canDeny && start("deny"),
  }));

  if (items.length < 2) return null;
  return (
    <section className={cx(css.section, css.together)}>
      <h2>{s.title(items.length)}</h2>
      <ol className={css.items}>
        {items.map((row, index) => (
          <li key={row.id} aria-current={row.id === record.id ? "true" : undefined} className={css.item}>
            <span className={css.itemNumber}>{index + 1}</span>
            <RiskMark risk={row.risk} word={false} />
            {row.id === record.id ? (
              <span className={cx(css.itemText, "verbatim")}>{lineOf(row).sentence}</span>
            ) : (
              <Link to="/queue" search={{ r: row.id }} className={cx(css.itemText, "verbatim")}>
                {lineOf(row).sentence}
              </Link>
            )}
            {row.id === record.id ? <span className={css.itemHere}>{s.here}</span> : null}
            {row.state === "pending" ? null : <StateBadge state={row.state} />}
          </li>
        ))}
      </ol>
      {canApprove || canDeny ? (
        <div className={css.chips}>
          {canApprove ? (
            <Button look="good" size="small" hotkey="A" onClick={() => start("approve")}>
              {s.approveAll(fit.length, open.length)}
            </Button>
          ) : null}
          {canDeny ? (
            <Button look="bad" size="small" hotkey="D" onClick={() => start("deny")}>
              {s.denyAll(free.length, open.length)}
            </Button>
          ) : null}
        </div>
      ) : null}
      {may && free.length > 1 && fit.length < 2 ? <p className={css.muted}>{s.alone}</p> : null}
      {batch ? (
        <Suspense fallback={null}>
          <BatchDialog
            word={batch.word}
            rows={batch.rows}
            // A pause is answered as a whole; calls of a turn run one by one.
            whole={!turn}
            onDone={() => {
              setBatch(null);
              onDone?.();
            }}
            onClose={() => setBatch(null)}
          />
        </Suspense>
      ) : null}
    </section>
  );
}
