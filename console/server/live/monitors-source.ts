/** Fills the channel of monitors: holds the cluster against the built-in monitors, with the viewer's identity, while a page asks for it. */
import { aborted } from '../../../components/component-base/aborted.ts'
import type { Clock } from '../../../components/component-base/clock.ts'
import type { Client } from '../../../components/client/client.ts'
import { builtInMonitors } from '../../../monitors/built-in.ts'
import type { Violation } from '../../../monitors/monitor.ts'
import { writerText } from '../../../monitors/violation-text.ts'
import { runMonitors } from '../../../monitors/run-monitors.ts'
import type { MonitorRow, ViolationRow } from '../../protocol/live.ts'
import type { LiveTable } from './table.ts'

/** Older violations leave. */
const mostViolations = 300
const mostRevisions = 10

interface MonitorsSource {
  readonly client: Client
  /** The cluster's. */
  readonly clock: Pick<Clock, 'now'>
}

function violationRow({ writers, ...violation }: Violation, number: number): ViolationRow {
  const { monitor, text, atMs } = violation
  const revisions = violation.revisions.slice(-mostRevisions)
  const known = writers.filter(({ revision }) => revisions.includes(revision))
  const lines = known.map(writerText)
  return { key: String(number), number, monitor, text, atMs, revisions, writers: lines }
}

/** Rejects when the server cannot be reached at the start. */
export async function followMonitors(
  { client, clock }: MonitorsSource,
  table: LiveTable<MonitorRow>,
  signal: AbortSignal,
): Promise<void> {
  let number = 0
  let notes = 0
  // The table may have another source while this one is still ending.
  const set = (row: MonitorRow): void => void (signal.aborted || table.set(row))
  const run = await runMonitors({
    client,
    clock,
    networkClock: client.clock,
    monitors: builtInMonitors,
    onViolation: (violation) => {
      number += 1
      set(violationRow(violation, number))
      if (!signal.aborted) table.delete(String(number - mostViolations))
    },
    onNote: (note) => set({ key: `note ${++notes}`, note }),
  })
  try {
    if (!signal.aborted) table.replace([...table.values()])
    await aborted(signal)
  } finally {
    await run.stop()
  }
}
