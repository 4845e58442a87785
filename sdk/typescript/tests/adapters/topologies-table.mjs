// Writes what the marked tests counted into docs/sdk/topologies-js.md: node topologies-table.mjs FILE
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const page = fileURLToPath(new URL("../../../../docs/sdk/topologies-js.md", import.meta.url));
const lines = readFileSync(process.argv[2], "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line));
const failed = lines.filter(({ outcome }) => outcome !== "passed");
if (failed.length > 0) throw new Error(`not all passed: ${failed.map(({ test }) => test).join("; ")}`);

/** The sum over the tests of a cell. */
function cell(framework, topology) {
  const tests = lines.filter((line) => line.framework === framework && line.topology === topology);
  if (tests.length === 0) throw new Error(`no test was run for ${framework}, ${topology}`);
  const sum = (name) => tests.reduce((total, line) => total + line[name], 0);
  return ["asked", "approved", "ran"].map(sum).join(" / ");
}

let frameworks = [];
const written = readFileSync(page, "utf8")
  .split("\n")
  .map((line) => {
    const [, name, ...cells] = line.split("|").map((each) => each.trim());
    if (name === "topology") frameworks = cells.slice(0, -1);
    if (name === undefined || frameworks.length === 0 || ["topology", "---"].includes(name)) return line;
    const filled = frameworks.map((framework, at) => (cells[at] === "none" ? "none" : cell(framework, name)));
    return `| ${[name, ...filled].join(" | ")} |`;
  });
writeFileSync(page, written.join("\n"));
