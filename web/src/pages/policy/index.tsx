/** The policy page: the policy in force, the editor, earlier versions, shadow, grants and suggestions. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useCanSuggest } from "@/api/session";
import { ago } from "@/lib/time";
import { strings } from "@/strings";
import { Banner, Button, ErrorState, Loading, Page, Tabs } from "@/ui";
import { Hash } from "../shared/bits";
import { visible } from "../shared/visible";
import { CodeView, marksOf } from "./code";
import { type Policy, policyQuery } from "./data";
import { type Draft, Edit, keepDraft, keptDraft } from "./edit";
import { Grants } from "./grants";
import { Notes } from "./notes";
import css from "./policy.module.css";
import { ShadowTab } from "./shadow";
import { Suggest } from "./suggest";
import { Versions } from "./versions";

const text = strings.policy;
const TABS = ["view", "edit", "versions", "shadow", "grants", "suggest"] as const;
type Tab = (typeof TABS)[number];

function useTab(): [Tab, (tab: Tab) => void] {
  const search = useSearch({ strict: false }) as { tab?: unknown };
  const navigate = useNavigate();
  return [
    TABS.find((tab) => tab === search.tab) ?? "view",
    (tab) => void navigate({ to: "/policy", search: (tab === "view" ? {} : { tab }) as never }),
  ];
}

function InForce({ policy, edit }: { policy: Policy; edit(): void }) {
  const rules = policy.text.match(/^\s*\[\[rule\]\]/gm)?.length ?? 0;
  return (
    <div className={css.edit}>
      <div className={css.bar}>
        <dl className={css.facts}>
          <div>
            <dt>{text.name}</dt>
            <dd>{visible(policy.name ?? text.unnamed)}</dd>
          </div>
          <div>
            <dt>{text.hash}</dt>
            <dd>
              <Hash value={policy.hash} />
            </dd>
          </div>
          <div>
            <dt>{text.source}</dt>
            <dd>
              {policy.by && policy.at ? text.put(visible(policy.by), ago(policy.at)) : text.builtIn}
              {policy.source === "built-in" ? null : (
                <span className={css.quiet}> · {visible(policy.source)}</span>
              )}
            </dd>
          </div>
        </dl>
        <span className={css.push} />
        <span className={css.quiet}>{text.rules(rules)}</span>
        <Button onClick={edit}>{text.editThis}</Button>
      </div>
      {policy.broken ? (
        <Banner tone="bad" role="alert">
          {text.broken} {visible(policy.broken)}
        </Banner>
      ) : null}
      <Notes warnings={policy.warnings} findings={policy.findings} />
      <CodeView
        text={policy.text}
        label={text.text}
        marks={marksOf([], [...policy.warnings, ...policy.findings])}
      />
    </div>
  );
}

export default function PolicyPage() {
  const [tab, setTab] = useTab();
  const query = useQuery(policyQuery);
  const [draft, setState] = useState<Draft | null>(keptDraft);
  const setDraft = (next: Draft | null) => {
    keepDraft(next);
    setState(next);
  };
  const policy = query.data;
  const suggests = useCanSuggest();
  return (
    <Page title={text.title} about={text.about}>
      <Tabs
        label={text.tabs}
        value={tab}
        onChange={(id) => setTab(id as Tab)}
        items={[
          { id: "view", label: text.tabView },
          {
            id: "edit",
            label: draft && policy && draft.text !== policy.text ? `${text.tabEdit} •` : text.tabEdit,
          },
          { id: "versions", label: text.tabVersions },
          { id: "shadow", label: text.tabShadow },
          { id: "grants", label: text.tabGrants },
          ...(suggests ? [{ id: "suggest", label: strings.attention.suggest }] : []),
        ]}
      />
      {query.isPending ? (
        <Loading />
      ) : !policy ? (
        <ErrorState error={query.error} retry={() => void query.refetch()} />
      ) : tab === "edit" ? (
        <Edit policy={policy} draft={draft ?? { text: policy.text, base: policy.hash }} setDraft={setDraft} />
      ) : tab === "versions" ? (
        <Versions
          policy={policy}
          edit={(next) => {
            setDraft({ text: next, base: policy.hash });
            setTab("edit");
          }}
        />
      ) : tab === "shadow" ? (
        <ShadowTab />
      ) : tab === "suggest" && suggests ? (
        <Suggest
          policy={draft?.text ?? policy.text}
          edit={(next) => {
            setDraft({ text: next, base: draft?.base ?? policy.hash });
            setTab("edit");
          }}
        />
      ) : tab === "grants" ? (
        <Grants policy={policy.hash} />
      ) : (
        <InForce policy={policy} edit={() => setTab("edit")} />
      )}
    </Page>
  );
}
