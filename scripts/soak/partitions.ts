/** API servers on three members of etcd, each in a network of its own: random faults that overlap; all that clients saw is held against every rule. */
import { startDrill, whyNoDrill } from '../../test/partitions/start-drill.ts'
import type { DrillReport } from '../../test/partitions/report.ts'
import type { Part } from './part.ts'

const faultsMs = 60_000

export const partitionSoak: Part = {
  name: 'partitions',
  unit: 'drills of API servers on etcd',
  sliceMs: 90_000,
  run: async ({ seed, until }) => {
    const why = whyNoDrill()
    if (why !== undefined) return { runs: 0, note: `NOT TESTED: ${why}` }
    const reports: DrillReport[] = []
    do {
      const drill = seed * 1000 + reports.length
      const report = await startDrill({ seed: drill, servers: 3, writers: 'all', faultsMs })
      if (report.violations.length > 0) {
        throw new Error(
          `the drill with seed ${drill}:\n${report.faultLines}${report.violations.join('\n')}`,
        )
      }
      reports.push(report)
    } while (Date.now() < until)
    return { runs: reports.length, note: noteOf(reports) }
  },
}

function noteOf(reports: readonly DrillReport[]): string {
  const sum = (count: (report: DrillReport) => number): number =>
    reports.reduce((total, report) => total + count(report), 0)
  const undecided = sum(({ undecided: keys }) => keys.length)
  return [
    `${sum(({ faults }) => faults)} faults`,
    `${sum(({ replacements }) => replacements)} members replaced`,
    `${sum(({ operations }) => operations)} operations`,
    `${sum(({ unknownWrites }) => unknownWrites)} writes of unknown outcome (${sum((one) => one.committedUnknowns)} committed)`,
    `${sum(({ watchEvents }) => watchEvents)} watch events`,
    `writes again after ${Math.max(...reports.map(({ recoveryMs }) => recoveryMs))} ms at most`,
    ...(undecided > 0 ? [`${undecided} objects undecided`] : []),
  ].join(', ')
}
