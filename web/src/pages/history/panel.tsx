/** One request beside the list: the same view that the queue shows. */
import { useEffect, useRef } from "react";
import { useKeys } from "@/app/keys";
import { strings } from "@/strings";
import { Button, Icon } from "@/ui";
import { Detail, type DetailActions } from "../queue/detail";
import { undos } from "../queue/undo";
import css from "./panel.module.css";

const text = strings.history;

export default function RequestPanel({ id, close }: { id: string; close(): void }) {
  const box = useRef<HTMLElement>(null);
  const actions = useRef<DetailActions>(null);
  useKeys({
    a: () => actions.current?.approve(),
    d: () => actions.current?.deny(),
    A: () => actions.current?.approveAll(),
    D: () => actions.current?.denyAll(),
    e: () => actions.current?.edit(),
    r: () => actions.current?.respond(),
    s: () => actions.current?.reassign(),
    u: () => undos.undo(id),
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) close();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [close]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another request takes the focus again
  useEffect(() => box.current?.focus({ preventScroll: true }), [id]);
  return (
    <aside className={css.panel} aria-label={text.detail} tabIndex={-1} ref={box}>
      <header className={css.head}>
        <code>{id}</code>
        <a href={`/history?id=${id}`}>{text.page}</a>
        <Button look="quiet" square aria-label={text.closeDetail} onClick={close}>
          <Icon name="close" />
        </Button>
      </header>
      <div className={css.body}>
        <Detail id={id} actions={actions} />
      </div>
    </aside>
  );
}
