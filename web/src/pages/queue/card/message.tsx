/** An e-mail or a message in a chat, as it will be read. */
import type { SectionOf } from "@/api/card";
import { strings } from "@/strings";
import detail from "../detail.module.css";
import css from "./card.module.css";
import { Leaf, Whole } from "./leaf";
import { Long } from "./long";
import { Pair, Several, Value } from "./parts";

const s = strings.queue.card;

export function Message({ section }: { section: SectionOf<"message"> }) {
  const { to, cc = [], bcc = [] } = section;
  return (
    <Whole>
      <div className={css.letter}>
        <dl className={css.letterHead}>
          <Pair name={s.to}>{to.length > 0 ? <Several slot="to" texts={to} /> : s.nobody}</Pair>
          {cc.length > 0 ? (
            <Pair name={s.cc}>
              <Several slot="cc" texts={cc} />
            </Pair>
          ) : null}
          {bcc.length > 0 ? (
            <Pair name={s.bcc}>
              <Several slot="bcc" texts={bcc} />
            </Pair>
          ) : null}
          {section.subject != null ? (
            <Pair name={s.subject}>
              <strong>
                <Value slot="subject" text={section.subject} />
              </strong>
            </Pair>
          ) : null}
        </dl>
        <Leaf slot="body" block>
          <Long text={section.body} className={`${detail.plainBlock} ${css.letterBody}`} />
        </Leaf>
      </div>
    </Whole>
  );
}
