/** The help on keys: `?`. */
import { strings } from "@/strings";
import { Dialog, Kbd } from "@/ui";
import { modKey } from "./keys";
import css from "./shell.module.css";

const s = strings.keys;
export const IN_LISTS: [string[], string][] = [
  [["j", "k"], s.move],
  [["J", "K"], s.extend],
  [["x"], s.select],
  [["g g", "G"], s.ends],
  [["Enter"], s.open],
  [["a"], s.approve],
  [["d"], s.deny],
  [["A", "D"], s.together],
  [["e"], s.edit],
  [["r"], s.respond],
  [["s"], s.reassign],
  [["u"], s.undo],
  [["/"], s.search],
  [["Esc"], s.escape],
];
export const EVERYWHERE: [string[], string][] = [
  [[modKey("K")], s.palette],
  [["?"], s.help],
  [["g q", "g h", "g l", "g p", "g i", "g e", "g s"], s.goTo],
];

/** Keys and what they do. */
export function KeyList({ list }: { list: [string[], string][] }) {
  return (
    <dl className={css.help}>
      {list.map(([keys, text]) => (
        <div key={text}>
          <dt>
            {keys.map((key) => (
              <Kbd key={key}>{key}</Kbd>
            ))}
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Help({ open, onClose }: { open: boolean; onClose(): void }) {
  return (
    <Dialog open={open} title={s.title} onClose={onClose}>
      <h3 className={css.helpHead}>{s.lists}</h3>
      <KeyList list={IN_LISTS} />
      <h3 className={css.helpHead}>{s.everywhere}</h3>
      <KeyList list={EVERYWHERE} />
    </Dialog>
  );
}
