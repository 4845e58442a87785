/** The server that lies, in a process of its own; it is the one that the other clients meet. */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface Mode {
  name: string;
  lie: string;
  /** How often the call may run: more than zero only for the controls. */
  runs: number;
  traits: string[];
}

const PROGRAM = fileURLToPath(new URL("../../../hostile/server.py", import.meta.url));

export class Hostile {
  private constructor(
    private readonly child: ChildProcess,
    private readonly url: string,
    readonly modes: Mode[],
  ) {}

  static async start(): Promise<Hostile> {
    const child = spawn("python3", [PROGRAM], { stdio: ["pipe", "pipe", "inherit"] });
    const port = await new Promise<string>((done, failed) => {
      child.once("error", failed);
      child.once("exit", (code) => failed(new Error(`the hostile server ended with ${code}`)));
      child.stdout.once("data", (text) => done(String(text).trim()));
    });
    const url = `http://127.0.0.1:${port}`;
    const { modes } = (await (await fetch(`${url}/_modes`)).json()) as { modes: Mode[] };
    return new Hostile(child, url, modes);
  }

  /** Where a client finds this mode. */
  at(mode: Mode, run: string): string {
    return `${this.url}/${mode.name}/${run}`;
  }

  /** What a client asked for there. */
  async seen(mode: string, run: string): Promise<string[]> {
    return ((await (await fetch(`${this.url}/${mode}/${run}/_seen`)).json()) as { seen: string[] }).seen;
  }

  stop(): void {
    this.child.kill();
  }
}
