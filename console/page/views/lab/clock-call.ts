/** clock-call: what this page does to the cluster's clock. It goes on while other views are shown, and stops with the page. */
import { computed, signal } from '@preact/signals'
import type { TimeAnswer, TimeCall } from '../../../protocol/lab.ts'
import { sendTo } from '../../app/api.ts'
import { clusterNow, noteClusterTime } from '../../app/cluster-time.ts'
import { messageOf } from '../../app/message-of.ts'

export interface ClockCall {
  /** As the page says it: `advance by 10m`. */
  readonly title: string
  readonly isRunning: boolean
  /** The cluster's time when it began, as far as the page knew until it ended, and when it ended. */
  readonly fromMs: number
  readonly endedMs: number | undefined
  readonly fault: string | undefined
}

const callSignal = signal<ClockCall | undefined>(undefined)
let stopping: AbortController | undefined

/** The last one. */
export const clockCall = computed(() => callSignal.value)

function titleOf(call: TimeCall): string {
  if (call.call === 'advance') return `advance by ${call.by}`
  return call.call === 'speed' ? `speed ${call.speed}` : call.call
}

/** One at a time; another one while it runs is ignored. */
export async function callClock(call: TimeCall): Promise<void> {
  if (callSignal.value?.isRunning === true) return
  const stop = new AbortController()
  stopping = stop
  const begun = { title: titleOf(call), fromMs: clusterNow() }
  callSignal.value = { ...begun, isRunning: true, endedMs: undefined, fault: undefined }
  const end = { isRunning: false, endedMs: undefined, fault: undefined }
  try {
    const options = { method: 'POST', body: call, signal: stop.signal } as const
    const { fromMs, row } = (await (await sendTo('/lab/time', options)).json()) as TimeAnswer
    noteClusterTime(row.nowMs, row.speed)
    callSignal.value = { ...begun, ...end, fromMs, endedMs: row.nowMs }
  } catch (error) {
    const fault = stop.signal.aborted ? 'You have stopped it.' : messageOf(error)
    callSignal.value = { ...begun, ...end, fault }
  }
}

export function stopClock(): void {
  stopping?.abort()
}
