/**
 * What a reviewer has typed and not sent. It outlives the session, in this tab alone, for the same person and for exactly
 * what they saw; it only fills a field again and never decides. What proves attention (a tool's name, a code, a scope to
 * remember) is not kept.
 */
const PREFIX = "placet.draft.";
/** Longest that is kept, in characters; arguments have 256 KiB at most. */
const LONGEST = 300_000;

interface StoredDraft {
  person: string;
  /** What it was typed on: digest and version. */
  seen: string;
  value: unknown;
}
type TabStorage = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

export function draftStore(tab: () => TabStorage) {
  const names = (start = "") => {
    const all = Array.from({ length: tab().length }, (_, index) => tab().key(index) ?? "");
    return all.filter((name) => name.startsWith(PREFIX + start));
  };
  const load = (name: string): StoredDraft | null => {
    try {
      return JSON.parse(tab().getItem(name) ?? "null") as StoredDraft | null;
    } catch {
      return null;
    }
  };
  /** Storage may be full or forbidden; then nothing is kept, and nothing else goes wrong. */
  const safely = <T>(work: () => T, otherwise: T): T => {
    try {
      return work();
    } catch {
      return otherwise;
    }
  };
  const drop = (start: string, which: (name: string) => boolean = () => true) =>
    safely(() => {
      for (const name of names(start).filter(which)) tab().removeItem(name);
    }, undefined);

  return {
    read(person: string, name: string, seen: string): unknown {
      return safely(() => {
        const kept = load(PREFIX + name);
        return kept?.person === person && kept.seen === seen ? kept.value : undefined;
      }, undefined);
    },
    /** Stores a value; an empty one is removed. */
    write(person: string, name: string, seen: string, value: unknown): void {
      safely(() => {
        const text = JSON.stringify({ person, seen, value } satisfies StoredDraft);
        if (value === "" || value === undefined || text.length > LONGEST) tab().removeItem(PREFIX + name);
        else tab().setItem(PREFIX + name, text);
      }, undefined);
    },
    /** What is kept for a request as this person sees it. */
    parts(person: string, id: string, seen: string): string[] {
      return safely(
        () =>
          names(`${id}.`)
            .filter((name) => {
              const kept = load(name);
              return kept?.person === person && kept.seen === seen;
            })
            .map((name) => name.slice(PREFIX.length + id.length + 1)),
        [],
      );
    },
    /** Forgets one part of a request, or all of it. */
    drop: (id: string, part?: string) =>
      drop(`${id}.`, (name) => part === undefined || name === `${PREFIX}${id}.${part}`),
    /** Removes the drafts of other people. */
    keepOnly: (person: string) => drop("", (name) => load(name)?.person !== person),
    clear: () => drop(""),
  };
}

export const drafts = draftStore(() => window.sessionStorage);
