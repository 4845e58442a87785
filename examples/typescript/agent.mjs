// A small agent: three tools, one line each to have a person say yes first. The "model" is a list of calls.
//
//   PLACET_URL=… PLACET_TOKEN=plk_agent_… node agent.mjs FOLDER
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { gate, Placet, session } from "placet";

const folder = process.argv[2] ?? ".";
const placet = new Placet();

const tools = {
  list_files: async () => readdir(folder),
  delete_files: gate(
    async ({ files }) => {
      for (const file of files) await rm(join(folder, file));
      return { deleted: files };
    },
    {
      tool: "delete_files",
      risk: "high",
      summary: ({ files }) => `Clean up ${files.length} files that look old`,
      // The server refuses an edit that does not fit, and a name with a slash would leave the folder.
      argumentsSchema: {
        type: "object",
        required: ["files"],
        properties: { files: { type: "array", items: { type: "string", not: { pattern: "/" } } } },
        additionalProperties: false,
      },
    },
  ),
  pay: gate(async ({ to, cents }) => ({ paid: cents, to }), { tool: "pay", risk: "critical" }),
};

const model = [
  ["list_files", {}],
  ["delete_files", { files: ["keep.log", "old.log"] }],
  ["pay", { to: "storage provider", cents: 4200 }],
];

// Everything inside belongs to one session: an agent that is killed here and started again is not asked about twice.
await session({ id: "clean-up", app: "example", client: placet }, async () => {
  for (const [tool, args] of model) {
    console.log(`model: ${tool} ${JSON.stringify(args)}`);
    console.log(`tool:  ${JSON.stringify(await tools[tool](args))}`);
  }
  const answer = await placet.ask("Anything else?", { type: "choice", options: ["yes", "no"] });
  console.log(`person: ${answer.answer}`);
});
