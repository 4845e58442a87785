import { resuming } from "./resuming.js";

resuming({ program: "langgraph", of: "LangGraph.js" });
