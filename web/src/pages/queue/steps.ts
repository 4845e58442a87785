/** The reviewer's version of a plan: order, what runs, edited arguments. Pure. */
import type { JsonObject, Step, StepDecision } from "@/api/extra";

export interface StepDraft {
  id: string;
  run: boolean;
  /** Replacement arguments, when edited. */
  arguments: JsonObject | null;
}

export function draftOf(steps: readonly Step[]): StepDraft[] {
  return steps.map((step) => ({ id: step.id, run: true, arguments: null }));
}

/** Puts one step at a place, counted without it; out of bounds nothing moves. */
export function place(draft: readonly StepDraft[], id: string, to: number): StepDraft[] {
  const step = draft.find((one) => one.id === id);
  if (!step || to < 0 || to >= draft.length) return [...draft];
  const out = draft.filter((one) => one !== step);
  out.splice(to, 0, step);
  return out;
}

/** Moves one step by one place. */
export function shift(draft: readonly StepDraft[], id: string, by: 1 | -1): StepDraft[] {
  return place(draft, id, draft.findIndex((step) => step.id === id) + by);
}

/** Where a dropped step lands: after every other step whose middle is above it. */
export function landing(
  boxes: readonly { id: string; top: number; height: number }[],
  id: string,
  y: number,
): number {
  return boxes.filter((box) => box.id !== id && box.top + box.height / 2 < y).length;
}

/** Runs everything up to and with this step, and nothing after it. */
export function toHere(draft: readonly StepDraft[], id: string): StepDraft[] {
  const at = draft.findIndex((step) => step.id === id);
  return draft.map((step, index) => ({ ...step, run: index <= at }));
}

export function update(draft: readonly StepDraft[], id: string, change: Partial<StepDraft>): StepDraft[] {
  return draft.map((step) => (step.id === id ? { ...step, ...change } : step));
}

export function unchanged(steps: readonly Step[], draft: readonly StepDraft[]): boolean {
  return (
    steps.length === draft.length &&
    draft.every((step, index) => step.run && step.arguments === null && step.id === steps[index]?.id)
  );
}

/** A decision for every step, in the order approved. */
export function decisionsOf(draft: readonly StepDraft[]): StepDecision[] {
  return draft.map((step) => {
    if (!step.run) return { id: step.id, decision: "deny" };
    if (step.arguments) return { id: step.id, decision: "edit", arguments: step.arguments };
    return { id: step.id, decision: "approve" };
  });
}
