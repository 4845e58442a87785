/** Commands that the palette offers; pages add their own while they are shown. */
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react";

export interface CommandItem {
  id: string;
  label: string;
  group: string;
  keys?: string;
  run(): void;
}

type CommandSource = () => CommandItem[];
const Registry = createContext<Set<CommandSource> | null>(null);

export function CommandsProvider({ children }: { children: ReactNode }) {
  const [sources] = useState(() => new Set<CommandSource>());
  return <Registry.Provider value={sources}>{children}</Registry.Provider>;
}

/** Offers these commands in the palette while the component is mounted. */
export function useCommands(items: CommandItem[]): void {
  const registry = useContext(Registry);
  const latest = useRef(items);
  latest.current = items;
  useEffect(() => {
    if (!registry) return;
    const source = () => latest.current;
    registry.add(source);
    return () => {
      registry.delete(source);
    };
  }, [registry]);
}

/** All commands as they are now: pages first, what the shown page adds after them. */
export function useCommandList(open: boolean): CommandItem[] {
  const registry = useContext(Registry);
  return useMemo(
    () => (open && registry ? [...registry].reverse().flatMap((source) => source()) : []),
    [open, registry],
  );
}

/** How well a text fits what was typed; 0 for not at all. Every letter must occur in order. */
export function score(text: string, typed: string): number {
  const [hay, needle] = [text.toLowerCase(), typed.trim().toLowerCase()];
  if (!needle) return 1;
  const whole = hay.indexOf(needle);
  if (whole >= 0) return 100 - Math.min(whole, 50) + (whole === 0 ? 20 : 0);
  let at = 0;
  for (const letter of needle) {
    at = hay.indexOf(letter, at) + 1;
    if (at === 0) return 0;
  }
  return 10;
}
