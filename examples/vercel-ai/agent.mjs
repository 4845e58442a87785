// An agent of the Vercel AI SDK that looks after a shop. Its tools are ordinary tools; the gate around them is one line.
//
//   PLACET_URL=… PLACET_TOKEN=plk_agent_… node agent.mjs
import { generateText, isStepCount, tool } from "ai";
import { createGate } from "placet/ai";
import { z } from "zod";
import { model } from "./model.mjs"; // follows a script, so that this runs offline; any model of the SDK will do

const gate = createGate({ session: "shop-42" });

/** What happened in the world: the reason for all this. */
const did = (what) => console.log(`   !! ${what}`);

const tools = gate.tools({
  find_order: tool({
    description: "Looks an order up",
    inputSchema: z.object({ order: z.string() }),
    execute: async ({ order }) => ({ order, customer: "c-7", paid: 120, currency: "EUR" }),
  }),
  refund: tool({
    description: "Sends money back",
    inputSchema: z.object({ order: z.string(), amount: z.number().positive() }),
    execute: async ({ order, amount }) => {
      did(`refunded ${amount} EUR for ${order}`);
      return { refunded: amount };
    },
  }),
  delete_customer: tool({
    description: "Deletes a customer and all orders",
    inputSchema: z.object({ customer: z.string() }),
    execute: async ({ customer }) => {
      did(`deleted ${customer}`);
      return { deleted: customer };
    },
  }),
});

const { text, steps } = await generateText({
  model,
  tools,
  prompt: "Order o-1 arrived broken. Put it right, and clean up.",
  stopWhen: isStepCount(10),
});

for (const { toolResults } of steps) {
  for (const { toolName, output } of toolResults) console.log(`   ${toolName}: ${JSON.stringify(output)}`);
}
console.log(`   ${text}`);
