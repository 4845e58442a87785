/** Which lines of a tree are in view. Pure. */
import type { TreeNode } from "@/api/card";

/** Trees with more lines begin folded below the first two levels. */
export const SMALL = 60;

/** The end of what is inside a line: the next line that is no deeper. */
export function endOf(nodes: readonly TreeNode[], at: number): number {
  const depth = nodes[at]?.depth ?? 0;
  let end = at + 1;
  while ((nodes[end]?.depth ?? -1) > depth) end += 1;
  return end;
}

export function hasInside(nodes: readonly TreeNode[], at: number): boolean {
  return endOf(nodes, at) > at + 1;
}

/** What is folded at first. */
export function folded(nodes: readonly TreeNode[]): Set<number> {
  const out = new Set<number>();
  if (nodes.length <= SMALL) return out;
  for (const [at, node] of nodes.entries()) if (node.depth >= 1 && hasInside(nodes, at)) out.add(at);
  return out;
}

/** The lines that are drawn, without what is inside a folded one. */
export function inView(nodes: readonly TreeNode[], closed: ReadonlySet<number>): number[] {
  const out: number[] = [];
  for (let at = 0; at < nodes.length; ) {
    out.push(at);
    at = closed.has(at) ? endOf(nodes, at) : at + 1;
  }
  return out;
}
