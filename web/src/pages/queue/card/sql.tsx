/** SQL statements, with what they change. */
import type { SectionOf } from "@/api/card";
import { strings } from "@/strings";
import { Badge } from "@/ui";
import css from "../detail.module.css";
import { Leaf, Whole } from "./leaf";
import { Long } from "./long";
import { LANGUAGES } from "./tokens";

const s = strings.queue.card;

export function Sql({ section }: { section: SectionOf<"sql"> }) {
  return (
    <>
      <div className={css.chips}>
        <Badge tone="accent">{section.kind}</Badge>
        {section.statements > 1 ? <Badge tone="warn">{s.sqlStatements(section.statements)}</Badge> : null}
        {section.tables.map((table, index) => (
          <Badge key={index}>
            <span className="verbatim mono">{table}</span>
          </Badge>
        ))}
        {section.where ? null : <Badge tone="bad">{s.sqlNoWhere}</Badge>}
      </div>
      <Whole>
        <Leaf slot="statement" block>
          <Long text={section.statement} language={LANGUAGES.sql} />
        </Leaf>
      </Whole>
    </>
  );
}
