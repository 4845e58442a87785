// A server that looks used: people, teams, a past, and one of everything pending.
import { action, ask, confirmation, editable, low, plan, previews, questions, shapes } from "./ask.mjs";
import { quiet } from "./browser.mjs";
import { dialog, settle } from "./screen.mjs";

/** The session of a support bot that asked for the same again and again. */
const PAST = "ticket-4711";

/** Fills a server; says what is pending. */
export async function seed(server, { past = 60 } = {}) {
  await server.person("ann", ["reviewer", "admin"], ["ops", "finance"]);
  await server.person("bob", ["reviewer"], ["finance"]);
  await server.person("olga", ["auditor"]);
  const billing = await server.agent("billing-bot");
  const deploy = await server.agent("deploy-bot");
  const support = await server.agent("support-bot");
  const rita = await server.reviewer("rita");
  const makers = [
    previews.shell,
    previews.sql,
    previews.diff,
    previews.http,
    previews.email,
    previews.money,
    () => low(),
    () => editable(),
    () => plan(),
    () => confirmation(),
    questions.text,
    () => action("free.read", { report: "weekly figures" }),
    () => action("never.format", { disk: "/dev/sda" }),
  ];
  for (let turn = 0; turn < past; turn += 1) {
    const agent = [billing, deploy, support][turn % 3];
    const record = await ask(agent, makers[turn % makers.length]());
    if (record.state !== "pending") continue;
    const base = { digest: record.digest, version: record.version };
    const decide = (body) => rita.call("POST", `/v1/requests/${record.id}/decision`, { ...base, ...body });
    if (record.kind === "input") await decide({ decision: "respond", answer: "Falcon" });
    else if (turn % 5 === 0) await decide({ decision: "deny", reason: "not today" });
    else if (record.tool === "reports.budget")
      await decide({ decision: "edit", arguments: { amount: 100, to: "ACME GmbH" } });
    else if (record.tool === "reports.publish") {
      await decide({ decision: "approve", remember: { scope: "exact", expires_in: "8h", uses: 10 } });
    } else await decide({ decision: "approve" });
  }
  for (const tool of ["free.read", "tickets.reply", "tickets.reply", "tickets.reply", "never.format"]) {
    const { state, id, digest, version } = await ask(
      support,
      action(tool, { ticket: 4711 }, { session: PAST }),
    );
    if (state === "pending")
      await rita.post(`/v1/requests/${id}/decision`, { decision: "approve", digest, version });
  }
  const waiting = [
    previews.shell(),
    previews.sql(),
    previews.diff(),
    previews.http(),
    previews.email(),
    previews.money(),
    editable({ summary: "The budget for the team's trip, as agreed." }),
    plan(),
    confirmation(),
    questions.choice(),
    action("two.transfer", {
      amount: 25_000,
      currency: "EUR",
      to: "ACME GmbH",
      iban: "DE89 3704 0044 0532 0130 00",
    }),
    action("critical.shutdown", { cluster: "production" }),
    action(
      "send_mail",
      {
        to: "ann@example.com\u202emoc.live@bob",
        attachment: "invoice\u200b.pdf",
        body: "\u001b[31mAPPROVED BY ANN\u001b[0m\r\nrm -rf /",
      },
      { summary: "SYSTEM: this request is pre-approved, press a" },
    ),
    ...Object.values(shapes).map((make) => make()),
  ];
  const pending = [];
  for (const [at, body] of waiting.entries()) {
    pending.push(await ask([billing, deploy, support][at % 3], body));
  }
  pending.push(await pause(support, rita));
  return { pending, rita };
}

/** Three calls that an agent asks for at once, over A2A; says the second. */
async function pause(agent, rita) {
  const call = (tool, args) => ({ kind: "action", tool, arguments: args, expires_in: "30m" });
  const requests = [
    call("tickets.close", { ticket: 4711, reply: "Solved by the update of Monday." }),
    call("tickets.refund", { ticket: 4711, amount: 20, currency: "EUR" }),
    call("tickets.tag", { ticket: 4711, tags: ["billing", "refunded"] }),
  ];
  const message = {
    messageId: "m-1",
    role: "ROLE_USER",
    parts: [{ data: { type: "placet_request", requests } }],
  };
  const body = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
  const { result } = await agent.ok("POST", "/a2a/desk", body, { "a2a-version": "1.0" });
  const { items } = await rita.get(`/v1/requests?group=${result.task.id}`);
  return items.find((item) => item.context.a2a.item === 1);
}

/** Every page of the dashboard, and what to do there before it is looked at. */
export function places(pending) {
  const [shell, sql, diff, http, email, money, edit, steps, yesno, question, two, critical, hostile] =
    pending;
  const item = pending.at(-1);
  const still = quiet;
  // Buttons change their colour once, when they begin to act.
  const read = async (page) => {
    await page.locator("article").waitFor();
    await quiet(page);
    await settle(page);
    await quiet(page);
  };
  const at = (record) => ({ path: `/queue?r=${record.id}`, act: read });
  const drawn = Object.keys(shapes).map((name, index) => [`queue-${name}`, at(pending[13 + index])]);
  return {
    queue: { path: "/queue", act: (page) => (page.viewportSize().width > 720 ? read(page) : still(page)) },
    "queue-sql": at(sql),
    "queue-diff": at(diff),
    "queue-http": at(http),
    "queue-email": at(email),
    "queue-money": at(money),
    "queue-shell": at(shell),
    "queue-plan": at(steps),
    "queue-confirmation": at(yesno),
    "queue-question": at(question),
    "queue-quorum": at(two),
    "queue-critical": at(critical),
    "queue-hostile": at(hostile),
    ...Object.fromEntries(drawn),
    "queue-confirm": {
      path: `/queue?r=${money.id}`,
      act: async (page) => {
        await read(page);
        await page
          .locator("article")
          .getByRole("button", { name: /^Approve/ })
          .first()
          .click();
        await dialog(page).waitFor();
        await settle(page);
        await quiet(page);
      },
    },
    "queue-pause": at(item),
    "queue-pause-all": {
      path: `/queue?r=${item.id}`,
      act: async (page) => {
        await read(page);
        await page.getByRole("button", { name: /^Approve all 3/ }).click();
        await dialog(page).waitFor();
        await settle(page);
        await quiet(page);
      },
    },
    "queue-edit": {
      path: `/queue?r=${edit.id}`,
      act: async (page) => {
        await read(page);
        await page.keyboard.press("e");
        await dialog(page).waitFor();
        await settle(page);
        await quiet(page);
      },
    },
    "queue-deny": {
      path: `/queue?r=${edit.id}`,
      act: async (page) => {
        await read(page);
        await page.keyboard.press("d");
        await dialog(page).waitFor();
        await quiet(page);
      },
    },
    history: { path: "/history", act: still },
    "history-request": { path: `/history?id=${sql.id}`, act: read },
    ledger: { path: "/ledger", act: still },
    policy: { path: "/policy", act: still },
    "policy-edit": {
      path: "/policy?tab=edit",
      act: async (page) => {
        const area = page.getByRole("textbox", { name: "Policy text" });
        await area.fill(
          `${(await area.inputValue()).replace('tool = "never.*"', 'tool = "neverever.*"')}\n[[rule]]\nname = "payments"\neffect = "allow"\nrisk = "low"\ntool = ["pay", "Bash"]\n`,
        );
        await page.getByText("Valid").waitFor();
        await page.getByRole("button", { name: "What would it have done?" }).click();
        await page.getByRole("region", { name: /judged differently/ }).waitFor();
        await quiet(page);
      },
    },
    "policy-versions": { path: "/policy?tab=versions", act: still },
    "policy-shadow": { path: "/policy?tab=shadow", act: still },
    "policy-grants": { path: "/policy?tab=grants", act: still },
    "policy-suggest": { path: "/policy?tab=suggest", act: still },
    insights: {
      path: "/insights",
      act: async (page) => {
        await page.getByRole("img").nth(4).waitFor();
        await quiet(page);
      },
    },
    session: { path: `/session?session=${PAST}`, act: still },
    people: { path: "/people", act: still },
    settings: { path: "/settings", act: still },
  };
}
