/** A drawn value with its pointer: what was flagged is marked where it stands. */
import { createContext, type ReactNode, useContext, useMemo } from "react";
import type { CardFlag, CardSection } from "@/api/card";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import { Icon } from "@/ui";
import css from "./card.module.css";
import { placesOf, WHOLE } from "./places";

export interface CardTexts {
  /** The text of each pointer as the server draws it. */
  texts: ReadonlyMap<string, string>;
  /** Why a pointer is flagged. */
  flags: ReadonlyMap<string, string[]>;
}
const NOTHING: CardTexts = { texts: new Map(), flags: new Map() };
const Texts = createContext<CardTexts>(NOTHING);
const Places = createContext<ReadonlyMap<string, string[]>>(new Map());

export const CardTextsProvider = Texts.Provider;
export const useCardTexts = () => useContext(Texts);

export function flagsByPointer(flagged: readonly CardFlag[]): ReadonlyMap<string, string[]> {
  const out = new Map<string, string[]>();
  for (const { pointer, why } of flagged) {
    if (pointer !== "") out.set(pointer, [...(out.get(pointer) ?? []), why]);
  }
  return out;
}

/** Says where the values of a section come from. */
export function PlacesProvider({ section, children }: { section: CardSection; children: ReactNode }) {
  const { texts } = useContext(Texts);
  const places = useMemo(() => placesOf(section, texts), [section, texts]);
  return <Places.Provider value={places}>{children}</Places.Provider>;
}

/** A value of a section. `slot` is its place there; the whole section stands for values without one. */
export function Leaf({ slot, block, children }: { slot: string; block?: boolean; children: ReactNode }) {
  const pointers = useContext(Places).get(slot) ?? [];
  return (
    <At pointers={pointers} block={block}>
      {children}
    </At>
  );
}

/** What stands for all values of a section that have no slot of their own. */
export function Whole({ children }: { children: ReactNode }) {
  return (
    <Leaf slot={WHOLE} block>
      {children}
    </Leaf>
  );
}

/** A value with these pointers. */
export function At({
  pointers,
  block,
  children,
}: {
  pointers: readonly string[];
  block?: boolean;
  children: ReactNode;
}) {
  const { flags } = useContext(Texts);
  const Tag = block ? "div" : "span";
  const whys = pointers.flatMap((pointer) => flags.get(pointer) ?? []);
  let out = children;
  for (const pointer of pointers) {
    out = (
      <Tag className={css.at} data-pointer={pointer}>
        {out}
      </Tag>
    );
  }
  if (whys.length === 0) return out;
  return (
    <Tag className={cx(css.flagged, block && css.flaggedBlock)} data-flagged title={whys.join("\n")}>
      <span className={css.flagMark}>
        <Icon name="warning" size={14} />
        <span className="visually-hidden">{strings.queue.card.flagged(whys.join(" "))}</span>
      </span>
      {out}
    </Tag>
  );
}
