/** A call to another server. */
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

export function Http({ section }: { section: SectionOf<"http"> }) {
  const headers = section.headers ?? [];
  const reads = section.method === "GET" || section.method === "HEAD";
  return (
    <Whole>
      <div className={css.stack}>
        <div className={detail.httpLine}>
          <Badge tone={reads ? "neutral" : "warn"}>
            <Value slot="method" text={section.method} mono />
          </Badge>
          <strong className="verbatim mono">{section.host}</strong>
        </div>
        <Leaf slot="url" block>
          <Long text={section.url} />
        </Leaf>
        {headers.length > 0 ? (
          <dl className={detail.pairs} aria-label={s.headers}>
            {headers.map(([name, value], index) => (
              <Pair key={index} name={name}>
                <Value slot={`headers.${index}`} text={value} mono />
              </Pair>
            ))}
          </dl>
        ) : null}
        {section.body ? (
          <>
            <h4 className={detail.subhead}>{s.body}</h4>
            <Leaf slot="body" block>
              <Long text={section.body} language={LANGUAGES.json} />
            </Leaf>
          </>
        ) : null}
      </div>
    </Whole>
  );
}
