// Holds json.json to what Node's own JSON parser says: every y_ document and every accepted one reads to the
// canonical text given, every n_ document is refused.
import { readFileSync } from "node:fs";

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    // The default order of sort() is that of UTF-16 units, as RFC 8785 asks.
    const members = Object.keys(value).sort();
    return `{${members.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const bytes = (text) => Buffer.from(text, "base64");
const { cases } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const wrong = [];
for (const { name, text_base64, parts, verdict, canonical: form } of cases) {
  const text = parts
    ? Buffer.concat(parts.flatMap(({ base64, times }) => Array(times).fill(bytes(base64))))
    : bytes(text_base64);
  let found = null;
  try {
    found = canonical(JSON.parse(utf8.decode(text)));
  } catch {
    // Refused, or nested deeper than the stack: both are a no.
  }
  if (name.startsWith("n_") && found !== null) wrong.push(`${name}: accepted as ${found.slice(0, 80)}`);
  if (name.startsWith("y_") && verdict !== "ok") wrong.push(`${name}: a y_ document must be accepted`);
  if (verdict === "ok" && (found === null || (form !== undefined && found !== form))) {
    wrong.push(`${name}: ${found?.slice(0, 80)} instead of ${form?.slice(0, 80)}`);
  }
}
console.log(wrong.length === 0 ? `${cases.length} vectors agree` : wrong.join("\n"));
process.exit(wrong.length === 0 ? 0 : 1);
