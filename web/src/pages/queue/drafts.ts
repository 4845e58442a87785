/** Drafts of decisions, by request and by what was seen. */
import { useEffect, useRef, useState } from "react";
import type { RequestRecord, Row } from "@/api/extra";
import { useMe } from "@/api/session";
import { drafts } from "@/lib/drafts";

export type DraftPart = "approve" | "deny" | "edit" | "respond" | "plan" | `step.${string}`;

/** The content that a draft belongs to. */
export function seenOf(record: RequestRecord): string {
  return `${record.proposal?.digest ?? record.digest} ${record.version}`;
}

/** State that is stored on every change, under a name and the content that was seen. */
function useKept<T>(name: string, seen: string, initial: () => T): [T, (value: T) => void] {
  const { name: person } = useMe();
  const [value, setValue] = useState(() => (drafts.read(person, name, seen) as T | undefined) ?? initial());
  // What was typed stays when its author goes on with what is shown now.
  const about = useRef(seen);
  useEffect(() => {
    if (about.current === seen) return;
    if (drafts.read(person, name, about.current) !== undefined) drafts.write(person, name, seen, value);
    about.current = seen;
  }, [person, name, seen, value]);
  return [
    value,
    (next) => {
      setValue(next);
      drafts.write(person, name, seen, next);
    },
  ];
}

/** One part of a decision on a request. */
export function useDraft<T>(
  record: RequestRecord,
  part: DraftPart,
  initial: () => T,
): [T, (value: T) => void] {
  return useKept(`${record.id}.${part}`, seenOf(record), initial);
}

/** The reason for a batch: kept for exactly these requests. */
export function useBatchDraft(word: string, rows: readonly Row[]): [string, (value: string) => void] {
  const seen = rows.map((row) => `${row.id} ${row.digest} ${row.version}`).join("\n");
  return useKept(`batch.${word}`, seen, () => "");
}
