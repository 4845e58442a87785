import { resuming } from "./resuming.js";

resuming("mastra");
