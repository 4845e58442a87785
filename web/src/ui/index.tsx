/** The design system: every control the pages use. */
import {
  type ButtonHTMLAttributes,
  createContext,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useCallback,
  useContext,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import type { Risk } from "@/api/extra";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import css from "./ui.module.css";

export type Tone = "neutral" | "accent" | "good" | "bad" | "warn";

function tone(name: Tone | undefined): string | undefined {
  return name && name !== "neutral" ? css[`tone-${name}`] : undefined;
}

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: "plain" | "primary" | "good" | "bad" | "quiet";
  size?: "medium" | "small";
  /** Square, for an icon; give it an `aria-label`. */
  square?: boolean;
  /** The key that does the same. */
  hotkey?: string;
}

export function Button({
  look = "plain",
  size,
  square,
  hotkey,
  autoFocus,
  className,
  children,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      data-autofocus={autoFocus || undefined}
      {...rest}
      className={cx(
        css.button,
        look !== "plain" && css[look],
        size === "small" && css.small,
        square && css.icon,
        className,
      )}
    >
      {children}
      {hotkey ? <Kbd aria-hidden>{hotkey}</Kbd> : null}
    </button>
  );
}

export function Badge({ tone: name, children, title }: { tone?: Tone; children: ReactNode; title?: string }) {
  return (
    <span className={cx(css.badge, tone(name))} title={title}>
      {children}
    </span>
  );
}

const LEVEL: { [risk in Risk]: number } = { low: 1, medium: 2, high: 3, critical: 4 };

/** Risk as bars and a word, because colour alone is not enough. */
export function RiskMark({ risk, word = true }: { risk: Risk; word?: boolean }) {
  const name = strings.risk[risk] ?? risk;
  return (
    <span className={cx(css.risk, css[risk])} title={word ? undefined : `${strings.risk.label}: ${name}`}>
      <span className={css.riskBars} aria-hidden>
        {[1, 2, 3, 4].map((bar) => (
          <span key={bar} className={bar <= LEVEL[risk] ? css.on : undefined} />
        ))}
      </span>
      <span className={word ? undefined : "visually-hidden"}>
        {word ? name : `${strings.risk.label}: ${name}`}
      </span>
    </span>
  );
}

export function Kbd({ children, ...rest }: { children: ReactNode; "aria-hidden"?: boolean }) {
  return (
    <kbd className={css.kbd} {...rest}>
      {children}
    </kbd>
  );
}

export interface DialogProps {
  open: boolean;
  title: ReactNode;
  onClose(): void;
  children: ReactNode;
  footer?: ReactNode;
  wide?: boolean;
  /** Called on Enter with Ctrl or Cmd anywhere, and by the form's submit button. */
  onSubmit?(): void;
  className?: string;
}

/** Sets the first focus: an element with `autofocus`, else the first field, else the main button. */
function focusFirst(dialog: HTMLElement): void {
  for (const wanted of [
    "[data-autofocus]:not(:disabled)",
    "input:not(:disabled), textarea:not(:disabled), select:not(:disabled)",
    "button[type=submit]:not(:disabled)",
  ]) {
    const found = dialog.querySelector<HTMLElement>(wanted);
    if (found) {
      found.focus();
      return;
    }
  }
}

/** A native modal dialog: focus stays inside, Escape closes. */
export function Dialog({ open, title, onClose, children, footer, wide, onSubmit, className }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (!dialog) return;
    if (open && !dialog.open) {
      dialog.showModal();
      focusFirst(dialog);
    }
    if (!open && dialog.open) dialog.close();
  }, [open]);
  if (!open) return null;
  const body = (
    <>
      <div className={css.dialogHead}>
        <h2 id={heading}>{title}</h2>
        <Button look="quiet" square aria-label={strings.common.close} onClick={onClose}>
          <Icon name="close" />
        </Button>
      </div>
      <div className={css.dialogBody} tabIndex={0} role="group" aria-labelledby={heading}>
        {children}
      </div>
      {footer ? <div className={css.dialogFoot}>{footer}</div> : null}
    </>
  );
  return (
    <dialog
      ref={ref}
      className={cx(css.dialog, wide && css.wide, className)}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClose={onClose}
    >
      {onSubmit ? (
        <form
          className={css.dialogForm}
          onSubmit={(event) => {
            event.preventDefault();
            onSubmit();
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              event.currentTarget.requestSubmit();
            }
          }}
        >
          {body}
        </form>
      ) : (
        body
      )}
    </dialog>
  );
}

export interface ToastMessage {
  text: ReactNode;
  tone?: Tone;
  action?: { label: string; run(): void };
  /** Stays until closed when 0. */
  milliseconds?: number;
}
interface ToastEntry extends ToastMessage {
  id: number;
}
const ToastContext = createContext<(toast: ToastMessage) => void>(() => {});

/** Shows a short message: `const toast = useToast(); toast({ text, tone })`. */
export function useToast(): (toast: ToastMessage) => void {
  return useContext(ToastContext);
}

export function ToastProvider({ children, extra }: { children: ReactNode; extra?: ReactNode }) {
  const [toasts, setToasts] = useState<ToastEntry[]>([]);
  const next = useRef(1);
  const drop = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), []);
  const push = useCallback(
    (toast: ToastMessage) => {
      const id = next.current++;
      // The same message twice is one message.
      setToasts((all) => [...all.filter((one) => one.text !== toast.text).slice(-3), { ...toast, id }]);
      const time = toast.milliseconds ?? (toast.tone === "bad" ? 9000 : 5000);
      if (time > 0) setTimeout(() => drop(id), time);
    },
    [drop],
  );
  return (
    <ToastContext.Provider value={push}>
      {children}
      <section className={css.toasts} aria-label={strings.common.messages} aria-live="polite">
        {toasts.map((toast) => (
          <div
            key={toast.id}
            className={cx(css.toast, tone(toast.tone))}
            role={toast.tone === "bad" ? "alert" : undefined}
          >
            <div className={css.toastText}>{toast.text}</div>
            {toast.action ? (
              <Button
                size="small"
                onClick={() => {
                  toast.action?.run();
                  drop(toast.id);
                }}
              >
                {toast.action.label}
              </Button>
            ) : null}
            <Button
              look="quiet"
              size="small"
              square
              aria-label={strings.common.close}
              onClick={() => drop(toast.id)}
            >
              <Icon name="close" />
            </Button>
          </div>
        ))}
        {extra}
      </section>
    </ToastContext.Provider>
  );
}

/** A permanent line in the message area. */
export function ToastLine({ tone: name, children }: { tone?: Tone; children: ReactNode }) {
  return <div className={cx(css.toast, tone(name))}>{children}</div>;
}

export interface TabItem {
  id: string;
  label: ReactNode;
}
export function Tabs({
  items,
  value,
  onChange,
  label,
  panelId,
}: {
  items: TabItem[];
  value: string;
  onChange(id: string): void;
  label: string;
  panelId?: string;
}) {
  const base = useId();
  return (
    <div
      className={css.tabs}
      role="tablist"
      aria-label={label}
      onKeyDown={(event) => {
        const at = items.findIndex((item) => item.id === value);
        const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
        if (step === 0) return;
        const item = items[(at + step + items.length) % items.length];
        if (!item) return;
        event.preventDefault();
        onChange(item.id);
        document.getElementById(`${base}-${item.id}`)?.focus();
      }}
    >
      {items.map((item) => (
        <button
          key={item.id}
          type="button"
          role="tab"
          id={`${base}-${item.id}`}
          aria-selected={item.id === value}
          aria-controls={panelId}
          tabIndex={item.id === value ? 0 : -1}
          className={css.tab}
          onClick={() => onChange(item.id)}
        >
          {item.label}
        </button>
      ))}
    </div>
  );
}

interface FieldContext {
  id: string;
  describedBy: string | undefined;
  invalid: boolean;
}
const FieldIds = createContext<FieldContext | null>(null);

/** A label, its control (`Input`, `TextArea`, `Select`), a hint and an error, tied together. */
export function Field({
  label,
  hint,
  error,
  children,
}: {
  label: ReactNode;
  hint?: ReactNode;
  error?: ReactNode;
  children: ReactNode;
}) {
  const id = useId();
  const describedBy = cx(hint ? `${id}-hint` : null, error ? `${id}-error` : null) || undefined;
  const value = useMemo(() => ({ id, describedBy, invalid: Boolean(error) }), [id, describedBy, error]);
  return (
    <div className={css.field}>
      <label className={css.label} htmlFor={id}>
        {label}
      </label>
      <FieldIds.Provider value={value}>{children}</FieldIds.Provider>
      {hint ? (
        <div className={css.hint} id={`${id}-hint`}>
          {hint}
        </div>
      ) : null}
      {error ? (
        <div className={css.fieldError} id={`${id}-error`} role="alert">
          {error}
        </div>
      ) : null}
    </div>
  );
}

function useField() {
  const field = useContext(FieldIds);
  return field
    ? { id: field.id, "aria-describedby": field.describedBy, "aria-invalid": field.invalid || undefined }
    : {};
}

export function Input({
  mono,
  autoFocus,
  className,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { mono?: boolean; ref?: React.Ref<HTMLInputElement> }) {
  return (
    <input
      data-autofocus={autoFocus || undefined}
      {...useField()}
      {...rest}
      className={cx(css.input, mono && css.monoInput, className)}
    />
  );
}
export function TextArea({
  mono,
  autoFocus,
  className,
  ...rest
}: TextareaHTMLAttributes<HTMLTextAreaElement> & { mono?: boolean; ref?: React.Ref<HTMLTextAreaElement> }) {
  return (
    <textarea
      data-autofocus={autoFocus || undefined}
      {...useField()}
      {...rest}
      className={cx(css.input, mono && css.monoInput, className)}
    />
  );
}
export function Select({ className, ...rest }: SelectHTMLAttributes<HTMLSelectElement>) {
  return <select {...useField()} {...rest} className={cx(css.input, className)} />;
}
export function Checkbox({
  children,
  autoFocus,
  ...rest
}: Omit<InputHTMLAttributes<HTMLInputElement>, "type"> & {
  children: ReactNode;
  type?: "checkbox" | "radio";
}) {
  return (
    <label className={css.check}>
      <input type="checkbox" data-autofocus={autoFocus || undefined} {...rest} />
      <span>{children}</span>
    </label>
  );
}

export function EmptyState({
  title,
  children,
  action,
  icon = "inbox",
}: {
  title: ReactNode;
  children?: ReactNode;
  action?: ReactNode;
  icon?: IconName;
}) {
  return (
    <div className={css.empty}>
      <div className={css.emptyArt}>
        <Icon name={icon} size={36} />
      </div>
      <h2>{title}</h2>
      {children ? <p>{children}</p> : null}
      {action}
    </div>
  );
}

export function Spinner({ label = strings.common.loading }: { label?: string }) {
  return <span className={css.spinner} role="status" aria-label={label} />;
}

/** An area that is loading. */
export function Loading({ label = strings.common.loading }: { label?: string }) {
  return (
    <div className={css.loading} role="status">
      <span className={css.spinner} aria-hidden />
      {label}
    </div>
  );
}

/** What went wrong, with a way to try again. */
export function ErrorState({ error, retry }: { error: unknown; retry?: () => void }) {
  const text = error instanceof Error ? error.message : strings.common.unknownError;
  return (
    <EmptyState
      icon="warning"
      title={strings.common.failed}
      action={retry ? <Button onClick={retry}>{strings.common.retry}</Button> : undefined}
    >
      {text}
    </EmptyState>
  );
}

export function Banner({
  tone: name,
  children,
  role,
}: {
  tone?: Tone;
  children: ReactNode;
  role?: "status" | "alert";
}) {
  return (
    <div className={cx(css.banner, tone(name))} role={role}>
      {children}
    </div>
  );
}

export function Card({ children, className }: { children: ReactNode; className?: string }) {
  return <section className={cx(css.card, className)}>{children}</section>;
}

/** The frame of an ordinary page: a heading, a line about it, and actions at the right. */
export function Page({
  title,
  about,
  actions,
  children,
}: {
  title: ReactNode;
  about?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <div className={css.page}>
      <header className={css.pageHead}>
        <div>
          <h1>{title}</h1>
          {about ? <p>{about}</p> : null}
        </div>
        {actions ? <div className={css.rowGap}>{actions}</div> : null}
      </header>
      {children}
    </div>
  );
}

/** A line of controls. */
export function Row({ children }: { children: ReactNode }) {
  return <div className={css.rowGap}>{children}</div>;
}

export interface Column<T> {
  key: string;
  head: ReactNode;
  cell(item: T): ReactNode;
  number?: boolean;
}
/** A plain table. For more than a few hundred rows use a virtual list. */
export function Table<T>({
  columns,
  items,
  rowKey,
  label,
  empty,
  cards,
}: {
  columns: Column<T>[];
  items: T[];
  rowKey(item: T): string;
  label: string;
  empty?: ReactNode;
  /** On a phone every row is a card, so that nothing has to be scrolled sideways. */
  cards?: boolean;
}) {
  if (items.length === 0 && empty) return <>{empty}</>;
  // Changed layout hides a table from screen readers, so the roles are explicit.
  const role = (name: string) => (cards ? name : undefined);
  return (
    <section className={cx(css.tableWrap, cards && css.cards)} tabIndex={0} aria-label={label}>
      <table className={css.table} role={role("table")}>
        <thead role={role("rowgroup")}>
          <tr role={role("row")}>
            {columns.map((column) => (
              <th
                key={column.key}
                scope="col"
                role={role("columnheader")}
                className={column.number ? css.num : undefined}
              >
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role={role("rowgroup")}>
          {items.map((item) => (
            <tr key={rowKey(item)} role={role("row")}>
              {columns.map((column) => (
                <td
                  key={column.key}
                  role={role("cell")}
                  className={column.number ? css.num : undefined}
                  data-head={typeof column.head === "string" ? column.head : undefined}
                >
                  {column.cell(item)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Untrusted text, such as an agent's: plain, wrapped, left to right. */
export function Verbatim({
  children,
  mono,
  as: Tag = "span",
}: {
  children: string;
  mono?: boolean;
  as?: "span" | "div" | "pre";
}) {
  return <Tag className={cx("verbatim", mono && "mono")}>{children}</Tag>;
}

const PATHS = {
  grip: "M9 6v.5M15 6v.5M9 12v.5M15 12v.5M9 18v.5M15 18v.5",
  close: "M6 6l12 12M18 6L6 18",
  inbox: "M3 13l3-8h12l3 8v6H3zM3 13h5a4 4 0 0 0 8 0h5",
  warning: "M12 4l9 16H3zM12 10v4M12 17v.5",
  check: "M5 12.5l4.5 4.5L19 7.5",
  deny: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM5.8 5.8l12.4 12.4",
  edit: "M4 20l1-4L16.5 4.5l3 3L8 19zM14 7l3 3",
  reply: "M10 6L4 12l6 6M4 12h10a6 6 0 0 1 6 6",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5",
  history: "M4 12a8 8 0 1 0 2.5-5.8M4 4v4h4M12 8v4l3 2",
  ledger: "M6 3h12v18H6zM9 8h6M9 12h6M9 16h4",
  policy: "M12 3l8 3v6c0 5-3.5 8-8 9-4.500-1-8-4-8-9V6zM9 12l2 2 4-4",
  insights: "M4 20V10M10 20V4M16 20v-7M21 20H3",
  people:
    "M9 5a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM3 20c0-4 3-6 6-6s6 2 6 6M16 5.500a3 3 0 0 1 0 6M17 14.500c2.500.5 4 2.500 4 5.500",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2",
  moon: "M20 14a8 8 0 0 1-10-10 8 8 0 1 0 10 10z",
  screen: "M3 4h18v12H3zM8 20h8M12 16v4",
  back: "M15 5l-7 7 7 7",
  up: "M6 15l6-6 6 6",
  down: "M6 9l6 6 6-6",
  right: "M9 5l7 7-7 7",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  key: "M14 4a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM10.500 12.500L4 19v2h3l1-2h2v-2h2l1-2",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3.500 2",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  copy: "M8 8h12v12H8zM4 16V4h12",
  lock: "M6 11h12v9H6zM8 11V8a4 4 0 0 1 8 0v3",
  filter: "M3 5h18l-7 8v6l-4 2v-8z",
} as const;
export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={size > 24 ? 1.25 : 1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
