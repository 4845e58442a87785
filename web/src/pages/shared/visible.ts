/** Draws untrusted text as the server does: characters that hide or reorder become visible escapes. */

const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are looked for
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each is looked for by itself
  /[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{13430}-\u{1345f}\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{10ffff}]/gu;

function drawn(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}}`;
}

/** One line of text, safe to show. */
export function visible(text: string): string {
  return text.replace(HIDDEN, drawn);
}

/** JSON in lines, safe to show. Line breaks and indents are ours; those inside texts are escaped by JSON itself. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value, null, 2)
    .split("\n")
    .map((line) => line.replace(HIDDEN, drawn))
    .join("\n");
}
