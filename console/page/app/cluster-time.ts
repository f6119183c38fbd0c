/** cluster-time: what time it is in the cluster that the page shows, between two times that the console has told. */
import { computed, signal } from '@preact/signals'

/** What was told last. */
interface Told {
  readonly nowMs: number
  /** The browser's time when it was. */
  readonly atMs: number
  readonly speed: number
}

/** Undefined: real time. */
const toldSignal = signal<Told | undefined>(undefined)

/** How fast time passes in the cluster; undefined while it is real time. */
export const clusterSpeed = computed(() => toldSignal.value?.speed)

const timeOf = ({ nowMs, atMs, speed }: Told, realMs: number): number =>
  nowMs + (realMs - atMs) * speed

/** The cluster's time, in milliseconds since the epoch. */
export function clusterNow(): number {
  const told = toldSignal.peek()
  return told === undefined ? Date.now() : timeOf(told, Date.now())
}

/** When a heartbeat counts as seen. It may tell of an advance of the clock before the console does. */
export function heartbeatSeenAt(renewedMs = 0): number {
  return toldSignal.peek() === undefined ? clusterNow() : Math.max(clusterNow(), renewedMs)
}

/** Steps of the clock between two answers are no speed. */
export function speedBetween(before: Told | undefined, nowMs: number, atMs: number): number {
  if (before === undefined || atMs <= before.atMs) return 1
  const speed = (nowMs - before.nowMs) / (atMs - before.atMs)
  return speed > 0.005 ? Math.min(speed, 1) : 0
}

/** `speed`: undefined where only the time is known. */
export function noteClusterTime(nowMs: number | undefined, speed?: number): void {
  const atMs = Date.now()
  if (nowMs === undefined) toldSignal.value = undefined
  else
    toldSignal.value = {
      nowMs,
      atMs,
      speed: speed ?? speedBetween(toldSignal.peek(), nowMs, atMs),
    }
}
