/** Pieces of the insights page. */
import { type ReactNode, useState } from "react";
import type { DecisionCounts, Kind, Stats } from "@/api/extra";
import { span } from "@/lib/time";
import { strings } from "@/strings";
import { Table, Tabs } from "@/ui";
import { visible } from "../shared/visible";
import css from "./insights.module.css";

const text = strings.insights;

/** A plot's frame: heading, a line about it, controls, the plot. */
export function Panel({
  title,
  about,
  controls,
  wide,
  children,
}: {
  title: string;
  about: string;
  controls?: ReactNode;
  wide?: boolean;
  children: ReactNode;
}) {
  return (
    <section className={wide ? css.widePanel : css.panel}>
      <header className={css.panelHead}>
        <div>
          <h2>{title}</h2>
          <p>{about}</p>
        </div>
        {controls}
      </header>
      {children}
    </section>
  );
}

export function useChoice<T extends string>(
  items: { id: T; label: string }[],
  label: string,
): [T, ReactNode] {
  const [value, setValue] = useState<T>(items[0]?.id as T);
  return [
    value,
    <Tabs key={label} items={items} value={value} onChange={(id) => setValue(id as T)} label={label} />,
  ];
}

export function kindName(item: DecisionCounts): string {
  return strings.kind[item.name as Kind] ?? item.name;
}

export function Reviewers({ stats }: { stats: Stats }) {
  return (
    <Table
      label={text.reviewers}
      items={stats.reviewers}
      rowKey={(item) => item.name}
      empty={<p className={css.noData}>{text.noData}</p>}
      columns={[
        { key: "name", head: text.reviewer, cell: (item) => visible(item.name) },
        { key: "count", head: text.count, number: true, cell: (item) => item.decisions.toLocaleString() },
        { key: "denied", head: text.denied, number: true, cell: (item) => item.denied.toLocaleString() },
        {
          key: "rate",
          head: text.denyRate,
          number: true,
          cell: (item) => {
            const rate = item.decisions > 0 ? item.denied / item.decisions : 0;
            return (
              <span className={css.rate}>
                <meter min={0} max={1} value={rate} aria-label={text.denyRate} />
                {Math.round(rate * 100)} %
              </span>
            );
          },
        },
        {
          key: "look",
          head: text.look,
          number: true,
          cell: (item) => (item.median_seconds === null ? "–" : span(item.median_seconds)),
        },
      ]}
    />
  );
}
