/** What several sections draw: a name with its value, a plain text, texts in boxes, the bar of a fold. */
import { type ReactNode, useState } from "react";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import { Button } from "@/ui";
import css from "../detail.module.css";
import { useFold } from "../seen";
import { Leaf } from "./leaf";

export function Pair({ name, children }: { name: ReactNode; children: ReactNode }) {
  return (
    <div className={css.pair}>
      <dt className="verbatim">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A value of the section in its slot. An empty one is drawn as empty quotes. */
export function Value({ slot, text, mono }: { slot: string; text: string; mono?: boolean }) {
  return (
    <Leaf slot={slot}>
      <span className={cx("verbatim", mono && "mono")}>{text === "" ? '""' : text}</span>
    </Leaf>
  );
}

/** Several texts, each in its own box, so that two do not look like one. */
export function Several({ slot, texts }: { slot: string; texts: readonly string[] }) {
  return (
    <span className={css.several}>
      {texts.map((text, index) => (
        <span key={index}>
          <Value slot={`${slot}.${index}`} text={text} />
        </span>
      ))}
    </span>
  );
}

/** A list that is cut when it is long, and the button that shows all of it. */
export function useLong<T>(
  all: readonly T[],
  most: number,
  what: string,
): { shown: readonly T[]; bar: ReactNode } {
  const [open, setOpen] = useState(false);
  const folded = all.length > most && !open;
  useFold(folded);
  return {
    shown: folded ? all.slice(0, most) : all,
    bar: folded ? (
      <div className={css.foldBar}>
        <Button size="small" onClick={() => setOpen(true)}>
          {strings.queue.showAll(all.length, what, all.length - most)}
        </Button>
      </div>
    ) : null,
  };
}
