/** What the plots look like, from the figures alone. */
import type { DecisionCounts, Stats } from "@/api/extra";
import { span } from "@/lib/time";
import { strings } from "@/strings";
import { type Config, mixed, type Palette } from "./chart";

const text = strings.insights;
const hour = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const both = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});

/** A point in time as an axis says it. */
export function tick(at: string, days: number): string {
  return (days <= 1 ? hour : day).format(new Date(at));
}

const bottom = {
  position: "bottom" as const,
  labels: { boxWidth: 10, boxHeight: 10, padding: 14, useBorderRadius: true, borderRadius: 3 },
};
/** Long names are cut on an axis; the whole is in the tooltip and the table. */
const cut = (name: string) => (name.length > 22 ? `${name.slice(0, 21)}…` : name);

export function depth(stats: Stats, days: number): (palette: Palette) => Config {
  return (palette) => ({
    type: "line",
    data: {
      labels: stats.depth.map((point) => both.format(new Date(point.at))),
      datasets: [
        {
          label: text.depthPending,
          data: stats.depth.map((point) => point.pending),
          borderColor: palette["chart-1"],
          backgroundColor: mixed(palette["chart-1"], palette.surface, 0.14),
          fill: true,
          borderWidth: 2,
          pointRadius: 0,
          pointHitRadius: 12,
          stepped: "before",
        },
        {
          label: text.depthOldest,
          data: stats.depth.map((point) =>
            point.oldest_age_seconds === null ? null : Math.round(point.oldest_age_seconds / 6) / 10,
          ),
          yAxisID: "minutes",
          borderColor: palette["chart-4"],
          backgroundColor: palette["chart-4"],
          borderWidth: 1.5,
          borderDash: [5, 3],
          pointRadius: 0,
          pointHitRadius: 12,
        },
      ],
    },
    options: {
      interaction: { mode: "index", intersect: false },
      plugins: { legend: bottom },
      scales: {
        x: {
          grid: { display: false },
          ticks: {
            maxRotation: 0,
            autoSkip: true,
            maxTicksLimit: 8,
            callback: (_: unknown, at: number) => {
              const point = stats.depth[at];
              return point ? tick(point.at, days) : "";
            },
          },
        },
        y: { beginAtZero: true, ticks: { precision: 0 }, title: { display: true, text: text.depthPending } },
        minutes: {
          position: "right",
          beginAtZero: true,
          grid: { display: false },
          title: { display: true, text: text.depthOldest },
        },
      },
    },
  });
}

export function times(
  items: { name: string; p50: number; p90: number; count: number }[],
): (palette: Palette) => Config {
  return (palette) => ({
    type: "bar",
    data: {
      labels: items.map((item) => item.name),
      datasets: [
        {
          label: text.p50Label,
          data: items.map((item) => item.p50),
          backgroundColor: palette["chart-1"],
          borderRadius: 3,
        },
        {
          label: text.p90Label,
          data: items.map((item) => item.p90),
          backgroundColor: mixed(palette["chart-1"], palette.surface, 0.4),
          borderRadius: 3,
        },
      ],
    },
    options: {
      indexAxis: "y",
      interaction: { mode: "index", axis: "y", intersect: false },
      plugins: {
        legend: bottom,
        tooltip: {
          callbacks: {
            label: (item: { dataset: { label?: string }; raw: unknown }) =>
              `${item.dataset.label}: ${span(Number(item.raw))}`,
          },
        },
      },
      scales: {
        x: {
          beginAtZero: true,
          ticks: { callback: (value: unknown) => span(Number(value)), maxTicksLimit: 6 },
        },
        y: {
          grid: { display: false },
          ticks: { autoSkip: false, callback: (_: unknown, at: number) => cut(items[at]?.name ?? "") },
        },
      },
    },
  });
}

export const WORDS = ["approve", "edit", "respond", "deny", "expired", "cancelled"] as const;
const COLOURS: Record<(typeof WORDS)[number], keyof Palette> = {
  approve: "chart-2",
  edit: "chart-1",
  respond: "chart-5",
  deny: "chart-3",
  expired: "chart-4",
  cancelled: "chart-6",
};

export function decisions(
  items: DecisionCounts[],
  name: (item: DecisionCounts) => string,
): (palette: Palette) => Config {
  const used = WORDS.filter((word) => items.some((item) => item[word] > 0));
  return (palette) => ({
    type: "bar",
    data: {
      labels: items.map(name),
      datasets: used.map((word) => ({
        label: text.words[word],
        data: items.map((item) => item[word]),
        backgroundColor: palette[COLOURS[word]],
        borderColor: palette.surface,
        borderWidth: { right: 1 },
        borderSkipped: false,
      })),
    },
    options: {
      indexAxis: "y",
      interaction: { mode: "index", axis: "y", intersect: false },
      plugins: { legend: bottom },
      scales: {
        x: { stacked: true, beginAtZero: true, ticks: { precision: 0 } },
        y: {
          stacked: true,
          grid: { display: false },
          ticks: {
            autoSkip: false,
            callback: (_: unknown, at: number) => cut(items[at] ? name(items[at] as DecisionCounts) : ""),
          },
        },
      },
    },
  });
}

export const SHARES = ["policy", "grant", "person", "expiry", "cancelled"] as const;

export function shares(stats: Stats): (palette: Palette) => Config {
  const total = SHARES.reduce((sum, name) => sum + stats.decided_by[name], 0);
  return (palette) => ({
    type: "doughnut",
    data: {
      labels: SHARES.map((name) => text.share[name]),
      datasets: [
        {
          data: SHARES.map((name) => stats.decided_by[name]),
          backgroundColor: [
            palette["chart-1"],
            palette["chart-5"],
            palette["chart-2"],
            palette["chart-4"],
            palette["chart-6"],
          ],
          borderColor: palette.surface,
          borderWidth: 2,
        },
      ],
    },
    options: {
      cutout: "62%",
      plugins: {
        legend: { ...bottom, position: "right" },
        tooltip: {
          callbacks: {
            label: (item: { label: string; raw: unknown }) =>
              `${item.label}: ${Number(item.raw).toLocaleString()} (${total > 0 ? Math.round((100 * Number(item.raw)) / total) : 0} %)`,
          },
        },
      },
    },
  });
}

export function heat(stats: Stats): (palette: Palette) => Config {
  const most = Math.max(1, ...stats.heat.flat());
  const data = stats.heat.flatMap((hours, weekday) =>
    hours.map((value, at) => ({ x: at, y: weekday, v: value })),
  );
  return (palette) => ({
    type: "matrix",
    data: {
      datasets: [
        {
          label: text.heat,
          data,
          backgroundColor: (context: { raw?: { v: number } }) => {
            const value = context.raw?.v ?? 0;
            if (value === 0) return palette.sunken;
            return mixed(palette["chart-1"], palette.surface, 0.15 + 0.85 * Math.sqrt(value / most));
          },
          borderWidth: 0,
          borderRadius: 3,
          width: (context: { chart: { chartArea?: { width: number } } }) =>
            Math.max(2, (context.chart.chartArea?.width ?? 0) / 24 - 2),
          height: (context: { chart: { chartArea?: { height: number } } }) =>
            Math.max(2, (context.chart.chartArea?.height ?? 0) / 7 - 2),
        },
      ],
    },
    options: {
      plugins: {
        legend: { display: false },
        tooltip: {
          callbacks: {
            title: () => "",
            label: (item: { raw: { x: number; y: number; v: number } }) =>
              `${text.weekdays[item.raw.y]} ${text.hour(item.raw.x)}: ${text.arrivals(item.raw.v)}`,
          },
        },
      },
      scales: {
        x: {
          type: "linear",
          min: -0.5,
          max: 23.5,
          grid: { display: false },
          border: { display: false },
          ticks: {
            autoSkip: false,
            maxRotation: 0,
            callback: (value: unknown) => (Number(value) % 3 === 0 ? String(value).padStart(2, "0") : ""),
          },
          afterBuildTicks: (axis: { ticks: { value: number }[] }) => {
            axis.ticks = Array.from({ length: 24 }, (_, value) => ({ value }));
          },
        },
        y: {
          type: "linear",
          min: -0.5,
          max: 6.5,
          reverse: true,
          offset: false,
          grid: { display: false },
          border: { display: false },
          ticks: { callback: (value: unknown) => text.weekdays[Number(value)] ?? "" },
          afterBuildTicks: (axis: { ticks: { value: number }[] }) => {
            axis.ticks = Array.from({ length: 7 }, (_, value) => ({ value }));
          },
        },
      },
    },
  });
}
