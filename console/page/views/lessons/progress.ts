/** progress: the step that each lesson is at, in the browser's tab. Pure but for the storage that it is given. */

export type Kept = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

const keyOf = (lesson: string): string => `lesson/${lesson}`

/** A step from 0; 0 when there is none, or it is not a step of the lesson. */
export function readStep(kept: Kept, lesson: { readonly name: string; readonly steps: number }) {
  const step = Number(kept.getItem(keyOf(lesson.name)) ?? 0)
  return Number.isInteger(step) && step >= 0 && step <= lesson.steps ? step : 0
}

/** As many as the lesson has steps: it is over. */
export function keepStep(kept: Kept, name: string, step: number): void {
  kept.setItem(keyOf(name), String(step))
}

export function forgetStep(kept: Kept, name: string): void {
  kept.removeItem(keyOf(name))
}
