/** API servers on a cluster of etcd, while processes die and hang and networks part. */
import { expect } from 'vitest'
import { builtOnce } from '../e2e/built.ts'
import { requireParts } from '../support/require-parts.ts'
import { startDrill, whyNoDrill } from './start-drill.ts'

const seed = Number(process.env['DRILL_SEED'] ?? 1)

requireParts('API servers on etcd in networks that part', whyNoDrill)(
  'every kind of fault leaves histories linearizable and watches whole',
  async () => {
    await builtOnce()
    const report = await startDrill({ seed, servers: 2 })
    const told = `DRILL_SEED=${seed}\n${report.faultLines}`
    expect(report.violations, told).toEqual([])
    expect(report.undecided, told).toEqual([])
    // It has seen something: writes that were answered, writes that were not, and of these some that were made.
    expect(report.acknowledgedWrites).toBeGreaterThan(20)
    expect(report.unknownWrites).toBeGreaterThan(0)
    expect(report.watchEvents).toBeGreaterThan(report.commits)
  },
)
