// biome-ignore-all lint/a11y/useFocusableInteractive: rows of a table only sort and read; what acts is a link or button inside
/** A table of any length: only what is on screen is drawn. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useRef } from "react";
import { cx } from "@/lib/cx";
import css from "./long-table.module.css";

/** Rows of one height, and which of them are on screen. */
export function useLongList(count: number, height: number) {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 12,
  });
  return { scroller, list, shown: list.getVirtualItems() };
}

export function LongTable({
  label,
  rowCount,
  columns,
  long,
  rowClass,
  className,
  children,
}: {
  label: string;
  /** Number of rows with the head; -1 if unknown. */
  rowCount: number;
  columns: { head: string; className?: string }[];
  long: ReturnType<typeof useLongList>;
  /** Has the widths of the columns. */
  rowClass: string | undefined;
  className?: string;
  /** The row at an index, with a key. */
  children(index: number): ReactNode;
}) {
  const { scroller, list, shown } = long;
  return (
    <div role="table" aria-label={label} aria-rowcount={rowCount} className={cx(css.table, className)}>
      <div role="rowgroup" className={css.head}>
        <div role="row" className={cx(css.row, rowClass)}>
          {columns.map((column) => (
            <div key={column.head} role="columnheader" className={column.className}>
              {column.head}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" className={css.scroll} ref={scroller}>
        <div role="presentation" className={css.inner} style={{ height: list.getTotalSize() }}>
          {shown.map((item) => (
            <div
              key={item.key}
              role="presentation"
              className={css.place}
              style={{ transform: `translateY(${item.start}px)`, height: item.size }}
            >
              {children(item.index)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

/** One row; a click anywhere on it does what the link or button inside does. */
export function LongRow({
  index,
  className,
  open,
  children,
}: {
  index: number;
  className?: string;
  open?(): void;
  children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the link or button inside does the same by keyboard
    <div
      role="row"
      tabIndex={-1}
      aria-rowindex={index + 2}
      className={cx(css.row, className)}
      onClick={(event) => {
        if (event.target instanceof Element && event.target.closest("a, button")) return;
        open?.();
      }}
    >
      {children}
    </div>
  );
}
