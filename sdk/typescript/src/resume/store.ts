/** A store of paused runs, for frameworks without one: an interface, and files for one machine. */
import { ConfigError } from "../errors.js";
import { builtin, host } from "../runtime.js";

/** Paused runs as text, by the name of the run. What `write` has acknowledged is there after a crash. */
export interface RunStore {
  ids(): Promise<readonly string[]>;
  read(run: string): Promise<string | undefined>;
  write(run: string, text: string): Promise<void>;
  remove(run: string): Promise<void>;
  lock?: Lock;
}

/** Locks a run for this process and returns the function that unlocks it; nothing while another process has the lock. */
export type Lock = (run: string) => Promise<(() => Promise<void>) | undefined>;

interface File {
  writeFile(text: string): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}
/** What is used of `node:fs/promises`. */
interface Fs {
  open(path: string, how: string): Promise<File>;
  readFile(path: string, encoding: "utf8"): Promise<string>;
  readdir(path: string): Promise<string[]>;
  mkdir(path: string, options: { recursive: true; mode: number }): Promise<unknown>;
  rm(path: string, options: { force: true }): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  link(from: string, to: string): Promise<void>;
}

function files(): Fs {
  const fs = builtin<Fs>("node:fs/promises");
  if (!fs) throw new ConfigError("this runtime has no files: write a RunStore of your own");
  return fs;
}

/** A file name that is unique for the run and cannot leave the folder. */
function named(run: string): string {
  const name = encodeURIComponent(run).replaceAll("*", "%2A");
  if (run === "" || name.length > 150)
    throw new ConfigError("the name of a run must have 1 to about 150 letters");
  return name;
}

let count = 0;
/** Writes a new file and syncs it to the disk. */
async function fresh(folder: string, text: string): Promise<string> {
  const { open } = files();
  count += 1;
  const path = `${folder}/.${host?.pid ?? 0}-${count}.tmp`;
  const file = await open(path, "w");
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  return path;
}

/** A file per run in one folder, for one machine. Each is written whole or not at all. */
export class FileStore implements RunStore {
  constructor(readonly folder: string) {}

  async ids(): Promise<string[]> {
    const names = await this.#folder();
    return names
      .filter((each) => each.endsWith(".json"))
      .map((each) => decodeURIComponent(each.slice(0, -5)));
  }

  async read(run: string): Promise<string | undefined> {
    try {
      return await files().readFile(this.#path(run), "utf8");
    } catch (error) {
      if (gone(error)) return undefined;
      throw error;
    }
  }

  async write(run: string, text: string): Promise<void> {
    await this.#folder();
    await files().rename(await fresh(this.folder, text), this.#path(run));
    await this.#sync();
  }

  async remove(run: string): Promise<void> {
    await files().rm(this.#path(run), { force: true });
    await this.#sync();
  }

  readonly lock: Lock = (run) => fileLock(this.folder)(run);

  #path(run: string): string {
    return `${this.folder}/${named(run)}.json`;
  }

  async #folder(): Promise<string[]> {
    const { mkdir, readdir } = files();
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    return readdir(this.folder);
  }

  /** Syncs the names in the folder to the disk. */
  async #sync(): Promise<void> {
    const folder = await files()
      .open(this.folder, "r")
      .catch(() => undefined);
    // Some systems do not open folders; they have nothing to sync then.
    await folder?.sync().catch(() => undefined);
    await folder?.close();
  }
}

/**
 * A lock for each run, by files in a folder of one machine. The lock of a process that ended does not count.
 *
 * Every holder has a number, and the file with the highest one counts: so no process removes a lock that another has just
 * taken over.
 */
export function fileLock(folder: string): Lock {
  return async (run) => {
    const { link, mkdir, readdir, readFile, rename, rm } = files();
    const prefix = `${named(run)}.lock.`;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const numbers = async () =>
      (await readdir(folder))
        .filter((each) => each.startsWith(prefix))
        .map((each) => Number(each.slice(prefix.length)));
    const highest = Math.max(0, ...(await numbers()));
    const holder = await readFile(`${folder}/${prefix}${highest}`, "utf8").catch(() => "");
    if (holder !== "" && (await alive(holder))) return undefined;
    const [number, path] = [highest + 1, `${folder}/${prefix}${highest + 1}`];
    const made = await fresh(folder, await self());
    try {
      await link(made, path);
    } catch (error) {
      if ((error as { code?: unknown }).code === "EEXIST") return undefined;
      throw error;
    } finally {
      await rm(made, { force: true });
    }
    const now = await numbers();
    if (Math.max(...now) > number) {
      await rm(path, { force: true });
      return undefined;
    }
    for (const old of now.filter((each) => each < number))
      await rm(`${folder}/${prefix}${old}`, { force: true });
    return async () => rename(await fresh(folder, FREE), path);
  };
}

const FREE = "free";

/** This process, by its number and its start time, because numbers are reused. */
const self = async () => `${host?.pid ?? 0} ${(await startOf(host?.pid ?? 0)) ?? ""}`;

async function alive(holder: string): Promise<boolean> {
  const [pid, start = ""] = holder.split(" ");
  if (holder === FREE) return false;
  try {
    host?.kill?.(Number(pid), 0);
  } catch (error) {
    if ((error as { code?: unknown }).code === "ESRCH") return false;
  }
  const now = await startOf(Number(pid));
  return now === undefined || now === start;
}

/** The start time of a process, if the system tells it. */
async function startOf(pid: number): Promise<string | undefined> {
  const text = await files()
    .readFile(`/proc/${pid}/stat`, "utf8")
    .catch(() => undefined);
  return text?.slice(text.lastIndexOf(")")).split(" ")[20];
}

function gone(error: unknown): boolean {
  return (error as { code?: unknown }).code === "ENOENT";
}
