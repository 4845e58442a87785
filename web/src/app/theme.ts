/** Light, dark, or as the system says; remembered in this browser. */
import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";
const KEY = "placet.theme";
const watchers = new Set<() => void>();

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
}
let theme: Theme = typeof localStorage === "undefined" ? "system" : stored();

export function applyTheme(): void {
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
}

export function setTheme(next: Theme): void {
  theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
  applyTheme();
  for (const watcher of watchers) watcher();
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const value = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => theme,
  );
  return [value, setTheme];
}
