/** Component set: how long its processes may take. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ComponentSpec } from '../../../cluster/plan/component-spec.ts'
import { ComponentSet } from '../../../cluster/supervisor/component-set.ts'
import { processControlOf } from '../../../cluster/supervisor/process-control.ts'
import { createStateDir, pathsIn } from '../../../cluster/state/state-dir.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const fixture = join(import.meta.dirname, '..', 'fixtures', 'child.js')
const name = 'scheduler'
const spec: ComponentSpec = {
  name,
  program: 'scheduler',
  ...{ nodeOptions: [], args: [], files: [], folders: [], certificates: [], dependsOn: [] },
}

/** A set of one component, which behaves as its flag says. */
function setOf(clock: FakeClock): ComponentSet {
  const paths = pathsIn(join(temporaryFolder('skiff-set'), 'lab'))
  createStateDir(paths)
  const set = new ComponentSet({
    cluster: { name: 'lab', id: 'id-of-lab' },
    paths,
    clock,
    log: silentLog,
    ownsFolder: () => true,
    scriptOf: () => fixture,
    processControl: processControlOf('signals'),
    readyTimeoutMs: 30_000,
    stopTimeoutMs: 10_000,
  })
  set.add(spec)
  return set
}

test('a first start has the ready timeout, a restart four minutes', async () => {
  const clock = new FakeClock()
  const set = setOf(clock)
  try {
    set.override(name, ['never-ready'])
    const first = set.start()
    first.catch(() => {})
    await clock.step(30_000)
    await expect(first).rejects.toThrow('scheduler was not ready after 30 s')

    set.override(name, ['ready'])
    await set.start()
    set.override(name, ['never-ready'])
    await set.named(name).kill()
    const restarted = await eventually(() => {
      const status = set.named(name).status()
      expect(status).toMatchObject({ state: 'starting', restarts: 1 })
      return status
    })
    await clock.step(239_000)
    expect(set.named(name).status()).toEqual(restarted)
    set.override(name, ['ready'])
    await clock.step(1000)
    await eventually(async () => {
      await clock.step(100)
      expect(set.named(name).status()).toMatchObject({ state: 'ready', restarts: 2 })
    })
  } finally {
    await set.close()
  }
})
