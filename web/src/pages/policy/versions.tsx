/** Every policy that was put, and what changed between two. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { cx } from "@/lib/cx";
import { moment } from "@/lib/time";
import { strings } from "@/strings";
import { Badge, Button, EmptyState, ErrorState, Field, Loading, Select } from "@/ui";
import { Hash } from "../shared/bits";
import { visible } from "../shared/visible";
import { type Policy, type Version, versionQuery } from "./data";
import { DiffView } from "./diff-view";
import css from "./policy.module.css";

const text = strings.policy;
const short = (hash: string) => hash.replace(/^sha256:/, "").slice(0, 12);

function VersionDiff({ left, right }: { left: string; right: string }) {
  const before = useQuery(versionQuery(left));
  const after = useQuery(versionQuery(right));
  const error = before.error ?? after.error;
  if (error) return <ErrorState error={error} />;
  if (!before.data || !after.data) return <Loading />;
  return <DiffView before={before.data.text} after={after.data.text} label={text.compareWith} />;
}

export function Versions({ policy, edit }: { policy: Policy; edit(text: string): void }) {
  const versions = policy.versions ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  const [other, setOther] = useState<string | null>(null);
  const at = Math.max(
    0,
    versions.findIndex((version) => version.hash === chosen),
  );
  const version: Version | undefined = versions[at];
  const against = other ?? versions.slice(at + 1).find((each) => each.hash !== version?.hash)?.hash ?? null;
  const loaded = useQuery({ ...versionQuery(version?.hash ?? ""), enabled: version !== undefined });
  if (!version) {
    return (
      <EmptyState icon="policy" title={text.versionsEmpty}>
        {text.versionsEmptyText}
      </EmptyState>
    );
  }
  return (
    <div className={css.versions}>
      <ol className={css.versionList} aria-label={text.versions}>
        {versions.map((each, index) => (
          <li key={`${each.hash}${index}`}>
            <button
              type="button"
              aria-current={index === at ? "true" : undefined}
              className={cx(css.version, index === at && css.versionChosen)}
              onClick={() => {
                setChosen(each.hash);
                setOther(null);
              }}
            >
              <span>
                <Hash value={each.hash} /> {each.active ? <Badge tone="good">{text.active}</Badge> : null}
              </span>
              <span className={css.quiet}>
                {visible(each.by)} · {moment(each.at)}
              </span>
              <span className={css.quiet}>{visible(each.source)}</span>
            </button>
          </li>
        ))}
      </ol>
      <div className={css.versionDiff}>
        <div className={css.bar}>
          <Field label={text.compare}>
            <Select value={against ?? ""} onChange={(event) => setOther(event.target.value)}>
              {against === null ? <option value="">–</option> : null}
              {versions
                .filter(
                  (each, index) =>
                    each.hash !== version.hash &&
                    versions.findIndex((one) => one.hash === each.hash) === index,
                )
                .map((each) => (
                  <option key={each.hash} value={each.hash}>
                    {short(each.hash)} · {moment(each.at)}
                  </option>
                ))}
            </Select>
          </Field>
          <span className={css.push} />
          <Button disabled={!loaded.data} onClick={() => loaded.data && edit(loaded.data.text)}>
            {text.load}
          </Button>
        </div>
        {against ? (
          <VersionDiff left={against} right={version.hash} />
        ) : loaded.data ? (
          <DiffView before="" after={loaded.data.text} label={text.text} />
        ) : (
          <Loading />
        )}
      </div>
    </div>
  );
}
