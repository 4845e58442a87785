/** Money that changes hands: how much, to whom, and every account that is named. */
import type { SectionOf } from "@/api/card";
import { strings } from "@/strings";
import detail from "../detail.module.css";
import css from "./card.module.css";
import { Whole } from "./leaf";
import { Pair, Value } from "./parts";

const s = strings.queue.card;

export function Money({ section }: { section: SectionOf<"money"> }) {
  return (
    <Whole>
      <div className={css.money}>
        <p className={css.amount}>
          <Value slot="amount" text={section.amount} />{" "}
          <span className={css.currency}>
            <Value slot="currency" text={section.currency} />
          </span>
        </p>
        <dl className={detail.pairs}>
          <Pair name={s.payee}>
            <strong>
              <Value slot="to" text={section.to} />
            </strong>
          </Pair>
          {(section.accounts ?? []).map(([name, account], index) => (
            <Pair key={index} name={name}>
              <Value slot={`accounts.${index}`} text={account} mono />
            </Pair>
          ))}
          {section.reference ? (
            <Pair name={s.reference}>
              <Value slot="reference" text={section.reference} />
            </Pair>
          ) : null}
        </dl>
      </div>
    </Whole>
  );
}
