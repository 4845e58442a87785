/** Colours for TOML: cuts a text into lines of marked pieces. Only the server decides what is valid. */

export type Mark = "comment" | "header" | "key" | "string" | "number" | "word" | "plain";
export interface Piece {
  mark: Mark;
  text: string;
}

const WORD = /^(true|false|inf|nan)\b/;
const NUMBER = /^[+-]?\d[\d_.:TZeE+-]*/;
const BARE_KEY =
  /^([A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')(\s*\.\s*([A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'))*(?=\s*=)/;

/** Where a string that begins at 0 ends, on this line; null when it goes on. */
function stringEnd(rest: string): { text: string; open: string | null } {
  const triple = rest.startsWith('"""') ? '"""' : rest.startsWith("'''") ? "'''" : null;
  if (triple) {
    const at = rest.indexOf(triple, 3);
    return at < 0 ? { text: rest, open: triple } : { text: rest.slice(0, at + 3), open: null };
  }
  const quote = rest[0] as string;
  for (let at = 1; at < rest.length; at += 1) {
    if (rest[at] === "\\" && quote === '"') at += 1;
    else if (rest[at] === quote) return { text: rest.slice(0, at + 1), open: null };
  }
  return { text: rest, open: null };
}

/** One line; `open` is the quote of a string that began on a line before. */
function line(text: string, open: string | null): { pieces: Piece[]; open: string | null } {
  const pieces: Piece[] = [];
  let rest = text;
  let goesOn = open;
  const take = (mark: Mark, length: number) => {
    if (length <= 0) return;
    const last = pieces.at(-1);
    const cut = rest.slice(0, length);
    if (last && last.mark === mark) last.text += cut;
    else pieces.push({ mark, text: cut });
    rest = rest.slice(length);
  };
  if (goesOn) {
    const at = rest.indexOf(goesOn);
    if (at < 0) {
      take("string", rest.length);
      return { pieces, open: goesOn };
    }
    take("string", at + 3);
    goesOn = null;
  }
  if (!open && /^\s*\[\[?[^=]*\]\]?\s*(#.*)?$/.test(rest) && !/^\s*\[\s*["'\d]/.test(rest)) {
    const comment = rest.indexOf("#");
    take("header", comment < 0 ? rest.length : comment);
  }
  while (rest.length > 0) {
    const first = rest[0] as string;
    if (first === "#") {
      take("comment", rest.length);
    } else if (/\s/.test(first)) {
      take("plain", 1);
    } else {
      const key = BARE_KEY.exec(rest);
      const number = NUMBER.exec(rest);
      const word = WORD.exec(rest);
      if (key) take("key", key[0].length);
      else if (first === '"' || first === "'") {
        const { text: found, open: next } = stringEnd(rest);
        goesOn = next;
        take("string", found.length);
      } else if (word) take("word", word[0].length);
      else if (number) take("number", number[0].length);
      else take("plain", 1);
    }
  }
  return { pieces, open: goesOn };
}

/** The whole text, line by line. */
export function highlight(text: string): Piece[][] {
  let open: string | null = null;
  return text.split("\n").map((each) => {
    const found = line(each, open);
    open = found.open;
    return found.pieces;
  });
}
