/** Nested values as a tree that folds. What is folded counts as unseen. */
import { useMemo, useState } from "react";
import type { SectionOf } from "@/api/card";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import { Button, Icon } from "@/ui";
import detail from "../detail.module.css";
import { useFold } from "../seen";
import css from "./card.module.css";
import { endOf, folded, hasInside, inView } from "./folds";
import { Leaf, Whole } from "./leaf";
import { Long } from "./long";

const s = strings.queue.card;
/** Deeper lines are not indented further. */
const DEEPEST = 12;

export function Tree({ section }: { section: SectionOf<"tree"> }) {
  const { nodes } = section;
  const [closed, setClosed] = useState<ReadonlySet<number>>(() => folded(nodes));
  const lines = useMemo(() => inView(nodes, closed), [nodes, closed]);
  const hidden = nodes.length - lines.length;
  useFold(hidden > 0);
  const toggle = (at: number) => {
    const next = new Set(closed);
    if (!next.delete(at)) next.add(at);
    setClosed(next);
  };
  return (
    <Whole>
      <ul className={css.tree}>
        {lines.map((at) => {
          const node = nodes[at];
          if (!node) return null;
          const inside = node.text === null && hasInside(nodes, at);
          return (
            <li
              key={at}
              className={cx(css.node, css[`depth${Math.min(node.depth, DEEPEST)}`])}
              data-depth={node.depth}
            >
              {inside ? (
                <button
                  type="button"
                  className={css.twist}
                  aria-expanded={!closed.has(at)}
                  onClick={() => toggle(at)}
                >
                  <Icon name={closed.has(at) ? "right" : "down"} size={14} />
                  <span className={cx(css.key, "verbatim")}>{node.key}</span>
                  {closed.has(at) ? (
                    <span className={css.inside}>{s.inside(endOf(nodes, at) - at - 1)}</span>
                  ) : null}
                </button>
              ) : (
                <span className={cx(css.key, "verbatim")}>{node.key}</span>
              )}
              {node.text === null ? null : (
                <span className={css.value}>
                  <Leaf slot={`${at}`} block>
                    <Long text={node.text} className={detail.plainBlock} breaks={false} />
                  </Leaf>
                </span>
              )}
            </li>
          );
        })}
      </ul>
      {hidden > 0 ? (
        <div className={detail.foldBar}>
          <Button size="small" onClick={() => setClosed(new Set())}>
            {strings.queue.showAll(nodes.length, strings.queue.values, hidden)}
          </Button>
        </div>
      ) : null}
    </Whole>
  );
}
