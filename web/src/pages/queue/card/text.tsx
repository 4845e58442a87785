/** One text, with its line ends. */
import type { SectionOf } from "@/api/card";
import detail from "../detail.module.css";
import { Leaf, Whole } from "./leaf";
import { Long } from "./long";

export function Text({ section }: { section: SectionOf<"text"> }) {
  return (
    <Whole>
      <Leaf slot="text" block>
        <Long text={section.text} className={detail.letter} />
      </Leaf>
    </Whole>
  );
}
