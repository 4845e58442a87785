/** Taking paused runs up again: the resumer, and files for frameworks that have no store. */
export { type PausedRun, Resumer, type ResumerOptions, type ResumeSource } from "./resumer.js";
export { FileStore, fileLock, type Lock, type RunStore } from "./store.js";
