/** time: which moment the page shows: now, or a revision that history still holds. */
import { computed, signal } from '@preact/signals'

/** Undefined: live. */
const atSignal = signal<string | undefined>(undefined)

export const at = computed(() => atSignal.value)

/** Shows the cluster as it was at that resourceVersion; undefined goes back to live. */
export function showAt(revision: string | undefined): void {
  atSignal.value = revision
}

/** The query of a list at the shown moment. */
export const atQuery = computed(() =>
  atSignal.value === undefined
    ? {}
    : { resourceVersion: atSignal.value, resourceVersionMatch: 'Exact' },
)

/** `3m12s`, as kubectl shows ages. */
export function age(fromMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - fromMs) / 1000))
  const [days, hours, minutes] = [86_400, 3600, 60].map((unit) => Math.floor(seconds / unit))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 600) return `${minutes}m${seconds % 60 === 0 ? '' : `${seconds % 60}s`}`
  if (seconds < 3 * 3600) return `${minutes}m`
  if (seconds < 2 * 86_400) return `${hours}h`
  return `${days}d`
}
