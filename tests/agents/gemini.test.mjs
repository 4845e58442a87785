import { gemini } from "./agents/gemini.mjs";
import { scenarios } from "./lib/scenarios.mjs";

scenarios(gemini);
