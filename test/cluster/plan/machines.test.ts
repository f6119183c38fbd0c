/** What a first machine has from its start, so that its clients reach machines that join later. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writePlannedFiles } from '../../../cluster/plan/prepare.ts'
import type { ComponentSpec } from '../../../cluster/plan/component-spec.ts'
import { topologyOf } from '../../../cluster/plan/topology.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const etcdServers = ['http://192.0.2.10:2379']

test('a cluster on etcd has a load balancer where other machines reach it, also with one API server', async () => {
  const where = (address: string) => ({ address, port: 6443, environment: {} })
  const reachable = await topologyOf({ etcdServers }, where('127.0.0.30'))
  expect(reachable.apiServers).toEqual([{ address: '127.0.0.30', port: expect.any(Number) }])
  const alone = await topologyOf({ etcdServers }, where('127.0.0.1'))
  expect(alone.apiServers).toBeUndefined()
  const inFile = await topologyOf({}, where('127.0.0.30'))
  expect(inFile).toEqual({})
})

test('what a cluster has learned of other machines is kept when it starts again', async () => {
  const path = join(temporaryFolder('learned'), 'api-servers.txt')
  const files = [{ kind: 'text', path, text: 'planned\n' }] as const
  const spec = { folders: [], files } as Pick<ComponentSpec, 'folders' | 'files'> as ComponentSpec
  const write = (): Promise<void> =>
    writePlannedFiles([spec], { config: undefined as never, paths: undefined as never, token: '' })
  await write()
  expect(readFileSync(path, 'utf8')).toBe('planned\n')
  writeFileSync(path, 'learned\n')
  await write()
  expect(readFileSync(path, 'utf8')).toBe('learned\n')
})
