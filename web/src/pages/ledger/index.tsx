/** The ledger: whether the chain is whole, a way to check it again, and every entry. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ApiError, call, send } from "@/api/client";
import type { LedgerStatus, VerifyLine } from "@/api/extra";
import { keys } from "@/api/keys";
import { useLiveEvents } from "@/api/live";
import { cx } from "@/lib/cx";
import { ago, exact } from "@/lib/time";
import { strings } from "@/strings";
import { Badge, Banner, Button, Dialog, EmptyState, Icon, Input, Page } from "@/ui";
import { CopyButton, Hash, Section, When } from "../shared/bits";
import { Loaded } from "../shared/loaded";
import { LongRow, LongTable, useLongList } from "../shared/long-table";
import { ndjson } from "../shared/ndjson";
import { visible, visibleJson } from "../shared/visible";
import { type LedgerItem, pageOf, subject, useEntries } from "./ledger";
import css from "./ledger.module.css";

const text = strings.ledger;
const ROW = 40;

interface VerifyProgress {
  checked: number;
  total: number;
}

/** Runs the check and follows its progress. */
function useVerify() {
  const client = useQueryClient();
  const [checking, setChecking] = useState<VerifyProgress | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const run = useCallback(async () => {
    const controller = new AbortController();
    abort.current = controller;
    setProblem(null);
    setChecking({ checked: 0, total: 0 });
    try {
      const response = await send("/v1/ledger/verify", { method: "POST", signal: controller.signal });
      let finished = false;
      for await (const line of ndjson<VerifyLine>(response)) {
        if ("done" in line) {
          finished = true;
          client.setQueryData<LedgerStatus>(keys.ledgerStatus, (before) => ({
            head: line.head,
            entries: Math.max(line.entries, before?.entries ?? 0),
            verified: { ok: line.ok, entries: line.entries, at: line.at, problem: line.problem },
          }));
        } else setChecking(line);
      }
      if (!finished) setProblem(text.cut);
    } catch (error) {
      if (controller.signal.aborted) return;
      setProblem(error instanceof ApiError && error.code === "busy" ? text.busy : (error as Error).message);
    } finally {
      if (!controller.signal.aborted) setChecking(null);
    }
  }, [client]);
  return { checking, problem, run };
}

function Seal({ status }: { status: LedgerStatus }) {
  const { checking, problem, run } = useVerify();
  const { verified } = status;
  const look = verified === null ? "unknown" : verified.ok ? "whole" : "broken";
  const since = verified ? Math.max(0, status.entries - verified.entries) : 0;
  return (
    <section className={cx(css.seal, css[look])} aria-label={text.title}>
      <div className={css.mark} aria-hidden>
        <Icon name={look === "whole" ? "check" : look === "broken" ? "warning" : "ledger"} size={28} />
      </div>
      <div className={css.words} aria-live="polite">
        <h2>{look === "whole" ? text.verified : look === "broken" ? text.broken : text.never}</h2>
        {checking ? (
          <div className={css.progress}>
            <progress
              aria-label={text.verifying}
              max={Math.max(1, checking.total)}
              value={checking.total > 0 ? checking.checked : undefined}
            />
            <span>
              {text.verifying}
              {checking.total > 0 ? `: ${text.progress(checking.checked, checking.total)}` : ""}
            </span>
          </div>
        ) : (
          <p>
            {verified === null
              ? text.neverText
              : verified.ok
                ? text.verifiedText(verified.entries, ago(verified.at))
                : visible(verified.problem ?? "")}{" "}
            {since > 0 ? text.since(since) : null}
          </p>
        )}
      </div>
      <Button
        look={look === "whole" ? "plain" : "primary"}
        disabled={checking !== null}
        onClick={() => void run()}
      >
        {verified ? text.again : text.verify}
      </Button>
      {problem ? (
        <div className={css.problem}>
          <Banner tone="bad" role="alert">
            {problem}
          </Banner>
        </div>
      ) : null}
      <dl className={css.facts}>
        <div>
          <dt>{text.entries}</dt>
          <dd>{status.entries.toLocaleString()}</dd>
        </div>
        <div className={css.headFact}>
          <dt title={text.headHint}>{text.head}</dt>
          <dd>
            <code>{status.head}</code>
            <CopyButton text={status.head} />
          </dd>
        </div>
      </dl>
    </section>
  );
}

function EntryDialog({
  item,
  head,
  go,
  close,
}: {
  item: LedgerItem;
  head: number;
  go(seq: number): void;
  close(): void;
}) {
  const { entry } = item;
  return (
    <Dialog
      open
      wide
      title={text.entry(item.seq)}
      onClose={close}
      footer={
        <>
          {entry.request ? (
            <Link to="/history" search={{ id: entry.request }} className={css.open}>
              {text.request}
            </Link>
          ) : null}
          <Button disabled={item.seq <= 1} onClick={() => go(item.seq - 1)}>
            {text.older}
          </Button>
          <Button disabled={item.seq >= head} onClick={() => go(item.seq + 1)}>
            {text.newer}
          </Button>
        </>
      }
    >
      <dl className={css.detail}>
        <dt>{text.event}</dt>
        <dd>
          <Badge>{entry.data.type}</Badge>
        </dd>
        <dt>{text.when}</dt>
        <dd>{exact(entry.at)}</dd>
        <dt>{text.by}</dt>
        <dd>
          {visible(entry.by.name)} · {entry.by.role} · {entry.by.auth}
        </dd>
        <dt>{text.own}</dt>
        <dd>
          <code>{item.hash}</code>
        </dd>
        <dt>{text.previous}</dt>
        <dd>
          <code>{entry.prev}</code>
        </dd>
      </dl>
      <figure className={css.canonical}>
        <figcaption>{text.canonical}</figcaption>
        <pre className="verbatim" tabIndex={0}>
          {visibleJson(entry)}
        </pre>
      </figure>
    </Dialog>
  );
}

function Entries({ head }: { head: number }) {
  const [open, setOpen] = useState<number | null>(null);
  const [jump, setJump] = useState("");
  const long = useLongList(head, ROW);
  const { list, shown } = long;
  const pages = useMemo(() => {
    const wanted = new Set(shown.map((item) => pageOf(head - item.index)));
    if (open !== null) wanted.add(pageOf(open));
    return [...wanted].sort((left, right) => left - right);
  }, [shown, head, open]);
  const { find, error } = useEntries(pages, head);
  const opened = open === null ? null : find(open);
  const go = (seq: number) => {
    const wanted = Math.min(head, Math.max(1, Math.round(seq)));
    list.scrollToIndex(head - wanted, { align: "center" });
    setOpen(wanted);
  };
  return (
    <Section
      title={text.entries}
      actions={
        <form
          className={css.jump}
          onSubmit={(event) => {
            event.preventDefault();
            const seq = Number(jump);
            if (Number.isFinite(seq) && seq >= 1) go(seq);
          }}
        >
          <label htmlFor="ledger-jump">{text.jump}</label>
          <Input
            id="ledger-jump"
            inputMode="numeric"
            pattern="[0-9]*"
            value={jump}
            onChange={(event) => setJump(event.target.value)}
          />
          <Button type="submit">{text.go}</Button>
        </form>
      }
    >
      {error ? <Banner tone="bad">{(error as Error).message}</Banner> : null}
      <LongTable
        label={text.list}
        rowCount={head + 1}
        long={long}
        rowClass={css.row}
        className={css.table}
        columns={[
          { head: text.number, className: css.seq },
          { head: text.event },
          { head: text.by, className: css.by },
          { head: text.about_, className: css.about },
          { head: text.when, className: css.when },
          { head: text.hash, className: css.hash },
        ]}
      >
        {(index) => {
          const seq = head - index;
          const item = find(seq);
          return (
            <LongRow key={seq} index={index} className={css.row} open={() => item && setOpen(seq)}>
              <div role="cell" className={css.seq}>
                <button
                  type="button"
                  disabled={!item}
                  aria-label={text.entry(seq)}
                  onClick={() => setOpen(seq)}
                >
                  {seq.toLocaleString()}
                </button>
              </div>
              {item ? (
                <>
                  <div role="cell" className={css.cut}>
                    <code>{item.entry.data.type}</code>
                  </div>
                  <div role="cell" className={cx(css.cut, css.by)}>
                    {visible(item.entry.by.name)}
                  </div>
                  <div role="cell" className={cx(css.cut, css.about)}>
                    {visible(subject(item.entry))}
                  </div>
                  <div role="cell" className={css.when}>
                    <When time={item.entry.at} />
                  </div>
                  <div role="cell" className={css.hash}>
                    <Hash value={item.hash} length={10} />
                  </div>
                </>
              ) : (
                <div role="cell" className={css.wait}>
                  {item === null ? text.missing : "…"}
                </div>
              )}
            </LongRow>
          );
        }}
      </LongTable>
      {opened ? <EntryDialog item={opened} head={head} go={go} close={() => setOpen(null)} /> : null}
    </Section>
  );
}

export default function LedgerPage() {
  const client = useQueryClient();
  const status = useQuery({
    queryKey: keys.ledgerStatus,
    queryFn: ({ signal }) => call<LedgerStatus>("/v1/ledger/status", { signal }),
    refetchInterval: 30_000,
  });
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  // Every event is an entry: the number of entries follows, at most once a second.
  useLiveEvents(
    useCallback(() => {
      if (timer.current) return;
      timer.current = setTimeout(() => {
        timer.current = null;
        void client.invalidateQueries({ queryKey: keys.ledgerStatus });
      }, 1000);
    }, [client]),
  );
  useEffect(
    () => () => {
      if (timer.current) clearTimeout(timer.current);
    },
    [],
  );
  return (
    <Page title={text.title} about={text.about}>
      <Loaded query={status}>
        {(data) => (
          <>
            <Seal status={data} />
            {data.entries === 0 ? (
              <EmptyState icon="ledger" title={text.empty} />
            ) : (
              <Entries head={data.entries} />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}
