/** The plots themselves; loaded with the chart library when the page is first opened. */
import { type ComponentProps, type ReactNode, useMemo } from "react";
import type { Stats } from "@/api/extra";
import { exact, span } from "@/lib/time";
import { strings } from "@/strings";
import { Table } from "@/ui";
import { Parts } from "../shared/attention";
import { visible } from "../shared/visible";
import Plot from "./chart";
import css from "./insights.module.css";
import { kindName, Panel, Reviewers, useChoice } from "./parts";
import { decisions, depth, heat, SHARES, shares, times, WORDS } from "./plots";

const text = strings.insights;

type Figures<T> = [head: string, cell: (item: T) => ReactNode];

/** A plot, and the same figures as a table. */
function Plotted<T>({
  title,
  about,
  build,
  height,
  items,
  rowKey,
  first,
  figures,
  empty = false,
  controls,
  wide,
}: {
  title: string;
  about: string;
  build: ComponentProps<typeof Plot>["build"];
  height: number;
  items: T[];
  rowKey(item: T): string;
  /** The head and the cells of the first column. */
  first: Figures<T>;
  figures: Figures<T>[];
  /** There is nothing to draw yet. */
  empty?: boolean;
  controls?: ReactNode;
  wide?: boolean;
}) {
  return (
    <Panel title={title} about={about} controls={controls} wide={wide}>
      {empty ? (
        <p className={css.noData}>{text.noData}</p>
      ) : (
        <Plot
          build={build}
          label={about}
          height={height}
          table={
            <Table
              label={title}
              items={items}
              rowKey={rowKey}
              columns={[first, ...figures].map(([head, cell], at) => ({
                key: head,
                head,
                cell,
                number: at > 0,
              }))}
            />
          }
        />
      )}
    </Panel>
  );
}

function Depth({ stats, days }: { stats: Stats; days: number }) {
  const build = useMemo(() => depth(stats, days), [stats, days]);
  return (
    <Plotted
      title={text.depth}
      about={text.depthText}
      wide
      build={build}
      height={280}
      items={stats.depth}
      rowKey={(point) => point.at}
      first={[text.at, (point) => exact(point.at)]}
      figures={[
        [text.depthPending, (point) => point.pending],
        [text.oldest, ({ oldest_age_seconds: age }) => (age === null ? "–" : span(age))],
      ]}
    />
  );
}

function Times({ stats }: { stats: Stats }) {
  const [by, tabs] = useChoice(
    [
      { id: "by_tool", label: text.byTool },
      { id: "by_agent", label: text.byAgent },
      { id: "by_reviewer", label: text.byReviewer },
    ],
    text.time,
  );
  const items = useMemo(
    () => stats.time_to_decision[by].map((each) => ({ ...each, name: visible(each.name) })),
    [stats, by],
  );
  const build = useMemo(() => times(items), [items]);
  return (
    <Plotted
      title={text.time}
      about={text.timeText}
      controls={tabs}
      empty={items.length === 0}
      build={build}
      height={Math.max(180, 70 + items.length * 34)}
      items={items}
      rowKey={(item) => item.name}
      first={[text.name, (item) => item.name]}
      figures={[
        [text.count, (item) => item.count.toLocaleString()],
        ["p50", (item) => span(item.p50)],
        ["p90", (item) => span(item.p90)],
      ]}
    />
  );
}

function Decisions({ stats }: { stats: Stats }) {
  const [by, tabs] = useChoice(
    [
      { id: "by_tool", label: text.byTool },
      { id: "by_kind", label: text.byKind },
    ],
    text.decisions,
  );
  const items = useMemo(
    () =>
      stats.decisions[by].map((each) => ({
        ...each,
        name: by === "by_kind" ? kindName(each) : visible(each.name),
      })),
    [stats, by],
  );
  const build = useMemo(() => decisions(items, (item) => item.name), [items]);
  return (
    <Plotted
      title={text.decisions}
      about={text.decisionsText}
      controls={tabs}
      empty={items.length === 0}
      build={build}
      height={Math.max(180, 80 + items.length * 30)}
      items={items}
      rowKey={(item) => item.name}
      first={[text.name, (item) => item.name]}
      figures={WORDS.map((word) => [
        text.words[word],
        (item: (typeof items)[number]) => item[word].toLocaleString(),
      ])}
    />
  );
}

function Shares({ stats }: { stats: Stats }) {
  const build = useMemo(() => shares(stats), [stats]);
  const total = SHARES.reduce((sum, name) => sum + stats.decided_by[name], 0);
  return (
    <Plotted
      title={text.shares}
      about={text.sharesText}
      empty={total === 0}
      build={build}
      height={220}
      items={[...SHARES]}
      rowKey={(name) => name}
      first={[text.outcome, (name) => text.share[name]]}
      figures={[
        [text.total, (name) => stats.decided_by[name].toLocaleString()],
        ["%", (name) => `${Math.round((100 * stats.decided_by[name]) / total)} %`],
      ]}
    />
  );
}

function Heat({ stats }: { stats: Stats }) {
  const build = useMemo(() => heat(stats), [stats]);
  return (
    <Plotted
      title={text.heat}
      about={text.heatText}
      build={build}
      height={240}
      items={stats.heat.map((hours, at) => ({ hours, name: text.weekdays[at] ?? "" }))}
      rowKey={(item) => item.name}
      first={["", (item) => item.name]}
      figures={Array.from({ length: 24 }, (_, at) => [
        String(at),
        (item: { hours: number[] }) => item.hours[at] ?? 0,
      ])}
    />
  );
}

export default function Panels({ stats, days }: { stats: Stats; days: number }) {
  return (
    <div className={css.grid}>
      <Panel title={strings.attention.title} about={strings.attention.about} wide>
        <Parts attention={stats.attention} />
      </Panel>
      <Depth stats={stats} days={days} />
      <Times stats={stats} />
      <Decisions stats={stats} />
      <Shares stats={stats} />
      <Heat stats={stats} />
      <Panel title={text.reviewers} about={text.reviewersText} wide>
        <Reviewers stats={stats} />
      </Panel>
    </div>
  );
}
