/** One plot on a canvas, in the page's colours, with the same figures as a table for screen readers. */
import {
  ArcElement,
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  type ChartConfiguration,
  DoughnutController,
  Filler,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  PointElement,
  Tooltip,
} from "chart.js";
import { MatrixController, MatrixElement } from "chartjs-chart-matrix";
import { Flow, SankeyController } from "chartjs-chart-sankey";
import { type ReactNode, useEffect, useRef, useSyncExternalStore } from "react";
import { useTheme } from "@/app/theme";
import { strings } from "@/strings";
import css from "./chart.module.css";

Chart.register(
  ArcElement,
  BarController,
  BarElement,
  CategoryScale,
  DoughnutController,
  Filler,
  Flow,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  MatrixController,
  MatrixElement,
  PointElement,
  SankeyController,
  Tooltip,
);

const NAMES = [
  "text",
  "muted",
  "faint",
  "line",
  "surface",
  "sunken",
  "accent",
  "good",
  "bad",
  "warn",
  "risk-low",
  "risk-medium",
  "risk-high",
  "risk-critical",
  "chart-1",
  "chart-2",
  "chart-3",
  "chart-4",
  "chart-5",
  "chart-6",
] as const;
export type Palette = Record<(typeof NAMES)[number], string>;

function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(
    NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  ) as Palette;
}

const dark = () => matchMedia("(prefers-color-scheme: dark)");
function useSystemDark(): boolean {
  return useSyncExternalStore(
    (watcher) => {
      const query = dark();
      query.addEventListener("change", watcher);
      return () => query.removeEventListener("change", watcher);
    },
    () => dark().matches,
  );
}

/** A share of a colour over a ground, as numbers: canvases of older browsers know no `color-mix`. */
export function mixed(colour: string, ground: string, share: number): string {
  // The build shortens `#ffffff` to `#fff`.
  const whole = (text: string) => (text.length === 4 ? text.replace(/[0-9a-f]/gi, "$&$&") : text);
  const parse = (text: string) => [1, 3, 5].map((at) => Number.parseInt(whole(text).slice(at, at + 2), 16));
  const [front, back] = [parse(colour), parse(ground)];
  const part = front.map((value, at) => Math.round(value * share + (back[at] ?? 0) * (1 - share)));
  return `rgb(${part.join(" ")})`;
}

// biome-ignore lint/suspicious/noExplicitAny: the library's types for mixed chart types are too narrow to name
export type Config = ChartConfiguration<any, any, any>;

export default function Plot({
  build,
  label,
  height = 260,
  table,
}: {
  /** Makes the configuration from the colours in force. Must be stable between renders. */
  build(palette: Palette): Config;
  label: string;
  height?: number;
  table?: ReactNode;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const chart = useRef<Chart | null>(null);
  const [theme] = useTheme();
  const system = useSystemDark();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours change with the theme
  useEffect(() => {
    if (!canvas.current) return;
    const colours = palette();
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.font.size = 12;
    Chart.defaults.color = colours.muted;
    Chart.defaults.borderColor = colours.line;
    Chart.defaults.animation = false;
    Chart.defaults.maintainAspectRatio = false;
    const config = build(colours);
    config.options = {
      ...config.options,
      plugins: {
        ...config.options?.plugins,
        tooltip: {
          backgroundColor: colours.text,
          titleColor: colours.surface,
          bodyColor: colours.surface,
          padding: 8,
          cornerRadius: 6,
          boxPadding: 4,
          ...config.options?.plugins?.tooltip,
        },
      },
    };
    chart.current = new Chart(canvas.current, config);
    return () => {
      chart.current?.destroy();
      chart.current = null;
    };
  }, [build, theme, system]);
  return (
    <figure className={css.figure}>
      <div className={css.canvas} style={{ height }}>
        <canvas ref={canvas} role="img" aria-label={label} />
      </div>
      {table ? (
        <details className={css.details}>
          <summary>{strings.insights.table}</summary>
          {table}
        </details>
      ) : null}
    </figure>
  );
}
