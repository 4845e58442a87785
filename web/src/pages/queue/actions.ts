/** Sends a decision and shows the result. */

import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { sentenceOf } from "@/api/card";
import { ApiError, idempotencyKey } from "@/api/client";
import type { Decide, RequestRecord } from "@/api/extra";
import { keys } from "@/api/keys";
import { votesOf } from "@/api/queue";
import { decide } from "@/api/requests";
import { decidedBy } from "@/lib/decided";
import { drafts } from "@/lib/drafts";
import { ago } from "@/lib/time";
import { strings } from "@/strings";
import { useToast } from "@/ui";
import { undos } from "./undo";

const s = strings.queue;

/** What happened to a request that can no longer be decided, in words. */
export function happened(record: RequestRecord): string {
  const by = record.decision ? decidedBy(record.decision.by, record.decision.grant) : "";
  const when = record.decision ? ago(record.decision.at) : "";
  return s.was(strings.state[record.state], by, when);
}

/** Why a decision was refused, in words for the person who made it. */
export function refusal(error: unknown): string {
  if (!(error instanceof ApiError))
    return error instanceof Error ? error.message : strings.common.unknownError;
  const { record } = error.problem ?? {};
  if (error.status === 401) return s.signedOut;
  if (error.code === "stale_display") return s.staleDisplay;
  if (error.code === "stale_digest" || error.code === "stale_version") return s.staleDigest;
  if (error.status === 409 && record && record.state !== "pending")
    return `${happened(record)} ${s.notApplied}`;
  return error.message;
}

export type Submit = (
  record: RequestRecord,
  body: Decide,
  how: { undo: boolean; label: string },
) => Promise<void>;

/** Sends now, or after the undo window. Rejects only when sending now is refused. */
export function useSubmit(): Submit {
  const client = useQueryClient();
  const toast = useToast();
  return useCallback(
    async (record, body, { undo, label }) => {
      const key = idempotencyKey();
      const send = async () => {
        try {
          const after = await decide(record.id, body, key);
          // The draft is dropped only now, so that an ended session does not lose it.
          drafts.drop(record.id);
          const open = after.state === "pending";
          const votes = votesOf(after);
          toast({
            text: open ? s.voted(votes.have, votes.need) : s.sent[body.decision],
            tone: open ? "accent" : body.decision === "deny" ? "neutral" : "good",
            milliseconds: 3000,
          });
        } finally {
          client.invalidateQueries({ queryKey: keys.request(record.id) });
          client.invalidateQueries({ queryKey: keys.requestHistory(record.id) });
          if (body.remember) client.invalidateQueries({ queryKey: keys.grants });
        }
      };
      if (!undo) return send();
      undos.add(record.id, `${label}: ${sentenceOf(record)}`, () => {
        send().catch((error: unknown) => toast({ text: refusal(error), tone: "bad", milliseconds: 12_000 }));
      });
    },
    [client, toast],
  );
}
