/** A type of section that this page does not know: its values, one by one. */
import type { SectionOf } from "@/api/card";
import { Fields } from "./fields";
import { useCardTexts } from "./leaf";

export function Other({ section }: { section: SectionOf<"other"> }) {
  const { texts } = useCardTexts();
  const fields = section.pointers.flatMap((pointer) => {
    const text = texts.get(pointer);
    return text === undefined ? [] : [{ pointer, text }];
  });
  return <Fields fields={fields} />;
}
