/** Search, filters and grouping of the queue. */
import type { Ref } from "react";
import type { Kind, Risk } from "@/api/extra";
import type { QueueSearch } from "@/app/router";
import { strings } from "@/strings";
import { Button, Icon, Input, Select } from "@/ui";
import { anyFilter, type Grouping } from "./model";
import css from "./queue.module.css";

const s = strings.queue;

export function Toolbar({
  search,
  agents,
  input,
  onChange,
}: {
  search: QueueSearch;
  agents: string[];
  input: Ref<HTMLInputElement>;
  onChange(change: Partial<QueueSearch>): void;
}) {
  return (
    <div className={css.toolbar}>
      <div className={css.search}>
        <Icon name="search" />
        <Input
          ref={input}
          type="search"
          aria-label={s.search}
          placeholder={s.searchPlaceholder}
          value={search.q ?? ""}
          onChange={(event) => onChange({ q: event.target.value || undefined })}
          onKeyDown={(event) => {
            if (event.key === "Escape" || event.key === "Enter") event.currentTarget.blur();
          }}
        />
      </div>
      <div className={css.filters} role="group" aria-label={s.filters}>
        <Select
          aria-label={strings.risk.label}
          value={search.risk ?? ""}
          onChange={(event) => onChange({ risk: event.target.value || undefined })}
        >
          <option value="">{s.allRisks}</option>
          {(["medium", "high", "critical"] as Risk[]).map((risk) => (
            <option key={risk} value={risk}>
              {risk === "critical" ? strings.risk[risk] : s.riskFrom(strings.risk[risk])}
            </option>
          ))}
        </Select>
        <Select
          aria-label={s.allKinds}
          value={search.kind ?? ""}
          onChange={(event) => onChange({ kind: event.target.value || undefined })}
        >
          <option value="">{s.allKinds}</option>
          {(["action", "plan", "input", "confirmation"] as Kind[]).map((kind) => (
            <option key={kind} value={kind}>
              {strings.kind[kind]}
            </option>
          ))}
        </Select>
        <Select
          aria-label={s.agent}
          value={search.agent ?? ""}
          onChange={(event) => onChange({ agent: event.target.value || undefined })}
        >
          <option value="">{s.allAgents}</option>
          {agents.map((agent) => (
            <option key={agent} value={agent}>
              {agent}
            </option>
          ))}
        </Select>
        <Select
          aria-label={s.grouping}
          value={search.group ?? "none"}
          onChange={(event) => {
            const group = event.target.value as Grouping;
            onChange({ group: group === "none" ? undefined : group });
          }}
        >
          <option value="none">{s.groupNone}</option>
          <option value="session">{s.groupSession}</option>
          <option value="same">{s.groupSame}</option>
        </Select>
      </div>
      {search.session || search.tool || anyFilter(search) ? (
        <div className={css.active}>
          {search.session ? <span className="verbatim">{s.onlySession(search.session)}</span> : null}
          {search.tool ? <span className="verbatim">{s.onlyTool(search.tool)}</span> : null}
          <Button
            size="small"
            look="quiet"
            onClick={() =>
              onChange({
                q: undefined,
                risk: undefined,
                kind: undefined,
                agent: undefined,
                tool: undefined,
                session: undefined,
              })
            }
          >
            {s.clearFilters}
          </Button>
        </div>
      ) : null}
    </div>
  );
}
