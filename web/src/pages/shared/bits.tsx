/** Small things several pages show. */
import { type ReactNode, useEffect, useState } from "react";
import type { State } from "@/api/extra";
import { ago, exact } from "@/lib/time";
import { strings } from "@/strings";
import { Badge, Button, Icon, type Tone, useToast } from "@/ui";
import css from "./shared.module.css";

const TONES: Partial<Record<State, Tone>> = {
  pending: "accent",
  approved: "good",
  answered: "good",
  succeeded: "good",
  claimed: "accent",
  denied: "bad",
  failed: "bad",
  revoked: "bad",
  unknown: "warn",
  expired: "warn",
  lapsed: "warn",
};

/** Where a request stands, as a word. */
export function StateBadge({ state }: { state: State }) {
  return <Badge tone={TONES[state]}>{strings.state[state] ?? state}</Badge>;
}

/** How long ago, with the exact time on hover and for machines. */
export function When({ time }: { time: string | null | undefined }) {
  if (!time) return <>–</>;
  return (
    <time dateTime={time} title={exact(time)} className={css.when}>
      {ago(time)}
    </time>
  );
}

/** Copies a text and says so. */
export function CopyButton({ text, label = strings.shared.copy }: { text: string; label?: string }) {
  const toast = useToast();
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 2000);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <Button
      size="small"
      onClick={async () => {
        try {
          await navigator.clipboard.writeText(text);
          setDone(true);
        } catch {
          toast({ text: strings.shared.copyFailed, tone: "warn" });
        }
      }}
    >
      <Icon name={done ? "check" : "copy"} />
      <span aria-live="polite">{done ? strings.shared.copied : label}</span>
    </Button>
  );
}

/** The beginning of a digest; the whole of it on hover. */
export function Hash({ value, length = 12 }: { value: string; length?: number }) {
  const bare = value.replace(/^sha256:/, "");
  return (
    <code className={css.hash} title={value}>
      {bare.slice(0, length)}
    </code>
  );
}

/** A part of a page with its own heading. */
export function Section({
  title,
  text,
  actions,
  children,
}: {
  title: ReactNode;
  text?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className={css.section}>
      <header className={css.sectionHead}>
        <div>
          <h2>{title}</h2>
          {text ? <p>{text}</p> : null}
        </div>
        {actions ? <div className={css.actions}>{actions}</div> : null}
      </header>
      {children}
    </section>
  );
}

/** A figure and what it is. */
export function Figure({
  value,
  label,
  tone,
}: {
  value: ReactNode;
  label: ReactNode;
  tone?: "good" | "bad" | "warn";
}) {
  return (
    <div className={css.figure}>
      <div className={tone ? css[`figure-${tone}`] : undefined}>{value}</div>
      <span>{label}</span>
    </div>
  );
}

/** A row of figures. */
export function Figures({ children }: { children: ReactNode }) {
  return <div className={css.figures}>{children}</div>;
}
