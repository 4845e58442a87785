/** Parts that people and keys share. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ApiError } from "@/api/client";
import { strings } from "@/strings";
import { Button, Dialog, Field, Input } from "@/ui";
import { FormDialog } from "@/ui/form-dialog";
import { CopyButton } from "../shared/bits";
import css from "./people.module.css";

const text = strings.people;

export function problem(error: unknown): string | null {
  if (!error) return null;
  return error instanceof ApiError ? error.message : strings.common.unknownError;
}

/** Asks before an action that cannot be undone. */
export function ConfirmDialog({
  title,
  children,
  action,
  run,
  done,
  close,
}: {
  title: string;
  children: string;
  action: string;
  run(): Promise<unknown>;
  done(): void;
  close(): void;
}) {
  const go = useMutation({
    mutationFn: run,
    onSuccess: () => {
      done();
      close();
    },
  });
  return (
    <FormDialog
      title={title}
      submit={action}
      look="bad"
      ready={!go.isPending}
      error={problem(go.error)}
      onSubmit={() => go.mutate()}
      onClose={close}
    >
      <p>{children}</p>
    </FormDialog>
  );
}

/** Something made once, to be copied now. */
export function ShownOnce({ title, close, children }: { title: string; close(): void; children: ReactNode }) {
  return (
    <Dialog
      open
      title={title}
      onClose={close}
      footer={
        <Button look="primary" onClick={close}>
          {text.done}
        </Button>
      }
    >
      {children}
    </Dialog>
  );
}

/** Something to be copied, once. */
export function Secret({ value }: { value: string }) {
  return (
    <div className={css.secret}>
      <code data-testid="secret">{value}</code>
      <CopyButton text={value} />
    </div>
  );
}

/** A field for a name, without the browser's corrections. */
export function NameField({
  label,
  hint,
  value,
  onChange,
}: {
  label: string;
  hint: string;
  value: string;
  onChange(value: string): void;
}) {
  return (
    <Field label={label} hint={hint}>
      <Input
        required
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}
