import { codex } from "./agents/codex.mjs";
import { scenarios } from "./lib/scenarios.mjs";

scenarios(codex);
