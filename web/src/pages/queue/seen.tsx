/** Tracks what a reviewer has scrolled through. Unseen content, and content that just changed, cannot be approved. */
import {
  createContext,
  type ReactNode,
  type RefObject,
  useCallback,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { SETTLE } from "./friction";

/** Adds a viewport to the part that was seen, if there is no gap between them. Pure. */
export function cover(seen: number, top: number, bottom: number, slack = 24): number {
  return top <= seen + slack ? Math.max(seen, bottom) : seen;
}

interface Folds {
  fold(id: string): void;
  unfold(id: string): void;
}
const FoldContext = createContext<Folds | null>(null);

export interface SeenProgress {
  all: boolean;
  percent: number;
  folded: boolean;
}

/**
 * Watches a region inside a scrolling element. `key` names what is shown: when it changes, nothing of it has been
 * seen.
 */
export function useSeen(
  scroller: RefObject<HTMLElement | null>,
  region: RefObject<HTMLElement | null>,
  key: string,
): { seen: SeenProgress; folds: Folds; next(): void } {
  const [folded, setFolded] = useState<ReadonlySet<string>>(() => new Set());
  const [percent, setPercent] = useState(0);
  const until = useRef(0);

  const folds = useMemo<Folds>(
    () => ({
      fold: (id) => setFolded((all) => (all.has(id) ? all : new Set(all).add(id))),
      unfold: (id) =>
        setFolded((all) => {
          if (!all.has(id)) return all;
          const next = new Set(all);
          next.delete(id);
          return next;
        }),
    }),
    [],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new key starts the watch again
  useLayoutEffect(() => {
    const [outer, inner] = [scroller.current, region.current];
    if (!outer || !inner) return;
    until.current = 0;
    const measure = () => {
      const [frame, box] = [outer.getBoundingClientRect(), inner.getBoundingClientRect()];
      if (box.height === 0 || document.visibilityState === "hidden") return;
      const limit = Math.min(frame.bottom, window.innerHeight);
      until.current = cover(until.current, frame.top - box.top, limit - box.top);
      setPercent(
        until.current >= box.height - 2 ? 100 : Math.min(99, Math.floor((100 * until.current) / box.height)),
      );
    };
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(outer);
    sizes.observe(inner);
    outer.addEventListener("scroll", measure, { passive: true });
    document.addEventListener("visibilitychange", measure);
    return () => {
      sizes.disconnect();
      outer.removeEventListener("scroll", measure);
      document.removeEventListener("visibilitychange", measure);
    };
  }, [key, scroller, region]);

  /** Scrolls to the first part that was not seen yet. */
  const next = useCallback(() => {
    const [outer, inner] = [scroller.current, region.current];
    if (!outer || !inner) return;
    const start = inner.getBoundingClientRect().top - outer.getBoundingClientRect().top + outer.scrollTop;
    outer.scrollTo({ top: start + until.current - 48 });
  }, [scroller, region]);

  return {
    seen: { all: percent === 100 && folded.size === 0, percent, folded: folded.size > 0 },
    folds,
    next,
  };
}

export function FoldsProvider({ folds, children }: { folds: Folds; children: ReactNode }) {
  return <FoldContext.Provider value={folds}>{children}</FoldContext.Provider>;
}

/** Tells the region around it that a part is folded, so that it counts as unseen. */
export function useFold(folded: boolean): void {
  const folds = useContext(FoldContext);
  const id = useId();
  useEffect(() => {
    if (!folds || !folded) return;
    folds.fold(id);
    return () => folds.unfold(id);
  }, [folds, folded, id]);
}

/** False for a moment after the content changed. `isSettled` reads the current value. */
export function useSettled(key: string): { settled: boolean; isSettled(): boolean } {
  const [ready, setReady] = useState<string | null>(null);
  const since = useRef({ key: "", at: 0 });
  if (since.current.key !== key) since.current = { key, at: performance.now() };
  useEffect(() => {
    const timer = setTimeout(() => setReady(key), SETTLE);
    return () => clearTimeout(timer);
  }, [key]);
  const isSettled = useCallback(() => performance.now() - since.current.at >= SETTLE, []);
  return { settled: ready === key, isSettled };
}
