/** A state root of its own for each test, and the programs that stand in for the components. */
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import type { LaunchOptions } from '../../cluster/launch.ts'
import type { Programs } from '../../cluster/plan/programs.ts'
import { parentOf } from '../../cluster/state/lifetime.ts'
import { listClusters, statePaths } from '../../cluster/state/state-dir.ts'
import { removeCluster } from '../../cluster/take-down.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

export const fixturePrograms: Programs = {
  supervisor: join(import.meta.dirname, '..', '..', 'cluster', 'supervisor', 'supervisor-main.ts'),
  folder: join(import.meta.dirname, 'fixtures', 'programs'),
}

/** A new folder; when the test ends, clusters in it are taken down and it is removed. */
export function temporaryStateRoot(): string {
  const root = temporaryFolder('state')
  onTestFinished(async () => {
    for (const name of listClusters(root)) {
      await removeCluster(statePaths(root, name), { clock: systemClock, graceMs: 500 })
    }
  })
  return root
}

/** Stand-ins listen nowhere, so the default port would look free to clusters elsewhere that do, and then be theirs. */
const port = 20_000 + (process.pid % 10_000)

/** Options of a small cluster of stand-ins in `stateRoot`. */
export function fixtureLaunch(stateRoot: string, more: Partial<LaunchOptions> = {}): LaunchOptions {
  return {
    name: 'lab',
    stateRoot,
    programs: fixturePrograms,
    lifetime: 'detached',
    clock: systemClock,
    nodes: 2,
    port,
    parent: parentOf(inject('runnerPid')),
    ...more,
  }
}
