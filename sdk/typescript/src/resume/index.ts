/** Resumes paused runs: the resumer, and a file store for frameworks without one. */
export { type PausedRun, Resumer, type ResumerOptions, type ResumeSource } from "./resumer.js";
export { FileStore, fileLock, type Lock, type RunStore } from "./store.js";
