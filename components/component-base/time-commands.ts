/**
 * Time commands: how a component follows its cluster's time. `time` sets it; `fire-due` sets it, fires the timers that are due and answers
 * whether all that followed has been done. The authority asks again until every component is quiet twice running and nothing has happened in between.
 */
import type { Commands } from './commands.ts'
import type { FollowedClock } from './followed-clock.ts'
import { nextTurn } from './next-turn.ts'
import { readTimeSetting } from './time-setting.ts'
import type { TimeSetting } from './time-setting.ts'
import type { AwaitedTimer } from './timers.ts'
import type { UnderWay } from './under-way.ts'

/** With this environment variable a component that starts has the cluster's time from its first moment on. */
export const timeVariable = 'SKIFF_CLUSTER_TIME'

/** The result of `fire-due`. */
export interface Quietness {
  /** Work is under way that is worth waiting for, or a timer is due already. */
  readonly isBusy: boolean
  /** Has grown since the last answer if anything has happened. */
  readonly activity: number
  readonly dueMs: number | null
  readonly awaited: AwaitedTimer | null
  /** When the first timer is due that is no upkeep; null without one. */
  readonly restlessMs: number | null
}

/** How Node names what it does with files. */
const fileWork = /^(FSReq|FileHandle|CloseReq)/i

function worksWithFiles(): boolean {
  return process.getActiveResourcesInfo().some((name) => fileWork.test(name))
}

/** `underWay` counts the work of this process. */
export function followTime(
  commands: Commands,
  { clock, underWay }: { readonly clock: FollowedClock; readonly underWay: UnderWay },
): void {
  commands.on('time', async (params) => clock.set(readTimeSetting(params)))
  commands.on('fire-due', async (params): Promise<Quietness> => {
    clock.set(readTimeSetting(params))
    clock.fireDue()
    // What has arrived by now is read, and has its promise callbacks.
    await nextTurn()
    await nextTurn()
    const { dueMs, awaited, restlessMs } = clock
    return {
      isBusy: underWay.isBusy || worksWithFiles() || clock.isDue,
      activity: underWay.activity,
      dueMs: dueMs ?? null,
      awaited: awaited ?? null,
      restlessMs: restlessMs === Infinity ? null : restlessMs,
    }
  })
}

/** The setting that the starting process has given this one. Undefined: real time. */
export function givenTime(text: string | undefined): TimeSetting | undefined {
  return text === undefined ? undefined : readTimeSetting(JSON.parse(text))
}
