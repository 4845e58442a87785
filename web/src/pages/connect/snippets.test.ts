import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { filled, NO_KEY, SNIPPETS } from "./snippets";

const repository = new URL("../../../../", import.meta.url);

describe("the ways to connect an agent", () => {
  it("are the nine that the page names, each with a page of the documentation", () => {
    expect(SNIPPETS.map((each) => each.id)).toEqual([
      "claude-code",
      "codex",
      "gemini",
      "python",
      "typescript",
      "langchain",
      "adk",
      "a2a",
      "curl",
    ]);
    for (const { docs } of SNIPPETS) {
      expect(readFileSync(new URL(`docs/${docs}`, repository), "utf8").startsWith("# ")).toBe(true);
    }
  });

  it("each name the key once, and have no other gap to fill", () => {
    for (const { id, steps } of SNIPPETS) {
      const code = steps.map((step) => step.code.join("\n")).join("\n");
      expect([id, code.split("{{key}}").length, code.split("{{url}}").length]).toEqual([id, 2, 2]);
      const text = steps.map((step) => filled(step, "http://127.0.0.1:4000", "plk_agent_$&x")).join("\n");
      expect(text).toContain("export PLACET_TOKEN=plk_agent_$&x\n");
      expect(text).not.toMatch(/\{\{|\}\}[a-z]/);
      expect(steps.map((step) => filled(step, "", null)).join("\n")).toContain(NO_KEY);
    }
  });

  it("in TypeScript compile against the package of this repository", () => {
    const step = SNIPPETS.flatMap((each) => each.steps).find((each) => each.language === "typescript");
    if (!step) throw new Error("there is one");
    const [problems, wrong] = compiled([filled(step, "", null), 'import { gatte } from "placet";\ngatte();']);
    expect(problems).toEqual([]);
    // And what is not in the package does not.
    expect(wrong?.join()).toContain("gatte");
  }, 120_000);
});

/** The problems of programs that import the package. */
function compiled(sources: string[]): string[][] {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ["lib.es2024.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    types: [],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    paths: { placet: [fileURLToPath(new URL("sdk/typescript/src/index.ts", repository))] },
  };
  const files = new Map(
    sources.map((source, at) => [fileURLToPath(new URL(`agent-${at}.mts`, import.meta.url)), source]),
  );
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  host.fileExists = (name) => files.has(name) || ts.sys.fileExists(name);
  host.getSourceFile = (name, ...rest) => {
    const source = files.get(name);
    return source === undefined
      ? read(name, ...rest)
      : ts.createSourceFile(name, source, ts.ScriptTarget.ES2022);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files.keys()].map((name) => {
    const file = program.getSourceFile(name);
    const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
    return found.map((each) => ts.flattenDiagnosticMessageText(each.messageText, "\n"));
  });
}
