import { claudeCode } from "./agents/claude-code.mjs";
import { scenarios } from "./lib/scenarios.mjs";

scenarios(claudeCode);
