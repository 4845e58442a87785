/** The decisions that are about to be sent, with a way back; shown on every page. */
import { useEffect, useState } from "react";
import { cx } from "@/lib/cx";
import { type DelayedDecision, undos, useDelayedDecisions } from "@/pages/queue/undo";
import { strings } from "@/strings";
import { Button } from "@/ui";
import css from "./shell.module.css";

export function UndoBar() {
  const waiting = useDelayedDecisions();
  const some = waiting.length > 0;
  useEffect(() => {
    if (!some) return;
    // A closed page sends nothing: say so before it closes.
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [some]);
  // Another person's session must not send this person's decisions.
  useEffect(() => () => undos.clear(), []);
  if (!some) return null;
  return (
    <section className={css.undoBar} aria-label={strings.queue.undo} aria-live="polite">
      {waiting.slice(-3).map((one, index, all) => (
        <Line key={one.id} one={one} newest={index === all.length - 1} />
      ))}
    </section>
  );
}

function Line({ one, newest }: { one: DelayedDecision; newest: boolean }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(1, Math.ceil((one.due - now) / 1000));
  return (
    <div className={css.undoLine}>
      <span className={cx(css.undoText, "verbatim")}>{one.label}</span>
      <span className={css.undoTime} aria-hidden>
        {strings.queue.waiting(seconds)}
      </span>
      <Button size="small" hotkey={newest ? "u" : undefined} onClick={() => undos.undo(one.id)}>
        {strings.queue.undo}
      </Button>
    </div>
  );
}
