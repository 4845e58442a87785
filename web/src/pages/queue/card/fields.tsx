/** Values with their places, folded when they are many. */
import { useState } from "react";
import type { DisplayField } from "@/api/extra";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import { Button } from "@/ui";
import css from "../detail.module.css";
import { useFold } from "../seen";
import own from "./card.module.css";
import { At } from "./leaf";
import { Long } from "./long";
import { placeOf } from "./place";

const ROWS = 80;

export function Fields({
  fields,
  strip = "",
  mark,
}: {
  fields: readonly DisplayField[];
  strip?: string;
  /** Which ones are drawn as changed. */
  mark?(field: DisplayField): boolean;
}) {
  const [open, setOpen] = useState(false);
  const folded = fields.length > ROWS && !open;
  useFold(folded);
  return (
    <div className={css.fields}>
      <dl>
        {(folded ? fields.slice(0, ROWS) : fields).map((field, index) => (
          <div
            key={`${index} ${field.pointer}`}
            className={cx(css.fieldRow, mark?.(field) && css.fieldChanged)}
          >
            <dt className="verbatim">
              {placeOf(field, strip)}
              {mark?.(field) ? ` (${strings.queue.changedMark})` : ""}
            </dt>
            <dd className={own.value}>
              <At pointers={[field.pointer]} block>
                <Long text={field.text} className={css.plainBlock} breaks={false} />
              </At>
            </dd>
          </div>
        ))}
      </dl>
      {folded ? (
        <div className={css.foldBar}>
          <Button size="small" onClick={() => setOpen(true)}>
            {strings.queue.showAll(fields.length, strings.queue.values, fields.length - ROWS)}
          </Button>
        </div>
      ) : null}
    </div>
  );
}
