// What the card shows: every value by its place, as somebody who looks at the page finds it.

/** Opens what is folded, as a reader would, in the element that matches. */
export async function unfold(page, selector) {
  await page.evaluate(async (selector) => {
    for (let turn = 0; turn < 50; turn += 1) {
      const folds = [...document.querySelector(selector).querySelectorAll("button")].filter((each) =>
        /^Show all/.test(each.textContent),
      );
      if (folds.length === 0) return;
      for (const each of folds) each.click();
      await window.painted();
    }
    throw new Error("there is always something folded");
  }, selector);
}

/** Scrolls the region in the element that matches from its top to its end. */
export async function scroll(page, selector) {
  await page.evaluate(async (selector) => {
    const root = document.querySelector(selector);
    const box = root.matches("[role=region]") ? root : root.querySelector("[role=region]");
    await window.painted();
    for (let turn = 0; turn < 1_000 && box; turn += 1) {
      const top = box.scrollTop;
      box.scrollBy({ top: box.clientHeight * 0.8, behavior: "instant" });
      await window.painted();
      if (box.scrollTop === top) break;
    }
    await window.painted();
  }, selector);
}

/** The fields of a record that its card must have: all but the agent's words, its schema and what was replaced. */
export function wanted(record) {
  const { fields } = record.display;
  const at = ["decision", "proposal"].find((name) =>
    fields.some(({ pointer }) => pointer.startsWith(`/${name}/`)),
  );
  return fields.filter(
    ({ pointer }) =>
      !/^\/(summary|group|arguments_schema)(\/|$)/.test(pointer) &&
      !(at && /^\/arguments(\/|$)/.test(pointer)) &&
      (!/^\/(decision|proposal)\//.test(pointer) || pointer.startsWith(`/${at}/`)),
  );
}

/**
 * The fields that cannot be read on the card in the element that matches. A value can be read if an element with its
 * place is on the screen and has its text, its picture, or the lines of it. With `drop`, each place is taken out of the
 * page in turn and put back, and those are returned whose loss is not noticed.
 */
export function missing(page, selector, fields, { drop = false } = {}) {
  return page.evaluate(
    ({ selector, fields, drop }) => {
      const root = document.querySelector(`${selector} [data-card]`) ?? document.querySelector(selector);
      const escaped = (text) => text.replaceAll("\n", "\\n").replaceAll("\t", "\\t");
      const bare = (text) =>
        text.length > 1 && text.startsWith('"') && text.endsWith('"')
          ? text.slice(1, -1).replaceAll('\\"', '"')
          : text;
      const visible = (element) => {
        const range = document.createRange();
        range.selectNodeContents(element);
        return [...range.getClientRects()].some((box) => box.width > 0 && box.height > 0);
      };
      const sides = (element) => {
        const rows = [...element.querySelectorAll("[data-lines] > [data-op]")];
        return ["-", "+"].map((op) =>
          rows
            .filter((row) => row.dataset.op === " " || row.dataset.op === op)
            .map((row) => escaped(row.querySelector("code").textContent))
            .join("\\n"),
        );
      };
      const shows = (element, text) => {
        if (!visible(element)) return false;
        const inner = bare(text);
        const drawn = escaped(element.textContent);
        if (drawn === text || drawn === inner || (inner === "" && drawn === '""')) return true;
        for (const image of element.querySelectorAll("img"))
          if (image.naturalWidth > 0 && (image.src === inner || image.src.endsWith(`,${inner}`))) return true;
        for (const side of sides(element))
          if (side !== "" && (side === inner || `${side}\\n` === inner)) return true;
        // A section can stand for several values that it has in one text, such as the words of a command.
        const whole =
          element.querySelector("[data-pointer], pre") !== null || element.closest("[data-section]");
        return Boolean(whole) && inner.length > 0 && element.closest("dd") === null && drawn.includes(inner);
      };
      const find = (field) =>
        [...root.querySelectorAll("[data-pointer]")].filter(
          (element) => element.dataset.pointer === field.pointer,
        );
      const gone = (field) => !find(field).some((element) => shows(element, field.text));
      if (!drop) return fields.filter(gone).map(({ pointer, text }) => `${pointer}: ${text.slice(0, 80)}`);
      return fields
        .filter((field) => {
          const taken = find(field).map((element) => {
            const mark = document.createComment("");
            element.replaceWith(mark);
            return [element, mark];
          });
          const noticed = gone(field);
          for (const [element, mark] of taken) mark.replaceWith(element);
          return !noticed;
        })
        .map(({ pointer }) => pointer);
    },
    { selector, fields, drop },
  );
}
