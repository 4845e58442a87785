/** What a candidate would have done: figures, a picture, and the requests it is about, the dangerous ones first. */
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { strings } from "@/strings";
import { Badge, Banner, Loading, Table } from "@/ui";
import type { Config, Palette } from "../insights/chart";
import { Figure, Figures } from "../shared/bits";
import { visible } from "../shared/visible";
import css from "./policy.module.css";
import { type ChangedRequest, changedRequests, type Effect, flows, type Report, unnamed } from "./report";

const Plot = lazy(() => import("../insights/chart"));
const text = strings.policy;

const COLOURS: Record<string, keyof Palette> = {
  allow: "chart-2",
  confined: "chart-1",
  hold: "chart-4",
  deny: "chart-3",
  same: "chart-6",
};
const named = (node: string) => text.effect[node.split(":")[1] as Effect | "same"];

function picture(report: Report): (palette: Palette) => Config {
  const data = flows(report);
  const nodes = new Set(data.flatMap(({ from, to }) => [from, to]));
  const sums = new Map<string, number>();
  for (const { from, to, flow } of data) {
    sums.set(from, (sums.get(from) ?? 0) + flow);
    sums.set(to, (sums.get(to) ?? 0) + flow);
  }
  return (palette) => {
    const colour = (node: string) => palette[COLOURS[node.split(":")[1] ?? "same"] ?? "chart-6"];
    return {
      type: "sankey",
      data: {
        datasets: [
          {
            label: text.picture,
            data,
            colorFrom: (context: { dataset: { data: { from: string }[] }; dataIndex: number }) =>
              colour(context.dataset.data[context.dataIndex]?.from ?? ""),
            colorTo: (context: { dataset: { data: { to: string }[] }; dataIndex: number }) =>
              colour(context.dataset.data[context.dataIndex]?.to ?? ""),
            colorMode: "gradient",
            color: palette.text,
            borderWidth: 0,
            nodeWidth: 12,
            size: "max",
            labels: Object.fromEntries(
              [...nodes].map((node) => [node, `${named(node)} · ${(sums.get(node) ?? 0).toLocaleString()}`]),
            ),
          },
        ],
      },
      options: {
        plugins: {
          legend: { display: false },
          tooltip: {
            callbacks: {
              title: () => "",
              label: (item: { raw: { from: string; to: string; flow: number } }) =>
                `${named(item.raw.from)} → ${named(item.raw.to)}: ${item.raw.flow.toLocaleString()}`,
            },
          },
        },
      },
    };
  };
}

const DANGER: Record<ChangedRequest["danger"], { tone: "bad" | "warn" | "neutral"; label: string }> = {
  denied: { tone: "bad", label: text.danger },
  looser: { tone: "warn", label: text.looser },
  stricter: { tone: "neutral", label: text.stricter },
};

export function WhatIf({ report }: { report: Report }) {
  const items = useMemo(() => changedRequests(report), [report]);
  const build = useMemo(() => picture(report), [report]);
  const differ = report.changes.reduce((sum, { count }) => sum + count, 0);
  const rest = unnamed(report);
  const minutes = report.human_minutes_saved;
  return (
    <div className={css.whatIf}>
      <Figures>
        <Figure value={report.total.toLocaleString()} label={text.total} />
        <Figure value={differ.toLocaleString()} label={text.differ} />
        <Figure value={report.prompts_saved.toLocaleString()} label={text.saved_} />
        <Figure value={report.prompts_added.toLocaleString()} label={text.added} />
        <Figure
          value={minutes === null ? "–" : (Math.round(minutes * 10) / 10 || 0).toLocaleString()}
          label={text.minutes}
        />
      </Figures>
      {report.denied_now_allowed_count > 0 ? (
        <Banner tone="bad" role="alert">
          <strong>{text.saveDanger(report.denied_now_allowed_count)}</strong>
        </Banner>
      ) : null}
      {differ === 0 ? (
        <p className={css.quiet}>
          {text.whatIfEmpty} {text.alsoChanged(report.risk_changed, report.rule_changed)}
        </p>
      ) : (
        <>
          <div className={css.picture}>
            <div className={css.sides}>
              <span>{text.before}</span>
              <span>{text.after}</span>
            </div>
            <Suspense fallback={<Loading />}>
              <Plot
                build={build}
                label={text.picture}
                height={240}
                table={
                  <Table
                    label={text.picture}
                    items={flows(report)}
                    rowKey={(flow) => `${flow.from}${flow.to}`}
                    columns={[
                      { key: "from", head: text.before, cell: (flow) => named(flow.from) },
                      { key: "to", head: text.after, cell: (flow) => named(flow.to) },
                      {
                        key: "count",
                        head: text.total,
                        number: true,
                        cell: (flow) => flow.flow.toLocaleString(),
                      },
                    ]}
                  />
                }
              />
            </Suspense>
            <p className={css.quiet}>{text.alsoChanged(report.risk_changed, report.rule_changed)}</p>
          </div>
          <h3>{text.changed}</h3>
          <Table
            cards
            label={text.changed}
            items={items}
            rowKey={(item) => item.id}
            columns={[
              {
                key: "why",
                head: text.why,
                cell: (item) => <Badge tone={DANGER[item.danger].tone}>{DANGER[item.danger].label}</Badge>,
              },
              {
                key: "change",
                head: text.change,
                cell: (item) => `${text.effect[item.from]} → ${text.effect[item.to]}`,
              },
              { key: "tool", head: text.tool, cell: (item) => <code>{visible(item.tool ?? "–")}</code> },
              { key: "agent", head: text.agent, cell: (item) => visible(item.agent) },
              {
                key: "rules",
                head: text.rulesChange,
                cell: (item) => (
                  <span className={css.quiet}>
                    {visible(item.before)} → {visible(item.after)}
                  </span>
                ),
              },
              {
                key: "id",
                head: text.request,
                cell: (item) => (
                  <Link to="/history" search={{ id: item.id }}>
                    …{item.id.slice(-6)}
                  </Link>
                ),
              },
            ]}
          />
          {rest > 0 ? <p className={css.quiet}>{text.more(rest)}</p> : null}
        </>
      )}
    </div>
  );
}
