import { resuming } from "./resuming.js";

resuming("openai-agents");
