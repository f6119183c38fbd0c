/** API servers on a cluster of etcd, while processes die and hang and networks part. */
import { expect } from 'vitest'
import { builtOnce } from '../e2e/built.ts'
import { eventually } from '../support/eventually.ts'
import { listProcesses } from '../support/process-list.ts'
import { requireParts } from '../support/require-parts.ts'
import { launchDrill, startDrill, whyNoDrill } from './start-drill.ts'

const { DRILL_SEED = '1' } = process.env
const seed = Number(DRILL_SEED)
const test = requireParts('API servers on etcd in networks that part', whyNoDrill)

test('under every kind of fault histories are linearizable and watches whole', async () => {
  await builtOnce()
  const report = await startDrill({ seed, servers: 2, writers: 'all' })
  const told = `run it again with DRILL_SEED=${seed}; the faults were\n${report.faultLines}`
  expect(report.violations, told).toEqual([])
  expect(report.undecided, told).toEqual([])
  // Otherwise it has seen nothing.
  expect(report.replacements, told).toBe(1)
  expect(report.acknowledgedWrites, told).toBeGreaterThan(20)
  expect(report.unknownWrites, told).toBeGreaterThan(0)
  expect(report.watchEvents, told).toBeGreaterThan(report.commits)
})

test('a drill that is killed, or whose starter dies, leaves no process and no network', async () => {
  await builtOnce()
  const deaths = {
    killed: (child: ReturnType<typeof launchDrill>) => child.kill('SIGKILL'),
    'starter died': (child: ReturnType<typeof launchDrill>) => child.stdin.end(),
  }
  for (const [how, die] of Object.entries(deaths)) {
    const mark = `drill-${process.pid}-${how}`
    const child = launchDrill({ seed, servers: 1, writers: 'all' }, { DRILL_MARK: mark })
    const processes = (): string[] =>
      listProcesses()
        .filter(({ environment }) => environment.includes(mark))
        .map(({ command }) => command)
    await eventually(() => expect(processes().join(' ')).toContain('api-server.js'))
    die(child)
    // Network namespaces are gone with the last process in them.
    await eventually(() => expect(processes()).toEqual([]))
  }
})
