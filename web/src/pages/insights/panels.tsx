/** The plots themselves; loaded with the chart library when the page is first opened. */
import { useMemo } from "react";
import type { Stats } from "@/api/extra";
import { exact, span } from "@/lib/time";
import { strings } from "@/strings";
import { Table } from "@/ui";
import { visible } from "../shared/visible";
import Plot from "./chart";
import css from "./insights.module.css";
import { kindName, Panel, Reviewers, useChoice } from "./parts";
import { decisions, depth, heat, SHARES, shares, times, WORDS } from "./plots";

const text = strings.insights;

function Depth({ stats, days }: { stats: Stats; days: number }) {
  const build = useMemo(() => depth(stats, days), [stats, days]);
  return (
    <Panel title={text.depth} about={text.depthText} wide>
      <Plot
        build={build}
        label={text.depthText}
        height={280}
        table={
          <Table
            label={text.depth}
            items={stats.depth}
            rowKey={(point) => point.at}
            columns={[
              { key: "at", head: text.at, cell: (point) => exact(point.at) },
              { key: "pending", head: text.depthPending, number: true, cell: (point) => point.pending },
              {
                key: "oldest",
                head: text.oldest,
                number: true,
                cell: (point) => (point.oldest_age_seconds === null ? "–" : span(point.oldest_age_seconds)),
              },
            ]}
          />
        }
      />
    </Panel>
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
    <Panel title={text.time} about={text.timeText} controls={tabs}>
      {items.length === 0 ? (
        <p className={css.noData}>{text.noData}</p>
      ) : (
        <Plot
          build={build}
          label={text.timeText}
          height={Math.max(180, 70 + items.length * 34)}
          table={
            <Table
              label={text.time}
              items={items}
              rowKey={(item) => item.name}
              columns={[
                { key: "name", head: text.name, cell: (item) => item.name },
                { key: "count", head: text.count, number: true, cell: (item) => item.count.toLocaleString() },
                { key: "p50", head: "p50", number: true, cell: (item) => span(item.p50) },
                { key: "p90", head: "p90", number: true, cell: (item) => span(item.p90) },
              ]}
            />
          }
        />
      )}
    </Panel>
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
    <Panel title={text.decisions} about={text.decisionsText} controls={tabs}>
      {items.length === 0 ? (
        <p className={css.noData}>{text.noData}</p>
      ) : (
        <Plot
          build={build}
          label={text.decisionsText}
          height={Math.max(180, 80 + items.length * 30)}
          table={
            <Table
              label={text.decisions}
              items={items}
              rowKey={(item) => item.name}
              columns={[
                { key: "name", head: text.name, cell: (item) => item.name },
                ...WORDS.map((word) => ({
                  key: word,
                  head: text.words[word],
                  number: true,
                  cell: (item: (typeof items)[number]) => item[word].toLocaleString(),
                })),
              ]}
            />
          }
        />
      )}
    </Panel>
  );
}

function Shares({ stats }: { stats: Stats }) {
  const build = useMemo(() => shares(stats), [stats]);
  const total = SHARES.reduce((sum, name) => sum + stats.decided_by[name], 0);
  return (
    <Panel title={text.shares} about={text.sharesText}>
      {total === 0 ? (
        <p className={css.noData}>{text.noData}</p>
      ) : (
        <Plot
          build={build}
          label={text.sharesText}
          height={220}
          table={
            <Table
              label={text.shares}
              items={[...SHARES]}
              rowKey={(name) => name}
              columns={[
                { key: "name", head: text.outcome, cell: (name) => text.share[name] },
                {
                  key: "count",
                  head: text.total,
                  number: true,
                  cell: (name) => stats.decided_by[name].toLocaleString(),
                },
                {
                  key: "share",
                  head: "%",
                  number: true,
                  cell: (name) => `${Math.round((100 * stats.decided_by[name]) / total)} %`,
                },
              ]}
            />
          }
        />
      )}
    </Panel>
  );
}

function Heat({ stats }: { stats: Stats }) {
  const build = useMemo(() => heat(stats), [stats]);
  return (
    <Panel title={text.heat} about={text.heatText}>
      <Plot
        build={build}
        label={text.heatText}
        height={240}
        table={
          <Table
            label={text.heat}
            items={stats.heat.map((hours, at) => ({ hours, name: text.weekdays[at] ?? "" }))}
            rowKey={(item) => item.name}
            columns={[
              { key: "day", head: "", cell: (item) => item.name },
              ...Array.from({ length: 24 }, (_, at) => ({
                key: String(at),
                head: String(at),
                number: true,
                cell: (item: { hours: number[]; name: string }) => item.hours[at] ?? 0,
              })),
            ]}
          />
        }
      />
    </Panel>
  );
}

export default function Panels({ stats, days }: { stats: Stats; days: number }) {
  return (
    <div className={css.grid}>
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
