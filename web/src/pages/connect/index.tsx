/** Connects an agent: a key is made, the lines to copy are filled in, and the first call shows here. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useCallback, useState, useSyncExternalStore } from "react";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { type LiveEvent, useLiveEvents } from "@/api/live";
import { useHasRole, useMe } from "@/api/session";
import { cx } from "@/lib/cx";
import { strings } from "@/strings";
import { Banner, Button, Field, Icon, Input, useToast } from "@/ui";
import { problem } from "../people/parts";
import { CopyButton } from "../shared/bits";
import { visible } from "../shared/visible";
import css from "./connect.module.css";
import { filled, SNIPPETS, type Snippet, type Step } from "./snippets";
import { sendTestRequest } from "./test-request";

const text = strings.connect;

interface AgentKey {
  name: string;
  key: string;
}

/** The keys that were made on this page. The first call hides it, and the key is shown nowhere else. */
const made = new Map<string, AgentKey>();
const watchers = new Set<() => void>();

function useMadeKey(id: string): AgentKey | undefined {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => made.get(id),
  );
}

export function Connect() {
  return (
    <section className={css.connect} aria-labelledby="connect-title">
      <h2 id="connect-title">{text.title}</h2>
      <p className={css.about}>{text.about}</p>
      <TestRequest />
      <Ways />
    </section>
  );
}

/** The ways to connect, and the steps of the chosen one. With a key that was made elsewhere, they are filled in at once. */
export function Ways({ known }: { known?: AgentKey }) {
  const [chosen, setChosen] = useState<Snippet | undefined>(SNIPPETS[0]);
  return (
    <>
      <fieldset className={css.choices}>
        <legend>{text.choose}</legend>
        {SNIPPETS.map((snippet) => (
          <Button
            key={snippet.id}
            size="small"
            aria-pressed={snippet.id === chosen?.id}
            className={cx(snippet.id === chosen?.id && css.chosen)}
            onClick={() => setChosen(snippet)}
          >
            {snippet.name}
          </Button>
        ))}
      </fieldset>
      {chosen ? <Steps key={chosen.id} snippet={chosen} known={known} /> : null}
    </>
  );
}

/** The steps of one way, with the key once it is made. */
function Steps({ snippet, known }: { snippet: Snippet; known: AgentKey | undefined }) {
  const admin = useHasRole("admin");
  const own = useMadeKey(snippet.id);
  const key = known ?? own;
  return (
    <>
      {known ? null : key ? (
        <Banner tone="good">{text.keyMade(visible(key.name))}</Banner>
      ) : admin ? (
        <MakeKey snippet={snippet} />
      ) : (
        <Banner tone="neutral">
          {text.notAdmin} <code>{`placet key new --role agent --name ${snippet.agent}`}</code>
        </Banner>
      )}
      <ol className={css.steps} aria-label={text.steps}>
        {snippet.steps.map((step) => (
          <StepLine key={step.text} step={step} url={window.location.origin} secret={key?.key ?? null} />
        ))}
      </ol>
      {key ? <FirstCall agent={key.name} /> : null}
      <p className={css.about}>{text.docs(snippet.docs)}</p>
    </>
  );
}

function StepLine({ step, url, secret }: { step: Step; url: string; secret: string | null }) {
  const code = filled(step, url, secret);
  const usable = secret !== null || !step.code.some((line) => line.includes("{{key}}"));
  return (
    <li>
      <p>{step.text}</p>
      <div className={css.code}>
        <pre data-language={step.language}>{code}</pre>
        {usable ? <CopyButton text={code} /> : null}
      </div>
    </li>
  );
}

/** Makes a key for the agent, and copies the lines that have it. */
function MakeKey({ snippet }: { snippet: Snippet }) {
  const client = useQueryClient();
  const me = useMe();
  const toast = useToast();
  const [name, setName] = useState(snippet.agent);
  const make = useMutation({
    mutationFn: () =>
      call<{ name: string; key: string | null }>("/v1/keys", {
        method: "POST",
        body: { name: name.trim(), role: "agent", owner: me.name },
      }),
    onSuccess: async (answer) => {
      void client.invalidateQueries({ queryKey: keys.keyList });
      void client.invalidateQueries({ queryKey: keys.agents });
      if (!answer.key) return;
      made.set(snippet.id, { name: answer.name, key: answer.key });
      for (const watcher of watchers) watcher();
      const step = snippet.steps.find((one) => one.code.some((line) => line.includes("{{key}}")));
      if (!step) return;
      try {
        await navigator.clipboard.writeText(filled(step, window.location.origin, answer.key));
        toast({ text: strings.shared.copied, tone: "good", milliseconds: 2000 });
      } catch {
        // The lines are on the screen, with a button to copy them.
      }
    },
  });
  return (
    <form
      className={css.make}
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() !== "") make.mutate();
      }}
    >
      <Field label={text.name} hint={text.nameHint} error={problem(make.error) ?? undefined}>
        <Input
          required
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <Button type="submit" look="primary" disabled={make.isPending}>
        <Icon name="key" /> {text.makeKey}
      </Button>
    </form>
  );
}

/** Turns live with the first call of the agent, by the stream that the page already has. */
function FirstCall({ agent }: { agent: string }) {
  const [seen, setSeen] = useState<LiveEvent["row"] | null>(null);
  const listen = useCallback(
    (events: LiveEvent[]) => {
      const mine = events.findLast((event) => event.row.agent === agent);
      if (mine) setSeen(mine.row);
    },
    [agent],
  );
  useLiveEvents(listen);
  return (
    <p role="status" className={cx(css.first, seen !== null && css.live)}>
      <span className={css.dot} aria-hidden />
      {seen
        ? text.came(
            visible(seen.agent),
            visible(seen.tool ?? strings.kind[seen.kind] ?? seen.kind),
            strings.state[seen.state] ?? seen.state,
          )
        : text.waiting}
    </p>
  );
}

function TestRequest() {
  const admin = useHasRole("admin");
  const toast = useToast();
  const send = useMutation({
    mutationFn: sendTestRequest,
    onSuccess: ({ waits, done }) => {
      toast({ text: waits ? text.testSent : text.testPassed, tone: waits ? "good" : "warn" });
      done.then(
        (state) => toast({ text: text.testOver(visible(state)), tone: "good" }),
        () => toast({ text: text.testFailed, tone: "bad" }),
      );
    },
    onError: (error) => toast({ text: problem(error) ?? text.testFailed, tone: "bad" }),
  });
  return (
    <div className={css.test}>
      <Button disabled={!admin || send.isPending} onClick={() => send.mutate()}>
        {text.test}
      </Button>
      <p className={css.about}>{admin ? text.testAbout : text.testAdmin}</p>
    </div>
  );
}
