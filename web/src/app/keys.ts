/** Keys: single ones, sequences such as `g g`, with the modifiers that matter. */
import { useEffect, useRef } from "react";

export interface KeyPress {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

/** The name of a key press: `j`, `J` (with shift), `?`, `enter`, `mod+k`. Null for other keys. */
export function nameOf(press: KeyPress): string | null {
  if (press.altKey) return null;
  const key = press.key.length === 1 ? press.key : press.key.toLowerCase();
  if (["shift", "control", "meta", "alt", "dead"].includes(key)) return null;
  if (press.ctrlKey || press.metaKey) return `mod+${key.toLowerCase()}`;
  return key === " " ? "space" : key;
}

/** Milliseconds within which a sequence must be finished. */
export const SEQUENCE = 900;

/** Turns key presses into names of bindings. A key that begins a sequence waits for the next key. */
export function keyMachine(bindings: () => Iterable<string>): (name: string, at: number) => string | null {
  let held: string | null = null;
  let since = 0;
  return (name, at) => {
    const all = [...bindings()];
    if (held !== null && at - since <= SEQUENCE) {
      const sequence = `${held} ${name}`;
      held = null;
      if (all.includes(sequence)) return sequence;
    }
    held = null;
    if (all.includes(name)) return name;
    if (all.some((binding) => binding.startsWith(`${name} `))) {
      held = name;
      since = at;
    }
    return null;
  };
}

/** Whether the focused element takes the keys: a text field, a menu, or anything in the form of a decision. */
export function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("form[data-bar]")) return true;
  if (target.isContentEditable) return true;
  const name = target.tagName;
  if (name === "TEXTAREA" || name === "SELECT") return true;
  if (name !== "INPUT") return false;
  return !["checkbox", "radio", "button", "submit"].includes((target as HTMLInputElement).type);
}

export type Bindings = Record<string, (event: KeyboardEvent) => void>;

/**
 * Listens while mounted. `mod+…` works everywhere; plain keys do not while a text field has the focus or a dialog is
 * open (unless `inDialog`).
 */
export function useKeys(bindings: Bindings, options: { enabled?: boolean; inDialog?: boolean } = {}): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  const { enabled = true, inDialog = false } = options;
  useEffect(() => {
    if (!enabled) return;
    const machine = keyMachine(() => Object.keys(latest.current));
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented || (event.repeat === true && !/^(j|k|J|K|arrow)/i.test(event.key))) return;
      const name = nameOf(event);
      if (name === null) return;
      if (!name.startsWith("mod+")) {
        if (typing(event.target)) return;
        if (!inDialog && document.querySelector("dialog[open]")) return;
        // Enter and space on a button or link are that control's own.
        const control = event.target instanceof Element && event.target.closest("button, a, summary, input");
        if (control && (name === "enter" || name === "space")) return;
      }
      const binding = machine(name, event.timeStamp);
      if (binding === null) return;
      event.preventDefault();
      latest.current[binding]?.(event);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [enabled, inDialog]);
}

/** `⌘K` on Apple machines, `Ctrl K` elsewhere. */
export function modKey(key: string): string {
  const apple = typeof navigator !== "undefined" && /mac|iphone|ipad/i.test(navigator.platform);
  return apple ? `⌘${key}` : `Ctrl ${key}`;
}
