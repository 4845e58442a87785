/** A list of alike objects. */
import type { SectionOf } from "@/api/card";
import { strings } from "@/strings";
import css from "./card.module.css";
import { Leaf, Whole } from "./leaf";
import { useLong } from "./parts";

const s = strings.queue.card;
const MOST = 40;

export function Table({ section }: { section: SectionOf<"table"> }) {
  const { shown, bar } = useLong(section.rows, MOST, s.rows);
  return (
    <Whole>
      <div className={css.tableBox} tabIndex={0} role="region" aria-label={s.type.table}>
        <table className={css.table}>
          <thead>
            <tr>
              <th scope="col">#</th>
              {section.columns.map((column, index) => (
                <th key={index} scope="col" className="verbatim">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, index) => (
              <tr key={index}>
                <td className={css.rowNumber}>{index + 1}</td>
                {row.map((cell, column) => (
                  <td key={column} className={cell === null ? css.absent : undefined}>
                    {cell === null ? (
                      <span title={s.absent}>–</span>
                    ) : (
                      <Leaf slot={`${index}.${column}`}>
                        <span className="verbatim">{cell}</span>
                      </Leaf>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {bar}
    </Whole>
  );
}
