/** A text that is folded when it is long. A folded text counts as unseen. */
import { useMemo, useState } from "react";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import { Button } from "@/ui";
import css from "../detail.module.css";
import { useFold } from "../seen";
import { broken, cutOff, lengthOf } from "./breaks";
import { Code } from "./code";
import type { Language } from "./tokens";

const s = strings.queue;

/** Longest text that is shown without a fold. */
const MOST = { lines: 24, characters: 2400 };

export function Long({
  text,
  className,
  breaks = true,
  language = null,
}: {
  text: string;
  className?: string;
  /** Whether line ends are drawn as such. A value in quotes stays on its line. */
  breaks?: boolean;
  language?: Language | null;
}) {
  const [open, setOpen] = useState(false);
  const whole = useMemo(() => (breaks ? broken(text) : text), [text, breaks]);
  const cut = useMemo(() => cutOff(whole, MOST), [whole]);
  const folded = cut !== null && !open;
  useFold(folded);
  const drawn = folded ? `${cut.head} …` : whole;
  return (
    <div className={cx(css.block, className)}>
      <pre className="verbatim">{language ? <Code text={drawn} language={language} /> : drawn}</pre>
      {folded ? (
        <div className={css.foldBar}>
          <Button size="small" onClick={() => setOpen(true)}>
            {cut.lines > 0
              ? s.showAll(whole.split("\n").length, s.lines, cut.lines)
              : s.showAll(lengthOf(whole), s.characters, cut.characters)}
          </Button>
        </div>
      ) : null}
    </div>
  );
}
