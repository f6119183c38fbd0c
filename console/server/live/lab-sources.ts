/** Fill the channels of the clock and of faults: ask the supervisor again and again while a page looks. */
import type { ControlClient } from '../../../cluster/control-client.ts'
import { processLab } from '../../../cluster/lab/process-lab.ts'
import type { Lab } from '../../../cluster/lab/lab.ts'
import type { Clock } from '../../../components/component-base/clock.ts'
import type { FaultRow, TimeRow } from '../../protocol/live.ts'
import { faultRow } from '../lab/fault-calls.ts'
import { timeRow } from '../lab/time-calls.ts'
import type { LiveTable } from './table.ts'

const everyMs = 500

export interface LabSource {
  /** A connection of its own, on which nothing waits for an advance of the clock. */
  readonly connect: () => Promise<ControlClient>
  readonly clock: Clock
}

async function ask(
  { connect, clock }: LabSource,
  look: (lab: Lab) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const control = await connect()
  try {
    const lab = processLab(control)
    while (!signal.aborted) {
      await look(lab)
      await clock.sleep(everyMs, signal).catch(() => {})
    }
  } finally {
    control.close()
  }
}

/** Rejects when the supervisor has gone. */
export async function followTime(
  source: LabSource,
  table: LiveTable<TimeRow>,
  signal: AbortSignal,
): Promise<void> {
  await ask(source, async ({ time }) => table.replace([timeRow(await time.state())]), signal)
}

/** Rejects when the supervisor has gone. */
export async function followFaults(
  source: LabSource,
  table: LiveTable<FaultRow>,
  signal: AbortSignal,
): Promise<void> {
  let last: string | undefined
  await ask(
    source,
    async ({ faults }) => {
      const rows = (await faults.list()).map(faultRow)
      const text = JSON.stringify(rows)
      if (text !== last) table.replace(rows)
      last = text
    },
    signal,
  )
}
