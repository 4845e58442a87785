import { resuming } from "./resuming.js";

resuming({ program: "openai-agents", of: "OpenAI Agents" });
