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

/** A picture of 160 by 90 pixels: a small chart. */
export const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAKAAAABaCAIAAACwpMoFAAAA8ElEQVR42u3dsRHEIAxFQeqhH3dMDyT0YlqABJBm35D+RHvZBS6/UlecALAAC7AAC7AAR6x+bfEBBgwYsAALsAALMGDAgAEDFmABFmABznhowIABAwYMGDBgwIABAwYMGDDgw8cCDBgwYMCAAQMG/Bjwmz8swIABAwYMGDBgwIABAwYMGDBgwIABAwYMODBwxH9mAAMGDBgwYMCAAQOOC2wL2BYwYMCAAQMGDBgSYNsbwA4N2KEB2wK2BWwLGDBgwA4N2KEB2wK2BWwL2BYwYMCAHRqwLWBbwLaAbXeAx+he4uerK8kDDFiABViABVi7TaV+7AxfL20sAAAAAElFTkSuQmCC";

/** Calls whose values have a form of their own, whatever the tool. */
export const shapes = {
  file: () =>
    action("create_file", {
      path: "/srv/shop/src/retry.ts",
      content:
        "/** Tries again. */\nexport async function retry<T>(work: () => Promise<T>, times = 3): Promise<T> {\n  for (let turn = 1; ; turn += 1) {\n    try {\n      return await work();\n    } catch (error) {\n      if (turn === times) throw error; // the last one\n    }\n  }\n}\n",
    }),
  patch: () =>
    action("apply_patch", {
      patch:
        '--- a/src/server.py\n+++ b/src/server.py\n@@ -10,7 +10,7 @@ class Server:\n     def start(self, port=8080):\n         # Listens on every address.\n-        self.socket.bind(("0.0.0.0", port))\n+        self.socket.bind(("127.0.0.1", port))\n         self.socket.listen(128)\n-        log.info("listening")\n+        log.info("listening on %s", port)\n         return self\n \n     def stop(self):\n',
    }),
  table: () =>
    action("tickets.assign", {
      tickets: [
        { id: 4711, owner: "ann", priority: "high" },
        { id: 4712, owner: "bob", priority: "low" },
        { id: 4715, owner: "olga" },
      ],
      notify: true,
    }),
  tree: () =>
    action("settings.change", {
      service: {
        name: "shop",
        replicas: 4,
        limits: { cpu: "500m", memory: "1Gi" },
        hosts: ["shop.example.com", "www.example.com"],
      },
      dry_run: false,
    }),
  picture: () =>
    action("reports.share", {
      title: "Orders of this week",
      chart: { media_type: "image/png", data: PICTURE },
    }),
  attachment: () =>
    action("tickets.attach", {
      ticket: 4711,
      file: {
        name: "notes.txt",
        media_type: "text/plain",
        content_base64: "U29sdmVkIGJ5IHRoZSB1cGRhdGUgb2YgTW9uZGF5Lgo=",
      },
    }),
  text: () =>
    action("tickets.reply", {
      ticket: 4711,
      text: "Dear Ann,\n\nthe update of Monday solves this. Please sign in again:\n\n  1. Open the shop.\n  2. Choose your account.\n\nKind regards\nSupport",
    }),
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
