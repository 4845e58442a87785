/** Answering a question, whatever its type. */
import { type ReactNode, useState } from "react";
import type { Json, RequestRecord } from "@/api/extra";
import { modKey } from "@/app/keys";
import { strings } from "@/strings";
import { Checkbox, Field, Input, TextArea } from "@/ui";
import { BarForm } from "./bar-form";
import { decisionOn } from "./decision";
import css from "./detail.module.css";
import { useDraft } from "./drafts";
import { type FormProps, useDecision } from "./forms";
import { frictionOf } from "./friction";
import { useProof } from "./proof";

const s = strings.queue;

/** The largest file that is taken, in bytes. */
const FILE = 128 * 1024;

/** What was filled in so far; a file is not kept. */
interface AnswerDraft {
  text: string;
  many: readonly string[];
}

function useAnswer(record: RequestRecord) {
  const spec = record.input ?? { type: "text" as const };
  const options = spec.options ?? [];
  const shown = (index: number) =>
    record.display?.fields.find((field) => field.pointer === `/input/options/${index}`)?.text ?? "";
  const preset = record.default ?? null;
  const [{ text, many }, fill] = useDraft<AnswerDraft>(record, "respond", () => ({
    text: typeof preset === "string" || typeof preset === "number" ? String(preset) : "",
    many: Array.isArray(preset) ? preset.filter((one): one is string => typeof one === "string") : [],
  }));
  const setText = (next: string) => fill({ text: next, many });
  const setMany = (next: readonly string[]) => fill({ text, many: next });
  const [file, setFile] = useState<{ name: string; size: number; answer: Json } | null>(null);
  const [fileError, setFileError] = useState<string | null>(null);
  const required = record.required !== false;

  let answer: Json = null;
  let problem: string | null = null;
  switch (spec.type) {
    case "number": {
      const number = Number(text);
      if (text.trim() === "") break;
      if (!Number.isFinite(number)) problem = s.respondNumber("", "");
      else if ((spec.min != null && number < spec.min) || (spec.max != null && number > spec.max)) {
        problem = s.respondNumber(String(spec.min ?? ""), String(spec.max ?? ""));
      } else answer = number;
      break;
    }
    case "multi_choice":
      answer = many.length > 0 || !required ? [...many] : null;
      break;
    case "file":
      answer = file?.answer ?? null;
      problem = fileError;
      break;
    default:
      answer = text === "" ? null : text;
  }
  const empty = answer === null || (Array.isArray(answer) && answer.length === 0);
  const ready = problem === null && !(required && empty);

  const label = s.answer;
  let field: ReactNode;
  switch (spec.type) {
    case "number":
      field = (
        <Field
          label={label}
          hint={s.respondNumber(String(spec.min ?? ""), String(spec.max ?? ""))}
          error={problem}
        >
          <Input
            autoFocus
            inputMode="decimal"
            value={text}
            autoComplete="off"
            onChange={(event) => setText(event.target.value)}
          />
        </Field>
      );
      break;
    case "date":
      field = (
        <Field label={label}>
          <Input autoFocus type="date" value={text} onChange={(event) => setText(event.target.value)} />
        </Field>
      );
      break;
    case "choice":
    case "multi_choice": {
      const one = spec.type === "choice";
      field = (
        <fieldset className={css.plainFieldset}>
          <legend>{label}</legend>
          <div className={css.choices}>
            {options.map((option, index) => (
              <Checkbox
                key={option}
                type={one ? "radio" : "checkbox"}
                name={one ? "answer" : undefined}
                autoFocus={index === 0}
                checked={one ? text === option : many.includes(option)}
                onChange={(event) => {
                  if (one) setText(option);
                  else
                    setMany(
                      event.target.checked ? [...many, option] : many.filter((each) => each !== option),
                    );
                }}
              >
                <span className="verbatim">{shown(index)}</span>
              </Checkbox>
            ))}
          </div>
        </fieldset>
      );
      break;
    }
    case "file":
      field = (
        <Field
          label={label}
          hint={file ? s.respondFileChosen(file.name, `${file.size} B`) : s.respondFile("128 KiB")}
          error={fileError}
        >
          <Input
            autoFocus
            type="file"
            onChange={(event) => {
              const chosen = event.target.files?.[0];
              setFile(null);
              setFileError(null);
              if (!chosen) return;
              if (chosen.size > FILE) {
                setFileError(s.respondFileTooBig("128 KiB"));
                return;
              }
              void chosen.arrayBuffer().then((bytes) => {
                setFile({
                  name: chosen.name,
                  size: chosen.size,
                  answer: {
                    name: chosen.name,
                    media_type: chosen.type || "application/octet-stream",
                    content_base64: base64(new Uint8Array(bytes)),
                  },
                });
              });
            }}
          />
        </Field>
      );
      break;
    default:
      field = (
        <Field label={label}>
          <TextArea
            autoFocus
            rows={4}
            value={text}
            maxLength={16_384}
            onChange={(event) => setText(event.target.value)}
          />
        </Field>
      );
  }
  return { answer, ready, field };
}

/** Bytes as padded standard base64. */
export function base64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

export function RespondForm(props: FormProps) {
  const { record, submit, onClose } = props;
  const friction = frictionOf(record, "respond");
  const proof = useProof(record, friction.code ? friction : { ...friction, type: null });
  const { answer, ready, field } = useAnswer(record);
  // An answer is about the question alone, which stands at the top.
  const { free, trouble, run } = useDecision({ ...props, unseen: null });
  const can = ready && proof.enough && free;
  const send = () => {
    if (!can) return;
    run(() =>
      submit(record, decisionOn(record, "respond", { answer, ...proof.body }), {
        undo: friction.undo,
        label: s.sent.respond,
      }),
    );
  };
  return (
    <BarForm
      title={s.respondTitle}
      submit={s.respondButton}
      ready={can}
      hotkey={modKey("↵")}
      handle={props.handle}
      onSubmit={send}
      onClose={onClose}
    >
      {field}
      {proof.fields}
      {trouble}
    </BarForm>
  );
}
