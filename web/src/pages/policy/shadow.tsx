/** The candidate that is tried beside the policy in force. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { useHasRole } from "@/api/session";
import { ago } from "@/lib/time";
import { strings } from "@/strings";
import { Button, EmptyState, ErrorState, Loading, useToast } from "@/ui";
import { Hash, Section } from "../shared/bits";
import { visible } from "../shared/visible";
import { shadowQuery } from "./data";
import css from "./policy.module.css";
import { WhatIf } from "./what-if";

const text = strings.policy;

export function ShadowTab() {
  const admin = useHasRole("admin");
  const client = useQueryClient();
  const toast = useToast();
  const query = useQuery(shadowQuery);
  const remove = useMutation({
    mutationFn: () => call("/v1/policy/shadow", { method: "DELETE" }),
    onSuccess: () => {
      toast({ text: text.shadowRemoved, tone: "good" });
      void client.invalidateQueries({ queryKey: shadowQuery.queryKey });
    },
    onError: (error) => toast({ text: error.message, tone: "bad" }),
  });
  if (query.isPending) return <Loading />;
  if (query.error) return <ErrorState error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) {
    return (
      <EmptyState icon="policy" title={text.shadowNone}>
        {text.shadowNoneText}
      </EmptyState>
    );
  }
  return (
    <Section
      title={text.shadow}
      text={text.shadowText}
      actions={
        admin ? (
          <Button look="bad" disabled={remove.isPending} onClick={() => remove.mutate()}>
            {text.shadowRemove}
          </Button>
        ) : undefined
      }
    >
      <p className={css.quiet}>
        <Hash value={query.data.hash} /> · {text.shadowSince(visible(query.data.by), ago(query.data.since))}
      </p>
      <WhatIf report={query.data.report} />
    </Section>
  );
}
