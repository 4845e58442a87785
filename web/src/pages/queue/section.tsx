/** A part of a page with its title, and the server's text for one place. */
import type { ReactNode } from "react";
import type { RequestRecord } from "@/api/extra";
import { cx } from "@/lib/cx";
import css from "./detail.module.css";

export function shownText(record: RequestRecord, pointer: string): string | null {
  return record.display?.fields.find((field) => field.pointer === pointer)?.text ?? null;
}

export function Section({
  title,
  children,
  className,
}: {
  /** None if the text above says it already. */
  title: string | undefined;
  children: ReactNode;
  className?: string;
}) {
  return (
    <section className={cx(css.section, className)}>
      {title === undefined ? null : <h3>{title}</h3>}
      {children}
    </section>
  );
}
