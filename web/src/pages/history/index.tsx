/** Every past request: filters in the address, a list without end, export. */

import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { lineOf } from "@/api/card";
import { call } from "@/api/client";
import type { Row, RowPage, Ticket } from "@/api/extra";
import { keys } from "@/api/keys";
import { cx } from "@/lib/cx";
import { decidedBy } from "@/lib/decided";
import { strings } from "@/strings";
import {
  Button,
  EmptyState,
  ErrorState,
  Field,
  Icon,
  Input,
  Loading,
  Page,
  RiskMark,
  Select,
  useToast,
  Verbatim,
} from "@/ui";
import { StateBadge, When } from "../shared/bits";
import { LongRow, LongTable, useLongList } from "../shared/long-table";
import { visible } from "../shared/visible";
import { exportAddress, type Filters, RISKS, readFilters, STATES } from "./filters";
import css from "./history.module.css";

const RequestPanel = lazy(() => import("./panel"));
const text = strings.history;
const PAGE = 200;
const ROW = 52;

/** Downloads what the filters show. */
function Export({
  format,
  filters,
  children,
}: {
  format: "jsonl" | "csv";
  filters: Filters;
  children: string;
}) {
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  const start = async () => {
    setBusy(true);
    try {
      const { ticket } = await call<Ticket>("/v1/requests/export/ticket", { method: "POST" });
      const link = document.createElement("a");
      link.href = exportAddress(format, filters, ticket);
      link.download = "";
      link.click();
    } catch (error) {
      toast({ text: `${text.exportFailed}: ${error instanceof Error ? error.message : ""}`, tone: "bad" });
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      type="button"
      className={css.export}
      title={text.exportHint}
      disabled={busy}
      onClick={() => void start()}
    >
      {children}
    </button>
  );
}

/** The filters, and a way to change them; what is typed reaches the address after a pause. */
function useFilters(): [Filters, string | null, (change: Partial<Filters> & { id?: string | null }) => void] {
  const search = useSearch({ strict: false }) as Record<string, unknown>;
  const navigate = useNavigate();
  const filters = useMemo(() => readFilters(search), [search]);
  const id = typeof search.id === "string" ? search.id : null;
  const change = useCallback(
    (next: Partial<Filters> & { id?: string | null }) => {
      const all: Record<string, unknown> = { ...filters, ...(id ? { id } : {}), ...next };
      for (const [name, value] of Object.entries(all)) if (!value) delete all[name];
      navigate({ to: "/history", search: all as never, replace: !("id" in next) });
    },
    [filters, id, navigate],
  );
  return [filters, id, change];
}

function TextFilter({
  label,
  value,
  onChange,
  placeholder,
}: {
  label: string;
  value: string;
  onChange(value: string): void;
  placeholder?: string;
}) {
  const [draft, setDraft] = useState(value);
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => setDraft(value), [value]);
  useEffect(() => {
    if (draft.trim() === value) return;
    const timer = setTimeout(() => latest.current(draft.trim()), 250);
    return () => clearTimeout(timer);
  }, [draft, value]);
  return (
    <Field label={label}>
      <Input
        type="search"
        value={draft}
        placeholder={placeholder}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setDraft(event.target.value)}
      />
    </Field>
  );
}

/** One of a few words, or any. */
function ChoiceFilter<T extends string>({
  label,
  value,
  words,
  names,
  onChange,
}: {
  label: string;
  value: T | undefined;
  words: readonly T[];
  names: Record<T, string>;
  onChange(value: T | undefined): void;
}) {
  return (
    <Field label={label}>
      <Select
        value={value ?? ""}
        onChange={(event) => onChange((event.target.value || undefined) as T | undefined)}
      >
        <option value="">{text.any}</option>
        {words.map((word) => (
          <option key={word} value={word}>
            {names[word]}
          </option>
        ))}
      </Select>
    </Field>
  );
}

function FilterBar({ filters, change }: { filters: Filters; change(next: Partial<Filters>): void }) {
  const active = Object.keys(filters).length > 0;
  const [more, setMore] = useState(Boolean(filters.agent || filters.tool || filters.session));
  return (
    <search className={cx(css.filters, more && css.open)} aria-label={text.filters}>
      <div className={css.wide}>
        <TextFilter
          label={text.search}
          placeholder={text.searchHint}
          value={filters.q ?? ""}
          onChange={(q) => change({ q })}
        />
      </div>
      <ChoiceFilter
        label={text.state}
        value={filters.state}
        words={STATES}
        names={strings.state}
        onChange={(state) => change({ state })}
      />
      <ChoiceFilter
        label={text.risk}
        value={filters.risk}
        words={RISKS}
        names={strings.risk}
        onChange={(risk) => change({ risk })}
      />
      <Button className={css.toggle} aria-expanded={more} onClick={() => setMore(!more)}>
        <Icon name="filter" />
        {text.moreFilters}
      </Button>
      <div className={css.extra}>
        <TextFilter label={text.agent} value={filters.agent ?? ""} onChange={(agent) => change({ agent })} />
        <TextFilter label={text.tool} value={filters.tool ?? ""} onChange={(tool) => change({ tool })} />
        <TextFilter
          label={text.session}
          value={filters.session ?? ""}
          onChange={(session) => change({ session })}
        />
      </div>
      {active ? (
        <Button
          look="quiet"
          className={css.clear}
          onClick={() =>
            change({
              q: undefined,
              state: undefined,
              risk: undefined,
              agent: undefined,
              tool: undefined,
              session: undefined,
            })
          }
        >
          <Icon name="close" />
          {text.clear}
        </Button>
      ) : null}
    </search>
  );
}

/** Who decided, in a few words. */
function settledBy(row: Row): string {
  if (row.decided_by.length > 0) return row.decided_by.join(", ");
  if (row.state === "pending") return "–";
  if (row.state === "expired") return text.undecided;
  return row.decision ? decidedBy([], row.grant) : "–";
}

function HistoryRow({
  row,
  index,
  selected,
  open,
}: {
  row: Row;
  index: number;
  selected: boolean;
  open(id: string): void;
}) {
  return (
    <LongRow index={index} className={cx(css.row, selected && css.selected)} open={() => open(row.id)}>
      <div role="cell" className={css.when}>
        <When time={row.created_at} />
      </div>
      <div role="cell" className={css.state}>
        <StateBadge state={row.state} />
      </div>
      <div role="cell" className={css.what}>
        <a
          href={`/history?id=${row.id}`}
          className={css.link}
          aria-current={selected ? "true" : undefined}
          onClick={(event) => {
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            open(row.id);
          }}
        >
          <Verbatim>{lineOf(row).sentence || (row.tool ?? strings.kind[row.kind])}</Verbatim>
        </a>
        <span className={css.sub}>
          {visible(row.agent)}
          {row.tool ? (
            <>
              {" · "}
              <code>{row.tool}</code>
            </>
          ) : (
            ` · ${strings.kind[row.kind]}`
          )}
        </span>
      </div>
      <div role="cell" className={css.risk}>
        <RiskMark risk={row.risk} />
      </div>
      <div role="cell" className={css.who}>
        {settledBy(row)}
      </div>
    </LongRow>
  );
}

function List({
  rows,
  more,
  loadMore,
  loading,
  selected,
  open,
}: {
  rows: Row[];
  more: boolean;
  loading: boolean;
  loadMore(): void;
  selected: string | null;
  open(id: string): void;
}) {
  const long = useLongList(rows.length + (more ? 1 : 0), ROW);
  const last = long.shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && !loading && last >= rows.length - 40) loadMore();
  }, [more, loading, last, rows.length, loadMore]);
  return (
    <LongTable
      label={text.list}
      rowCount={more ? -1 : rows.length + 1}
      long={long}
      rowClass={css.row}
      className={css.table}
      columns={[
        { head: text.when, className: css.when },
        { head: text.state, className: css.state },
        { head: text.what, className: css.what },
        { head: text.risk, className: css.risk },
        { head: text.who, className: css.who },
      ]}
    >
      {(index) => {
        const row = rows[index];
        if (row) return <HistoryRow row={row} index={index} selected={row.id === selected} open={open} />;
        return (
          <LongRow index={index} className={css.row}>
            <div role="cell" className={css.more}>
              {text.more}
            </div>
          </LongRow>
        );
      }}
    </LongTable>
  );
}

export default function HistoryPage() {
  const [filters, id, change] = useFilters();
  const query = useInfiniteQuery({
    queryKey: [...keys.requests, "history", filters],
    queryFn: ({ pageParam, signal }) =>
      call<RowPage>("/v1/requests", {
        signal,
        query: { ...filters, view: "row", limit: PAGE, cursor: pageParam },
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
    placeholderData: keepPreviousData,
    maxPages: undefined,
  });
  const rows = useMemo(() => {
    const seen = new Set<string>();
    // A request that changed between two pages may come twice.
    return (query.data?.pages ?? [])
      .flatMap((page) => page.items)
      .filter((row) => !seen.has(row.id) && seen.add(row.id));
  }, [query.data]);
  const { fetchNextPage } = query;
  const loadMore = useCallback(() => void fetchNextPage(), [fetchNextPage]);
  const filtered = Object.keys(filters).length > 0;
  const open = useCallback((next: string) => change({ id: next }), [change]);
  const close = useCallback(() => change({ id: null }), [change]);
  return (
    <div className={css.frame}>
      <Page
        title={text.title}
        about={text.about}
        actions={
          <>
            <Export format="jsonl" filters={filters}>
              {text.exportJsonl}
            </Export>
            <Export format="csv" filters={filters}>
              {text.exportCsv}
            </Export>
          </>
        }
      >
        <FilterBar filters={filters} change={change} />
        {query.isPending ? (
          <Loading />
        ) : query.isError && rows.length === 0 ? (
          <ErrorState error={query.error} retry={() => void query.refetch()} />
        ) : rows.length === 0 ? (
          <EmptyState icon="history" title={filtered ? text.noMatch : text.empty}>
            {filtered ? text.noMatchText : text.emptyText}
          </EmptyState>
        ) : (
          <>
            <p className={css.count} role="status">
              {text.loaded(rows.length, query.hasNextPage)}
            </p>
            <List
              rows={rows}
              more={query.hasNextPage}
              loading={query.isFetchingNextPage}
              loadMore={loadMore}
              selected={id}
              open={open}
            />
          </>
        )}
      </Page>
      {id ? (
        <Suspense fallback={null}>
          <RequestPanel id={id} close={close} />
        </Suspense>
      ) : null}
    </div>
  );
}
