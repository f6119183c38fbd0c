/**
 * TimeSetting: what time it is in a cluster, as its authority tells every component: a time, the moment of real time that it belongs to, and a
 * speed. It is all that a component has to know; a new one takes the place of the last.
 */

export interface TimeSetting {
  /** The cluster's time, in milliseconds since the epoch. */
  readonly nowMs: number
  /** When it was that time: real time, in milliseconds since the epoch. */
  readonly atMs: number
  /** 0: time stands still. 1: as fast as real time. */
  readonly speed: number
  /** No timer fires but by `fireDue` of the clock: an advance is under way. */
  readonly isHeld?: boolean
  /** An advance passes over a rest: the time since the last setting, in which there was nothing but upkeep to do. */
  readonly isRest?: boolean
  /** How far ahead of the cluster's time this one component's is; negative: behind. Its timers fire with those of the others. */
  readonly skewMs?: number
}

/** The cluster's time at a moment of real time. */
export function timeAt({ nowMs, atMs, speed }: TimeSetting, realMs: number): number {
  return nowMs + Math.floor((realMs - atMs) * speed)
}

/** Whether the setting makes no difference to real time. */
export function isRealTime({ nowMs, atMs, speed, skewMs = 0 }: TimeSetting): boolean {
  return speed === 1 && nowMs === atMs && skewMs === 0
}

const numbers = ['nowMs', 'atMs', 'speed'] as const

/** What a command or an environment variable says. Throws for anything but a setting. */
export function readTimeSetting(value: unknown): TimeSetting {
  const given = value as Readonly<Record<string, unknown>> | null
  const wrong = numbers.find((name) => !Number.isFinite(given?.[name]))
  if (wrong === undefined) return given as unknown as TimeSetting
  throw new Error(`invalid time: ${wrong} must be a number, not ${String(given?.[wrong])}`)
}
