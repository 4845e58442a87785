import { resuming } from "./resuming.js";

resuming("vercel-ai");
