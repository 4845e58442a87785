// What agents ask in the tests: one of each kind and of each preview.

let turn = 0;
const session = () => {
  turn += 1;
  return `session-${turn}`;
};

export const action = (tool, args = {}, more = {}) => ({
  kind: "action",
  session: session(),
  tool,
  arguments: args,
  expires_in: "30m",
  ...more,
});

export const low = (args = { report: "weekly figures" }, more = {}) => action("reports.publish", args, more);

export const previews = {
  shell: () =>
    action(
      "Bash",
      { command: "cd /srv/shop && git pull --ff-only | tee /tmp/pull.log" },
      { context: { cwd: "/srv/shop" } },
    ),
  sql: () => action("query_database", { sql: "DELETE FROM orders WHERE created_at < '2024-01-01'" }),
  diff: () =>
    action("edit_file", {
      path: "/srv/shop/config.toml",
      old_string: "retries = 3\ntimeout = 30\n",
      new_string: "retries = 5\ntimeout = 30\nverbose = true\n",
    }),
  http: () =>
    action("http_request", {
      method: "POST",
      url: "https://api.example.com/v2/orders/17/refund",
      headers: { "content-type": "application/json" },
      body: '{"amount":12.5}',
    }),
  email: () =>
    action("send_mail", {
      to: ["ann@example.com"],
      cc: ["bob@example.com"],
      subject: "Offer",
      body: "Dear Ann,\n\nhere is our offer.",
    }),
  money: () =>
    action("pay", { amount: "1250.00", currency: "EUR", to: "ACME GmbH", reference: "invoice 2026-118" }),
  json: () => low(),
};

export const schema = {
  type: "object",
  required: ["amount", "to"],
  properties: {
    amount: { type: "number", exclusiveMinimum: 0, maximum: 5000 },
    to: { type: "string" },
    urgent: { type: "boolean" },
  },
};

export const editable = (more = {}) =>
  action(
    "reports.budget",
    { amount: 420, to: "ACME GmbH", urgent: false },
    { arguments_schema: schema, ...more },
  );

export const plan = (more = {}) => ({
  kind: "plan",
  session: session(),
  title: "Move the shop to the new database",
  can_modify: true,
  estimated_duration: "40 minutes",
  expires_in: "30m",
  steps: [
    {
      id: "backup",
      action: "backup",
      description: "Back up the old database",
      arguments: { target: "s3://backups/shop" },
    },
    {
      id: "switch",
      action: "switch_over",
      description: "Point the shop at the new one",
      arguments: { downtime: "2m" },
    },
    { id: "verify", action: "verify", description: "Compare row counts", optional: true },
  ],
  ...more,
});

export const confirmation = (more = {}) => ({
  kind: "confirmation",
  session: session(),
  message: "Publish version 2.0 now?",
  details: "All checks are green.",
  confirm_label: "Publish",
  cancel_label: "Wait",
  expires_in: "30m",
  ...more,
});

export const question = (input, text = "What should the release be called?", more = {}) => ({
  kind: "input",
  session: session(),
  question: text,
  input,
  expires_in: "30m",
  ...more,
});

export const questions = {
  text: () => question({ type: "text" }),
  number: () => question({ type: "number", min: 1, max: 100 }, "What discount, in percent?"),
  choice: () => question({ type: "choice", options: ["Frankfurt", "Dublin", "Oregon"] }, "Which region?"),
  multi_choice: () =>
    question({ type: "multi_choice", options: ["support", "sales", "press"] }, "Who should be told?"),
  date: () => question({ type: "date" }, "When is the maintenance window?"),
  file: () => question({ type: "file" }, "Please attach the release notes."),
};

/** Asks; the answer is the record. */
export const ask = (agent, body) => agent.post("/v1/requests", body);

/** Many at once, a few in flight at a time. */
export async function askMany(agent, count, make, width = 32) {
  const records = new Array(count);
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const index = next;
      next += 1;
      records[index] = await ask(agent, make(index));
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, worker));
  return records;
}
