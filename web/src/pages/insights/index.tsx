/** Plots of everything the server counts. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { call } from "@/api/client";
import type { Risk, Stats } from "@/api/extra";
import { keys } from "@/api/keys";
import { moment, span } from "@/lib/time";
import { strings } from "@/strings";
import { EmptyState, ErrorState, Loading, Page, RiskMark, Tabs } from "@/ui";
import { Headline } from "../shared/attention";
import { Figure } from "../shared/bits";
import css from "./insights.module.css";

const text = strings.insights;
const Plots = lazy(() => import("./panels"));
const RANGES = [1, 7, 30, 90];

function KeyFigures({ stats }: { stats: Stats }) {
  const { decided_by: by, time_to_decision: time } = stats;
  const all = by.policy + by.grant + by.person + by.expiry + by.cancelled;
  const alone = all > 0 ? Math.round((100 * (by.policy + by.grant)) / all) : null;
  return (
    <Headline attention={stats.attention}>
      <Figure value={stats.now.pending.toLocaleString()} label={text.pending} />
      <Figure
        value={stats.now.oldest_age_seconds === null ? "–" : span(stats.now.oldest_age_seconds)}
        label={text.oldest}
      />
      <Figure value={time.overall.count.toLocaleString()} label={text.decided} />
      <Figure value={time.overall.count > 0 ? span(time.overall.p50) : "–"} label={text.median} />
      <Figure value={time.overall.count > 0 ? span(time.overall.p90) : "–"} label={text.p90} />
      <Figure value={alone === null ? "–" : `${alone} %`} label={text.auto} />
    </Headline>
  );
}

function ByRisk({ stats }: { stats: Stats }) {
  return (
    <ul className={css.risks} aria-label={text.risk}>
      {(["critical", "high", "medium", "low"] as Risk[]).map((risk) => (
        <li key={risk}>
          <RiskMark risk={risk} />
          <span>{stats.now.by_risk[risk].toLocaleString()}</span>
        </li>
      ))}
    </ul>
  );
}

/** The days in the address; a week unless it says otherwise. */
function useDays(): [number, (days: number) => void] {
  const search = useSearch({ strict: false }) as { days?: unknown };
  const navigate = useNavigate();
  const days = Number(search.days);
  return [
    RANGES.includes(days) ? days : 7,
    (next) =>
      void navigate({ to: "/insights", search: (next === 7 ? {} : { days: next }) as never, replace: true }),
  ];
}

export default function InsightsPage() {
  const [days, setDays] = useDays();
  const query = useQuery({
    queryKey: keys.stats(days),
    queryFn: ({ signal }) => call<Stats>("/v1/stats", { signal, query: { days } }),
    placeholderData: keepPreviousData,
    refetchInterval: 60_000,
  });
  const stats = query.data;
  const empty = useMemo(
    () =>
      stats !== undefined &&
      stats.now.pending === 0 &&
      Object.values(stats.decided_by).every((count) => count === 0),
    [stats],
  );
  return (
    <Page
      title={text.title}
      about={stats ? `${text.about} ${moment(stats.from)} – ${moment(stats.to)}.` : text.about}
      actions={
        <Tabs
          label={text.range}
          value={String(days)}
          onChange={(id) => setDays(Number(id))}
          items={RANGES.map((each) => ({ id: String(each), label: text.days(each) }))}
        />
      }
    >
      {query.isPending ? (
        <Loading />
      ) : !stats ? (
        <ErrorState error={query.error} retry={() => void query.refetch()} />
      ) : empty ? (
        <EmptyState icon="insights" title={text.empty}>
          {text.emptyText}
        </EmptyState>
      ) : (
        <>
          <KeyFigures stats={stats} />
          <p>
            <Link to="/session">{strings.attention.open}</Link>
          </p>
          <ByRisk stats={stats} />
          <Suspense fallback={<Loading />}>
            <Plots stats={stats} days={days} />
          </Suspense>
        </>
      )}
    </Page>
  );
}
