/** Line ends and tabs of a drawn text, as such. Every other escape of the server stays as it is drawn. Pure. */

/**
 * `\n` is a line end and `\t` a tab. A doubled backslash is one of the agent's own, so what follows it is plain text. At
 * the end of a text they stay escapes, because nobody would see them there.
 */
export function broken(text: string): string {
  if (!text.includes("\\")) return text;
  return text
    .replace(/\\(\\|n|t)/g, (whole, letter) => (letter === "n" ? "\n" : letter === "t" ? "\t" : whole))
    .replace(/[\n\t]+$/, (end) => end.replaceAll("\n", "\\n").replaceAll("\t", "\\t"));
}

/** How many characters a person sees: pairs of surrogates are one. */
export function lengthOf(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** The beginning of a text, and what of it is not shown. Null if it is short enough. */
export function cutOff(
  text: string,
  most: { lines: number; characters: number },
): { head: string; lines: number; characters: number } | null {
  const lines = text.split("\n");
  if (lines.length <= most.lines && text.length <= most.characters) return null;
  let head = lines.slice(0, most.lines).join("\n").slice(0, most.characters);
  // Half of a pair is no character.
  if (/[\ud800-\udbff]$/.test(head)) head = head.slice(0, -1);
  return {
    head,
    lines: lines.length - head.split("\n").length,
    characters: lengthOf(text.slice(head.length)),
  };
}
