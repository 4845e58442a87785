/** The head of a step: what it does, and what the agent calls it. */
import type { ReactNode } from "react";
import type { SectionOf } from "@/api/card";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import { Badge } from "@/ui";
import detail from "../detail.module.css";
import { Leaf, Whole } from "./leaf";
import { Long } from "./long";

const s = strings.queue.plan;

export function StepHead({
  section,
  number,
  badges,
}: {
  section: SectionOf<"step">;
  number: number;
  badges?: ReactNode;
}) {
  return (
    <Whole>
      <div className={detail.stepHead}>
        <span className="visually-hidden">{s.step(number)}: </span>
        <span className={cx(detail.stepEffect, "verbatim")}>{section.sentence}</span>
        {section.optional ? <Badge>{s.optional}</Badge> : null}
        {badges}
      </div>
      <p className={detail.stepNames}>
        <Leaf slot="action">
          <code className="verbatim">{section.action}</code>
        </Leaf>
        <span>
          {s.id}{" "}
          <Leaf slot="id">
            <code className="verbatim">{section.id}</code>
          </Leaf>
        </span>
      </p>
      {section.description ? (
        <Leaf slot="description" block>
          <Long text={section.description} className={cx(detail.plainBlock, detail.letter)} />
        </Leaf>
      ) : null}
    </Whole>
  );
}
