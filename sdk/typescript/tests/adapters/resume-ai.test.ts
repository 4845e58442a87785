import { resuming } from "./resuming.js";

resuming({ program: "vercel-ai", of: "AI SDK" });
