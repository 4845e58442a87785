/** The ways to connect an agent, from one file that the tests of every language read and try. */
import list from "./snippets.json";

export interface Step {
  text: string;
  language: "shell" | "python" | "typescript";
  code: string[];
  /** Installs a package: the tests use what is in the repository. */
  installs?: boolean;
  /** Starts the agent itself. */
  starts?: boolean;
}

export interface Snippet {
  id: string;
  name: string;
  /** The name of the agent whose key is made. */
  agent: string;
  /** The page about it, below docs. */
  docs: string;
  steps: Step[];
}

export const SNIPPETS: readonly Snippet[] = list as Snippet[];

/** What stands for the key until it is made. */
export const NO_KEY = "plk_agent_…";

/** A step as it is copied: with the address of this server and the key. */
export function filled(step: Step, url: string, key: string | null): string {
  return step.code
    .join("\n")
    .replaceAll("{{url}}", () => url)
    .replaceAll("{{key}}", () => key ?? NO_KEY);
}
