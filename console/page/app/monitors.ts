/** monitors: the built-in monitors, which the viewer switches on for as long as the page is open, whichever view is shown. */
import { computed, signal, type ReadonlySignal } from '@preact/signals'
import type { MonitorRow, ViolationRow } from '../../protocol/live.ts'
import { followChannel, type LiveRows } from './live.ts'

interface Followed {
  readonly live: ReadonlySignal<LiveRows<MonitorRow>>
  readonly leave: () => void
}

const followedSignal = signal<Followed | undefined>(undefined)

/** Undefined while they are off. */
export const monitors = computed(() => followedSignal.value?.live.value)

/** Those that the console still has, the newest first. */
export function violationsOf(rows: Iterable<MonitorRow>): ViolationRow[] {
  return [...rows].filter((row) => 'number' in row).sort((one, other) => other.number - one.number)
}

export function switchMonitors(isOn: boolean): void {
  followedSignal.value?.leave()
  followedSignal.value = isOn ? followChannel('monitors') : undefined
}
