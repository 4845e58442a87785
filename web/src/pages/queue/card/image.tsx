/** A picture, drawn in the page from its own bytes. What is no sound picture is listed as text. */
import { useMemo } from "react";
import type { SectionOf } from "@/api/card";
import { strings } from "@/strings";
import { Banner } from "@/ui";
import css from "./card.module.css";
import { Leaf, Whole } from "./leaf";
import { Long } from "./long";
import { pictureOf } from "./picture";

const s = strings.queue.card;

export function Image({ section }: { section: SectionOf<"image"> }) {
  const picture = useMemo(() => pictureOf(section.data), [section.data]);
  return (
    <Whole>
      <figure className={css.figure}>
        <Leaf slot="data" block>
          {typeof picture === "string" ? (
            <>
              <Banner tone="warn">{s.noPicture[picture]}</Banner>
              <Long text={section.data} breaks={false} />
            </>
          ) : (
            <img
              className={css.picture}
              src={picture.url}
              alt={s.picture}
              width={picture.width}
              height={picture.height}
            />
          )}
        </Leaf>
        <figcaption className={css.caption}>
          <Leaf slot="media_type">
            <span className="verbatim">{section.media_type}</span>
          </Leaf>
          {typeof picture === "string" ? null : (
            <>
              <span>{s.pixels(picture.width, picture.height)}</span>
              {picture.type === section.media_type ? null : <span>{s.isReally(picture.type)}</span>}
            </>
          )}
          <span>{s.bytes(section.bytes)}</span>
        </figcaption>
      </figure>
    </Whole>
  );
}
