/** A decision that is finished in the bar below the card, so that what it is about stays in view. */
import { type ReactNode, type Ref, useEffect, useId, useImperativeHandle, useRef } from "react";
import { strings } from "@/strings";
import { Button, type ButtonProps, Icon } from "@/ui";
import css from "./bar.module.css";

/** What the page does to the form that is open. */
export interface BarHandle {
  focus(): void;
}

function focusFirst(form: HTMLElement): void {
  for (const wanted of [
    "[data-autofocus]:not(:disabled)",
    "input:not(:disabled), textarea:not(:disabled)",
    "button[type=submit]:not(:disabled)",
  ]) {
    const found = form.querySelector<HTMLElement>(wanted);
    if (found) {
      found.focus();
      return;
    }
  }
}

export function BarForm({
  title,
  submit,
  ready = true,
  look = "primary",
  hotkey,
  focusSubmit,
  handle,
  children,
  onSubmit,
  onClose,
}: {
  title: ReactNode;
  /** The words on the button. */
  submit: ReactNode;
  /** Whether the button works. */
  ready?: boolean;
  look?: ButtonProps["look"];
  hotkey?: string;
  focusSubmit?: boolean;
  handle?: Ref<BarHandle>;
  children?: ReactNode;
  onSubmit(): void;
  onClose(): void;
}) {
  const form = useRef<HTMLFormElement>(null);
  const heading = useId();
  useImperativeHandle(handle, () => ({ focus: () => form.current && focusFirst(form.current) }));
  useEffect(() => {
    if (form.current) focusFirst(form.current);
  }, []);
  return (
    <form
      ref={form}
      className={css.form}
      data-bar
      aria-labelledby={heading}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.preventDefault();
          onClose();
        }
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          event.currentTarget.requestSubmit();
        }
      }}
    >
      <div className={css.head}>
        <h3 id={heading}>{title}</h3>
        <Button look="quiet" size="small" square aria-label={strings.common.close} onClick={onClose}>
          <Icon name="close" />
        </Button>
      </div>
      {children ? <div className={css.body}>{children}</div> : null}
      <div className={css.foot}>
        <Button onClick={onClose}>{strings.common.cancel}</Button>
        <Button type="submit" look={look} hotkey={hotkey} disabled={!ready} autoFocus={focusSubmit}>
          {submit}
        </Button>
      </div>
    </form>
  );
}
