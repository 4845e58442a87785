/** Time left to decide; the colour warns towards the end. */
import { useEffect, useState } from "react";
import { cx } from "@/lib/cx";
import { left, now } from "@/lib/time";
import { strings } from "@/strings";
import css from "./queue.module.css";

const ticks = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

/** One clock for all: renders its users once a second. */
export function useTick(): void {
  const [, set] = useState(0);
  useEffect(() => {
    const tick = () => set((count) => count + 1);
    ticks.add(tick);
    timer ??= setInterval(() => {
      for (const one of ticks) one();
    }, 1000);
    return () => {
      ticks.delete(tick);
      if (ticks.size === 0 && timer !== null) {
        clearInterval(timer);
        timer = null;
      }
    };
  }, []);
}

export function TimeLeft({ time, long }: { time: string; long?: boolean }) {
  useTick();
  const seconds = (Date.parse(time) - now()) / 1000;
  const text = left(time);
  return (
    <span className={cx(css.timeLeft, seconds < 60 && css.timeSoon, seconds < 15 && css.timeNow)}>
      {long ? (seconds > 0 ? strings.queue.expiresIn(text) : strings.queue.expired) : text}
    </span>
  );
}
