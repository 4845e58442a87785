/** How often people were asked, as figures and as a table of its parts. */
import type { ReactNode } from "react";
import { type Attention, PARTS, percent, perHour } from "@/api/attention";
import { strings } from "@/strings";
import { Table } from "@/ui";
import { Figure, Figures } from "./bits";

const text = strings.attention;

/** The two headline figures, and others beside them. */
export function Headline({ attention, children }: { attention: Attention; children?: ReactNode }) {
  return (
    <Figures>
      <Figure value={perHour(attention)} label={text.perHour} />
      <Figure value={percent(attention.asked_percent)} label={text.share} />
      {children}
    </Figures>
  );
}

/** How many calls asked a person, and how many passed, by part. */
export function Parts({ attention }: { attention: Attention }) {
  const share = (count: number) => percent(attention.calls > 0 ? (100 * count) / attention.calls : null);
  return (
    <Table
      label={text.title}
      items={[...PARTS]}
      rowKey={(part) => part}
      columns={[
        { key: "part", head: text.part, cell: (part) => text.parts[part] },
        { key: "calls", head: text.calls, number: true, cell: (part) => attention[part].toLocaleString() },
        { key: "share", head: text.ofCalls, number: true, cell: (part) => share(attention[part]) },
      ]}
    />
  );
}
