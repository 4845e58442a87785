/** A calm word to a reviewer who says yes faster than anybody reads. Only they see it, and it blocks nothing. */
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
