import { resuming } from "./resuming.js";

resuming({ program: "mastra", of: "Mastra" });
