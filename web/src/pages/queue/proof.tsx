/** What proves attention before an approval is sent: a word of the content, or the code of exactly this content. */
import { useState } from "react";
import { cardOf } from "@/api/card";
import type { Decide, RequestRecord } from "@/api/extra";
import { useMedia } from "@/lib/media";
import { strings } from "@/strings";
import { Banner, Button, Field, Input } from "@/ui";
import css from "./bar.module.css";
import { choicesOf, type TypedWord } from "./card/word";
import type { Friction } from "./friction";

const s = strings.queue;

export function useProof(record: RequestRecord, friction: Friction) {
  const [word, setWord] = useState("");
  const [code, setCode] = useState("");
  const touch = useMedia("(pointer: coarse)");
  const wanted = record.display?.code ?? null;
  const { type } = friction;
  const enough =
    (type === null || word.trim() === type.word) &&
    (!friction.code || (wanted !== null && code.trim().toLowerCase() === wanted.toLowerCase()));
  const body: Partial<Decide> = friction.code ? { step_up: { code: code.trim() } } : {};
  const fields = (
    <>
      {type !== null && touch ? (
        <Choice type={type} seed={cardOf(record)?.digest ?? record.digest} chosen={word} choose={setWord} />
      ) : null}
      {type !== null && !touch ? (
        <Typed
          label={s.typeWord(s.wordKind[type.kind], type.word)}
          hint={s.typeWordHint}
          value={word}
          change={setWord}
        />
      ) : null}
      {friction.code && wanted === null ? <Banner tone="bad">{s.noCode}</Banner> : null}
      {friction.code && wanted !== null ? (
        <Typed label={s.codeLabel} hint={s.codeHint(wanted)} value={code} change={setCode} />
      ) : null}
    </>
  );
  return { enough, body, fields };
}

function Typed(props: { label: string; hint: string; value: string; change(value: string): void }) {
  return (
    <Field label={props.label} hint={props.hint}>
      <Input
        autoFocus
        mono
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={props.value}
        onChange={(event) => props.change(event.target.value)}
      />
    </Field>
  );
}

/** On a touch screen the word is chosen among three that look alike. */
function Choice({
  type,
  seed,
  chosen,
  choose,
}: {
  type: TypedWord;
  seed: string;
  chosen: string;
  choose(word: string): void;
}) {
  const wrong = chosen !== "" && chosen !== type.word;
  return (
    <fieldset className={css.choice}>
      <legend>{s.chooseWord(s.wordKind[type.kind])}</legend>
      {choicesOf(type.word, seed).map((word) => (
        <Button key={word} aria-pressed={word === chosen} onClick={() => choose(word)}>
          <span className="verbatim">{word}</span>
        </Button>
      ))}
      <div role="status">{wrong ? <Banner tone="bad">{s.wrongWord}</Banner> : null}</div>
    </fieldset>
  );
}
