import { resuming } from "./resuming.js";

resuming("langgraph");
