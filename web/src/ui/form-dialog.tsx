/** A dialog that asks for something: cancel, the one button that does it, and what went wrong. */
import type { ReactNode } from "react";
import { strings } from "@/strings";
import { Banner, Button, type ButtonProps, Dialog } from ".";

export function FormDialog({
  title,
  submit,
  ready = true,
  look = "primary",
  hotkey,
  focusSubmit,
  hint,
  error,
  wide,
  children,
  onSubmit,
  onClose,
}: {
  title: string;
  /** The words on the button. */
  submit: ReactNode;
  /** Whether the button works. */
  ready?: boolean;
  look?: ButtonProps["look"];
  hotkey?: string;
  focusSubmit?: boolean;
  /** Beside the buttons. */
  hint?: ReactNode;
  error?: string | null;
  wide?: boolean;
  children: ReactNode;
  onSubmit(): void;
  onClose(): void;
}) {
  return (
    <Dialog
      open
      wide={wide}
      title={title}
      onClose={onClose}
      onSubmit={onSubmit}
      footer={
        <>
          {hint}
          <Button onClick={onClose}>{strings.common.cancel}</Button>
          <Button type="submit" look={look} hotkey={hotkey} disabled={!ready} autoFocus={focusSubmit}>
            {submit}
          </Button>
        </>
      }
    >
      {children}
      {error ? (
        <Banner tone="bad" role="alert">
          {error}
        </Banner>
      ) : null}
    </Dialog>
  );
}
