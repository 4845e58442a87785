/** The list of the queue. It is virtual: only the rows on screen are drawn. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, type Ref, useCallback, useEffect, useImperativeHandle, useRef } from "react";
import { lineOf } from "@/api/card";
import type { Row } from "@/api/extra";
import { cx } from "@/lib/cx";
import { decidedBy } from "@/lib/decided";
import { strings } from "@/strings";
import { Badge, Icon, RiskMark } from "@/ui";
import type { GroupItem, Item } from "./model";
import { viaOf } from "./pause";
import css from "./queue.module.css";
import { TimeLeft } from "./time-left";

const s = strings.queue;
const ROW = 66;
/** A row whose sentence has two lines, and how many letters one line has room for. */
const TALL = 86;
const LINE = 36;
const HEAD = 36;

export interface ListHandle {
  /** Scrolls an item into view; false when it was there already. */
  reveal(key: string): boolean;
  focus(): void;
}

export function QueueList({
  items,
  cursor,
  checked,
  waiting,
  same,
  handle,
  onPick,
  onCheck,
  onFold,
  onHold,
}: {
  items: Item[];
  cursor: string | null;
  checked: ReadonlySet<string>;
  waiting: ReadonlySet<string>;
  same: ReadonlyMap<string, number>;
  handle: Ref<ListHandle>;
  onPick(key: string): void;
  onCheck(id: string): void;
  onFold(key: string): void;
  /** Whether a pointer is over the list. */
  onHold(held: boolean): void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => heightOf(items[index]),
    getItemKey: (index) => items[index]?.key ?? index,
    overscan: 8,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: heights differ by what stands where
  useEffect(() => virtual.measure(), [items]);

  const indexOf = useCallback((key: string) => items.findIndex((item) => item.key === key), [items]);
  useImperativeHandle(
    handle,
    () => ({
      reveal: (key) => {
        const index = indexOf(key);
        const place = index < 0 ? undefined : virtual.measurementsCache[index];
        const view = box.current;
        if (!place || !view) return false;
        if (place.start >= view.scrollTop - 1 && place.end <= view.scrollTop + view.clientHeight + 1)
          return false;
        virtual.scrollToIndex(index, { align: "auto" });
        return true;
      },
      focus: () => box.current?.focus({ preventScroll: true }),
    }),
    [indexOf, virtual],
  );

  return (
    <div
      ref={box}
      className={css.list}
      role="listbox"
      tabIndex={0}
      aria-label={s.list}
      aria-multiselectable
      aria-activedescendant={cursor !== null ? `item-${cursor}` : undefined}
      onPointerEnter={(event) => event.pointerType === "mouse" && onHold(true)}
      onPointerLeave={() => onHold(false)}
    >
      <div className={css.listInner} style={{ height: virtual.getTotalSize() }} role="presentation">
        {virtual.getVirtualItems().map((place) => {
          const item = items[place.index];
          if (!item) return null;
          const frame = {
            id: `item-${item.key}`,
            position: place.index + 1,
            size: items.length,
            top: place.start,
            height: place.size,
            current: item.key === cursor,
          };
          return item.type === "group" ? (
            <GroupHead key={item.key} group={item} {...frame} onFold={onFold} />
          ) : (
            <RowLine
              key={item.key}
              row={item.row}
              carded={item.carded}
              {...frame}
              checked={checked.has(item.key)}
              sending={waiting.has(item.key)}
              alike={item.row.same ? (same.get(item.row.same) ?? 1) : 1}
              onPick={onPick}
              onCheck={onCheck}
            />
          );
        })}
      </div>
    </div>
  );
}

interface Frame {
  id: string;
  position: number;
  size: number;
  top: number;
  height: number;
  current: boolean;
}

const GroupHead = memo(function GroupHead({
  group,
  id,
  position,
  size,
  top,
  current,
  onFold,
}: Frame & { group: GroupItem; onFold(key: string): void }) {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus
    // biome-ignore lint/a11y/useKeyWithClickEvents: the page handles keys
    <div
      id={id}
      role="option"
      aria-selected={false}
      aria-setsize={size}
      aria-posinset={position}
      className={cx(css.group, group.by === "pause" && css.card, current && css.current)}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onFold(group.key)}
    >
      <Icon name={group.folded ? "right" : "down"} size={14} />
      {group.by === "pause" ? <span>{s.pause.card(group.rows.length)}</span> : null}
      <span className={cx(css.groupName, "verbatim")}>{group.label}</span>
      <RiskMark risk={group.risk} word={false} />
      <span className={css.groupCount}>
        <span aria-hidden>{group.pending}</span>
        <span className="visually-hidden">
          {s.groupHead("", group.pending)}, {group.folded ? s.unfold : s.fold}
        </span>
      </span>
    </div>
  );
});

/** Longest sentence that fits a row of two lines. The middle of a longer one is left out. */
const MOST = 80;
const TAIL = 24;

/** A sentence begins with what is unclear and ends with the target, so both ends are kept. */
function cut(text: string): string {
  const letters = [...text];
  if (letters.length <= MOST) return text;
  return `${letters.slice(0, MOST - TAIL - 1).join("")}…${letters.slice(-TAIL).join("")}`;
}

/** How high a row is: a sentence that does not fit one line has two. */
function heightOf(item: Item | undefined): number {
  if (item?.type === "group") return HEAD;
  return item && lineOf(item.row).sentence.length > LINE ? TALL : ROW;
}

/** Who decided, for a row that is no longer pending. */
export function outcomeOf(row: Row): string {
  const word =
    row.decision && row.state !== "expired" ? strings.wordPast[row.decision] : strings.state[row.state];
  return s.decidedBy(word, row.decision ? decidedBy(row.decided_by, row.grant) : row.decided_by.join(", "));
}

const RowLine = memo(function RowLine({
  row,
  carded,
  id,
  position,
  size,
  top,
  height,
  current,
  checked,
  sending,
  alike,
  onPick,
  onCheck,
}: Frame & {
  row: Row;
  carded: boolean;
  checked: boolean;
  sending: boolean;
  alike: number;
  onPick(key: string): void;
  onCheck(id: string): void;
}) {
  const open = row.state === "pending";
  const line = lineOf(row);
  const via = viaOf(row);
  const other = via === null ? s.lineage : s.involved;
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus
    // biome-ignore lint/a11y/useKeyWithClickEvents: the page handles keys
    <div
      id={id}
      role="option"
      aria-selected={checked}
      aria-setsize={size}
      aria-posinset={position}
      data-id={row.id}
      data-state={row.state}
      className={cx(
        css.row,
        css[row.risk],
        carded && css.carded,
        current && css.current,
        (!open || sending) && css.dim,
      )}
      style={{ transform: `translateY(${top}px)`, height }}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) onCheck(row.id);
        else onPick(row.id);
      }}
    >
      <span
        className={cx(css.tick, checked && css.ticked)}
        aria-hidden
        onClick={(event) => {
          event.stopPropagation();
          if (open) onCheck(row.id);
        }}
      >
        <span>{checked ? <Icon name="check" size={12} /> : null}</span>
      </span>
      <span className={css.rowMain}>
        <span className={cx(css.rowEffect, "verbatim")} title={line.sentence}>
          {cut(line.sentence)}
        </span>
        <span className={css.rowMeta}>
          <RiskMark risk={row.risk} word={false} />
          <span className={cx(css.clip, "verbatim")}>{row.agent}</span>
          {via !== null ? (
            <span className={cx(css.clip, css.via, "verbatim")} title={s.viaTitle(via)}>
              <span className="visually-hidden">{s.via} </span>
              {via}
            </span>
          ) : null}
          {row.tool ? (
            <code className={cx(css.clip, "verbatim")}>{row.tool}</code>
          ) : (
            <span>{strings.kind[row.kind]}</span>
          )}
          {row.lineage.length > 0 ? (
            <span className={css.dot} title={other}>
              <span className="visually-hidden">{other}</span>
            </span>
          ) : null}
          {alike > 1 && open ? <Badge title={s.sameTitle(alike)}>{s.same(alike)}</Badge> : null}
          {line.hidden > 0 && open ? (
            <span className={css.more} title={s.moreTitle(line.hidden)}>
              <span aria-hidden>+{line.hidden}</span>
              <span className="visually-hidden">{s.moreTitle(line.hidden)}</span>
            </span>
          ) : null}
          {row.warnings > 0 && open ? <Badge tone="warn">{s.warnings(row.warnings)}</Badge> : null}
          {row.needs_step_up && open ? <Icon name="key" size={13} /> : null}
        </span>
      </span>
      <span className={css.rowSide}>
        {open ? (
          <>
            <TimeLeft time={row.expires_at} />
            {row.votes.need > 1 ? (
              <span className={css.votes} title={s.votes(row.votes.have, row.votes.need)}>
                {row.votes.have}/{row.votes.need}
              </span>
            ) : null}
          </>
        ) : (
          <span className={css.outcome}>{outcomeOf(row)}</span>
        )}
      </span>
    </div>
  );
});
