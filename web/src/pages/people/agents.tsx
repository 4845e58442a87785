/** Agents, the folders that are open to them, and what they report of themselves. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Agent, agentsQuery } from "@/api/agents";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { strings } from "@/strings";
import { Button, EmptyState, Field, Table, TextArea, useToast } from "@/ui";
import { FormDialog } from "@/ui/form-dialog";
import { Section } from "../shared/bits";
import { Loaded } from "../shared/loaded";
import { visible } from "../shared/visible";
import { CoverageDialog, CoveredMark } from "./coverage";
import { problem } from "./parts";
import css from "./people.module.css";

const text = strings.people;

/** Sets all folders of an agent: one a line. */
function FoldersDialog({ agent, close }: { agent: Agent; close(): void }) {
  const client = useQueryClient();
  const toast = useToast();
  const [folders, setFolders] = useState(agent.roots.join("\n"));
  const save = useMutation({
    mutationFn: () =>
      call(`/v1/agents/${encodeURIComponent(agent.name)}/roots`, {
        method: "PUT",
        body: {
          roots: folders
            .split("\n")
            .map((folder) => folder.trim())
            .filter((folder) => folder !== ""),
        },
      }),
    onSuccess: () => {
      toast({ text: text.foldersSaved(visible(agent.name)), tone: "good" });
      void client.invalidateQueries({ queryKey: keys.agents });
      close();
    },
  });
  return (
    <FormDialog
      title={text.foldersTitle(visible(agent.name))}
      submit={text.save}
      ready={!save.isPending}
      error={problem(save.error)}
      onSubmit={() => save.mutate()}
      onClose={close}
    >
      <Field label={text.folders} hint={text.foldersHint}>
        <TextArea
          autoComplete="off"
          spellCheck={false}
          rows={4}
          value={folders}
          onChange={(event) => setFolders(event.target.value)}
        />
      </Field>
    </FormDialog>
  );
}

export function Agents() {
  const query = useQuery(agentsQuery);
  const [editing, setEditing] = useState<Agent | null>(null);
  const [shown, setShown] = useState<Agent | null>(null);
  return (
    <Section title={text.agents} text={text.agentsText}>
      <Loaded query={query}>
        {() => (
          <Table
            cards
            label={text.agents}
            items={query.data ?? []}
            rowKey={(agent) => agent.name}
            empty={
              <EmptyState icon="key" title={text.noAgents}>
                {text.noKeysText}
              </EmptyState>
            }
            columns={[
              { key: "name", head: text.name, cell: (agent) => <strong>{visible(agent.name)}</strong> },
              {
                key: "owner",
                head: text.keyOwner,
                cell: (agent) => (agent.owner ? visible(agent.owner) : "–"),
              },
              {
                key: "coverage",
                head: text.coverage,
                cell: (agent) => <CoveredMark agent={agent} />,
              },
              {
                key: "folders",
                head: text.folders,
                cell: (agent) =>
                  agent.roots.length === 0 ? (
                    <span className={css.quiet}>{text.noFolders}</span>
                  ) : (
                    <ul className={css.folders}>
                      {agent.roots.map((root) => (
                        <li key={root}>
                          <code>{visible(root)}</code>
                        </li>
                      ))}
                    </ul>
                  ),
              },
              {
                key: "actions",
                head: <span className="visually-hidden">{text.actions}</span>,
                number: true,
                cell: (agent) => (
                  <span className={css.actions}>
                    <Button
                      size="small"
                      aria-label={`${text.coverage}: ${agent.name}`}
                      onClick={() => setShown(agent)}
                    >
                      {text.coverage}
                    </Button>
                    <Button
                      size="small"
                      aria-label={`${text.editFolders}: ${agent.name}`}
                      onClick={() => setEditing(agent)}
                    >
                      {text.editFolders}
                    </Button>
                  </span>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      {editing ? <FoldersDialog agent={editing} close={() => setEditing(null)} /> : null}
      {shown ? <CoverageDialog agent={shown} close={() => setShown(null)} /> : null}
    </Section>
  );
}
