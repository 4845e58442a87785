/** Warns reviewers who approve faster than they can read. Only they see it, and nothing is blocked. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { paceQuery } from "@/api/attention";
import { strings } from "@/strings";
import { Icon } from "@/ui";
import css from "./shell.module.css";

export function PaceWarning() {
  const { data } = useQuery(paceQuery);
  if (!data?.warned || !data.text) return null;
  return (
    <div className={css.pace} role="status" data-testid="pace">
      <Icon name="insights" />
      <span>{data.text}</span>
      <Link to="/policy" search={{ tab: "suggest" }}>
        {strings.attention.paceRule}
      </Link>
    </div>
  );
}
