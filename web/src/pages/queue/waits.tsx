/** Who waits for the answer, how long a yes is kept, and what came after it. */
import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import type { RequestRecord, Waiting } from "@/api/extra";
import { keys } from "@/api/keys";
import { moment, now } from "@/lib/time";
import { strings } from "@/strings";
import { Banner } from "@/ui";
import css from "./detail.module.css";

const s = strings.waits;

/** How often it is read again. No event tells that an agent hung up. */
const EVERY = 5_000;
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });

/** The time of day, with the date if it is another day. */
function until(time: string): string {
  const [date, today] = [new Date(time), new Date(now())];
  return date.toDateString() === today.toDateString() ? clock.format(date) : moment(time);
}

/** What is said before a yes. `warn` marks what a person should know first. */
export function waitLines(waiting: Waiting): { text: string; warn: boolean }[] {
  const { attached, brought, kept_until: kept, nobody, told } = waiting;
  const lines = [];
  if (nobody) lines.push({ text: s.nobody, warn: true });
  if (brought) lines.push({ text: s.brought, warn: false });
  else if (attached === true) lines.push({ text: s.attached, warn: false });
  else if (attached === false) lines.push({ text: kept ? s.gone(until(kept)) : s.goneReadable, warn: true });
  else lines.push({ text: kept ? `${s.unknown} ${s.kept(until(kept))}` : s.unknown, warn: false });
  if (told.length > 0) lines.push({ text: s.told(told.join(", ")), warn: false });
  return lines;
}

export function Waits({ record }: { record: RequestRecord }) {
  const pending = record.state === "pending" && record.waiting != null;
  const { data } = useQuery({
    queryKey: [...keys.request(record.id), "waiting"],
    queryFn: async ({ signal }) => {
      const path = `/v1/requests/${encodeURIComponent(record.id)}`;
      return (await call<RequestRecord>(path, { signal })).waiting ?? null;
    },
    initialData: record.waiting ?? null,
    staleTime: EVERY,
    refetchInterval: EVERY,
    enabled: pending,
  });
  if (!pending || !data) return null;
  return (
    <div role="status" aria-live="polite">
      {waitLines(data).map(({ text, warn }) => (
        <p key={text} className={warn ? css.hint : css.muted}>
          {text}
        </p>
      ))}
    </div>
  );
}

/** What became of a yes, in one sentence. Null while it is pending, and for a no. */
export function afterText(record: RequestRecord): { text: string; tone: "good" | "bad" | "neutral" } | null {
  const t = strings.after;
  const by = (time: string | null, text: (at: string) => string, without: string) =>
    time ? text(until(time)) : without;
  const resolver = record.outcome?.resolved_by ?? null;
  switch (record.state) {
    case "approved":
      return record.claimable && record.claim_by
        ? { text: t.waiting(until(record.claim_by)), tone: "neutral" }
        : null;
    case "claimed":
      return { text: by(record.report_by, t.running, t.runningOn), tone: "neutral" };
    case "succeeded":
      return { text: resolver ? t.resolvedWell(resolver) : t.succeeded, tone: "good" };
    case "failed":
      return { text: resolver ? t.resolvedBadly(resolver) : t.failed, tone: "bad" };
    case "lapsed":
      return { text: by(record.claim_by, t.lapsed, strings.state.lapsed), tone: "neutral" };
    case "unknown":
      return { text: by(record.report_by, t.unknown, strings.state.unknown), tone: "bad" };
    case "revoked":
      return { text: t.revoked, tone: "neutral" };
    case "expired":
      return { text: t.expired, tone: "neutral" };
    default:
      return null;
  }
}

export function AfterYes({ record }: { record: RequestRecord }) {
  const after = afterText(record);
  if (!after) return null;
  return (
    <Banner tone={after.tone} role="status">
      <span className="verbatim">{after.text}</span>
    </Banner>
  );
}
