/** Optional parts of a runtime. They are looked up at run time and not imported, so that browsers load the same files. */

interface Process {
  env?: { [name: string]: string | undefined };
  getBuiltinModule?: (name: string) => unknown;
  pid?: number;
  kill?: (pid: number, signal: number) => unknown;
  stderr?: { isTTY?: boolean; write(text: string): unknown };
}
export const host = (globalThis as { process?: Process }).process;

/** A module of Node and those who imitate it, if there is one. */
export function builtin<T>(name: string): T | undefined {
  return host?.getBuiltinModule?.(name) as T | undefined;
}

/** A variable of the environment, where there is one. Empty counts as not set. */
export function env(name: string): string | undefined {
  return host?.env?.[name] || undefined;
}
