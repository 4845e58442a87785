/** The command palette: Cmd-K or Ctrl-K. */
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import { Dialog, Input, Kbd } from "@/ui";
import { type CommandItem, score, useCommandList } from "./commands";
import css from "./shell.module.css";

export function Palette({ open, onClose }: { open: boolean; onClose(): void }) {
  const all = useCommandList(open);
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const items = useMemo(() => {
    const id = /^\s*(req_[0-9a-z]+)\s*$/i.exec(typed)?.[1];
    const open: CommandItem[] = id
      ? [
          {
            id: "open",
            label: strings.palette.openRequest(id),
            group: strings.palette.go,
            run: () => void navigate({ to: "/queue", search: { r: id } }),
          },
        ]
      : [];
    const found = all
      .map((item) => ({
        item,
        points: score(`${item.group} ${item.label}`, typed) + score(item.label, typed),
      }))
      .filter(({ points }) => points > 0);
    if (typed.trim()) found.sort((a, b) => b.points - a.points);
    return [...open, ...found.map(({ item }) => item)].slice(0, 60);
  }, [all, typed, navigate]);
  const close = () => {
    setTyped("");
    setAt(0);
    onClose();
  };
  const run = (item: CommandItem | undefined) => {
    if (!item) return;
    close();
    // After the dialog has given the focus back.
    setTimeout(() => item.run(), 0);
  };
  const current = Math.min(at, Math.max(0, items.length - 1));
  return (
    <Dialog open={open} title={strings.palette.title} onClose={close} className={css.palette}>
      <Input
        autoFocus
        role="combobox"
        aria-expanded
        aria-controls="palette-list"
        aria-activedescendant={items[current] ? `palette-${items[current].id}` : undefined}
        aria-label={strings.palette.placeholder}
        placeholder={strings.palette.placeholder}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
          if (step !== 0) {
            event.preventDefault();
            const next = Math.max(0, Math.min(items.length - 1, current + step));
            setAt(next);
            document.getElementById(`palette-${items[next]?.id}`)?.scrollIntoView({ block: "nearest" });
          } else if (event.key === "Enter") {
            event.preventDefault();
            run(items[current]);
          }
        }}
      />
      <div id="palette-list" role="listbox" aria-label={strings.palette.title} className={css.paletteList}>
        {items.length === 0 ? <p className={css.muted}>{strings.palette.empty}</p> : null}
        {items.map((item, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the combobox
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox handles keys
          <div
            key={item.id}
            id={`palette-${item.id}`}
            role="option"
            aria-selected={index === current}
            className={cx(css.paletteItem, index === current && css.paletteOn)}
            onPointerMove={() => setAt(index)}
            onClick={() => run(item)}
          >
            <span className={css.paletteGroup}>{item.group}</span>
            <span className={css.paletteLabel}>{item.label}</span>
            {item.keys ? <Kbd>{item.keys}</Kbd> : null}
          </div>
        ))}
      </div>
    </Dialog>
  );
}
