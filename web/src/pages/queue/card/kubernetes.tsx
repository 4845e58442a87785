/** A change to a Kubernetes cluster. */
import type { SectionOf } from "@/api/card";
import { strings } from "@/strings";
import { Badge } from "@/ui";
import detail from "../detail.module.css";
import css from "./card.module.css";
import { Leaf, Whole } from "./leaf";
import { Long } from "./long";
import { Pair, Value } from "./parts";
import { LANGUAGES } from "./tokens";

const s = strings.queue.card;
const READS = ["get", "describe", "logs", "top", "explain"];

export function Kubernetes({ section }: { section: SectionOf<"kubernetes"> }) {
  const facts = (["namespace", "cluster"] as const).flatMap((slot) => {
    const text = section[slot];
    return text == null ? [] : [{ slot, text }];
  });
  const tone = READS.includes(section.verb) ? "neutral" : section.verb === "delete" ? "bad" : "warn";
  return (
    <Whole>
      <div className={css.stack}>
        <div className={detail.httpLine}>
          <Badge tone={tone}>
            <Value slot="verb" text={section.verb} mono />
          </Badge>
          <Value slot="resource" text={section.resource} mono />
          {section.name != null ? (
            <strong>
              <Value slot="name" text={section.name} mono />
            </strong>
          ) : null}
        </div>
        {facts.length > 0 ? (
          <dl className={detail.pairs}>
            {facts.map(({ slot, text }) => (
              <Pair key={slot} name={s[slot]}>
                <Value slot={slot} text={text} mono />
              </Pair>
            ))}
          </dl>
        ) : null}
        {section.manifest ? (
          <>
            <h4 className={detail.subhead}>{s.manifest}</h4>
            <Leaf slot="manifest" block>
              <Long text={section.manifest} language={LANGUAGES.data} />
            </Leaf>
          </>
        ) : null}
      </div>
    </Whole>
  );
}
