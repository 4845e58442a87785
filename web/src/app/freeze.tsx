/** The stop switch: what is frozen, above every page, and the dialog that freezes. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "@/api/client";
import { type Freeze, freeze, unfreeze, useFreezes } from "@/api/freeze";
import { keys } from "@/api/keys";
import { useHasRole } from "@/api/session";
import { strings } from "@/strings";
import { Button, Field, Icon, Input, useToast } from "@/ui";
import { FormDialog } from "@/ui/form-dialog";
import css from "./shell.module.css";

const text = strings.freeze;

function problem(error: unknown): string | null {
  if (!error) return null;
  return error instanceof ApiError ? error.message : strings.common.unknownError;
}

export function Frozen() {
  const freezes = useFreezes();
  return freezes.map((one) => <Line key={one.id} freeze={one} />);
}

function Line({ freeze: one }: { freeze: Freeze }) {
  const client = useQueryClient();
  const toast = useToast();
  const admin = useHasRole("admin");
  const lift = useMutation({
    mutationFn: () => unfreeze(one.id),
    onSettled: () => client.invalidateQueries({ queryKey: keys.freezes }),
    onError: (error) => toast({ text: problem(error) ?? "", tone: "bad" }),
  });
  return (
    <div className={css.frozen} role="alert" data-testid="frozen">
      <Icon name="warning" />
      <span>
        <strong>{text.frozen(one.agent, one.tool)}</strong> {text.by(one.by)} <span>{one.reason}</span>
      </span>
      {admin ? (
        <Button size="small" disabled={lift.isPending} onClick={() => lift.mutate()}>
          {text.lift}
        </Button>
      ) : (
        <span>{text.askAdmin}</span>
      )}
    </div>
  );
}

export function FreezeDialog({ onClose }: { onClose(): void }) {
  const client = useQueryClient();
  const [agent, setAgent] = useState("");
  const [tool, setTool] = useState("");
  const [reason, setReason] = useState("");
  const stop = useMutation({
    mutationFn: () => freeze({ agent: agent.trim(), tool: tool.trim(), reason: reason.trim() }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keys.freezes });
      onClose();
    },
  });
  return (
    <FormDialog
      title={text.title}
      submit={text.stop(agent.trim(), tool.trim())}
      look="bad"
      ready={reason.trim() !== "" && !stop.isPending}
      error={problem(stop.error)}
      onSubmit={() => stop.mutate()}
      onClose={onClose}
    >
      <p>{text.explained}</p>
      <Field label={text.reason} hint={text.reasonHint}>
        <Input
          autoFocus
          value={reason}
          maxLength={1000}
          onChange={(event) => setReason(event.target.value)}
        />
      </Field>
      <Field label={text.agent} hint={text.scopeHint}>
        <Input mono value={agent} autoComplete="off" onChange={(event) => setAgent(event.target.value)} />
      </Field>
      <Field label={text.tool} hint={text.scopeHint}>
        <Input mono value={tool} autoComplete="off" onChange={(event) => setTool(event.target.value)} />
      </Field>
    </FormDialog>
  );
}
