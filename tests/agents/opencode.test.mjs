import { opencode } from "./agents/opencode.mjs";
import { scenarios } from "./lib/scenarios.mjs";

scenarios(opencode);
