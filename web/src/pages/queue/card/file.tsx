/** A file that is handed over. */
import type { SectionOf } from "@/api/card";
import { strings } from "@/strings";
import { Icon } from "@/ui";
import css from "./card.module.css";
import { Leaf, Whole } from "./leaf";
import { Long } from "./long";
import { Value } from "./parts";
import { languageOf } from "./tokens";

const s = strings.queue.card;

export function File({ section }: { section: SectionOf<"file"> }) {
  return (
    <Whole>
      <div className={css.stack}>
        <div className={css.fileLine}>
          <Icon name="copy" />
          <strong>
            <Value slot="name" text={section.name} mono />
          </strong>
          <span className={css.caption}>
            {section.media_type != null ? <Value slot="media_type" text={section.media_type} /> : null}
            <span>{s.bytes(section.bytes)}</span>
          </span>
        </div>
        <Leaf slot="data" block>
          <Long text={section.data} language={languageOf(section.name)} />
        </Leaf>
      </div>
    </Whole>
  );
}
