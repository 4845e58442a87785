/** A command line, taken apart. */
import type { SectionOf } from "@/api/card";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import { Banner } from "@/ui";
import css from "../detail.module.css";
import { Leaf, Whole } from "./leaf";
import { Long } from "./long";
import { Pair, Value } from "./parts";

const s = strings.queue.card;

export function Command({ section }: { section: SectionOf<"command"> }) {
  return (
    <>
      {section.opaque ? (
        <Banner tone="warn">
          <span>{s.opaque}</span>
          {section.why ? <span className="verbatim">{section.why}</span> : null}
        </Banner>
      ) : null}
      <Whole>
        <Leaf slot="command" block>
          <Long text={section.command} className={css.shell} />
        </Leaf>
      </Whole>
      {section.cwd || section.claimed_cwd ? (
        <dl className={css.pairs}>
          {section.cwd ? (
            <Pair name={s.cwd}>
              <Value slot="cwd" text={section.cwd} mono />
            </Pair>
          ) : null}
          {section.claimed_cwd ? (
            <Pair name={s.claimedCwd}>
              <Value slot="claimed_cwd" text={section.claimed_cwd} mono />
            </Pair>
          ) : null}
        </dl>
      ) : null}
      {section.commands.length > 0 ? (
        <ol className={css.commands} aria-label={s.commands(section.commands.length)}>
          {section.commands.map((command, index) => (
            <li key={index}>
              {command.joined ? <span className={css.joined}>{command.joined}</span> : null}
              <span className={css.words}>
                {command.words.map((word, at) => (
                  <code key={at} className={cx("verbatim", at === 0 && css.program)}>
                    {word === "" ? '""' : word}
                  </code>
                ))}
                {command.redirects.map((redirect, at) => (
                  <code key={`r${at}`} className={cx("verbatim", css.redirect)}>
                    {redirect.op} {redirect.target}
                  </code>
                ))}
              </span>
            </li>
          ))}
        </ol>
      ) : null}
    </>
  );
}
