import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checkEtcd } from '../../cluster/check-etcd.ts'
import { statePaths } from '../../cluster/state/state-dir.ts'
import { eventually } from '../support/eventually.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { temporaryStateRoot } from './temporary-state.ts'

/** How long, by its clock, the check of an etcd takes that does not answer, and what it says. */
async function failureOf(waitMs: number): Promise<{ tookMs: number; error: unknown }> {
  const clock = new FakeClock()
  const paths = statePaths(temporaryStateRoot(), 'lab')
  const startedMs = clock.now()
  let error: unknown
  void checkEtcd(
    { etcd: { servers: ['http://127.0.0.1:1'] }, extraFlags: {} },
    { paths, waitMs, clock },
  ).catch((reason: unknown) => {
    error = reason
  })
  await eventually(async () => {
    await clock.step(50)
    expect(error).toBeDefined()
  })
  expect(existsSync(paths.dir)).toBe(false)
  return { tookMs: clock.now() - startedMs, error }
}

test('an etcd that does not answer is waited for as long as --wait says, and no longer than 20 s', async () => {
  const short = await failureOf(3000)
  expect(short.error).toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('etcd cannot be used: http://127.0.0.1:1: ') as unknown,
  })
  expect(short.tookMs).toBeGreaterThanOrEqual(3000)
  expect(short.tookMs).toBeLessThan(6000)
  expect((await failureOf(60_000)).tookMs).toBeGreaterThanOrEqual(20_000)
})

test('an etcd of the cluster itself, or one that --set names, is left to the API server', async () => {
  const by = {
    paths: statePaths(temporaryStateRoot(), 'lab'),
    waitMs: 0,
    clock: new FakeClock(),
  }
  const servers = ['http://127.0.0.1:1']
  const own = { binary: '/usr/bin/etcd', members: [] }
  await checkEtcd({ etcd: { servers, own }, extraFlags: {} }, by)
  const flags = { 'etcd-cafile': '/ca.crt' }
  await checkEtcd({ etcd: { servers }, extraFlags: { 'api-server': flags } }, by)
  await checkEtcd({ extraFlags: {} }, by)
})
