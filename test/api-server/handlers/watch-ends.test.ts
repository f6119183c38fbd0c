import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startApiServer, type TestApiServer, type TestWatch } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const path = '/api/v1/namespaces/default/configmaps'

async function grant(server: TestApiServer, name: string): Promise<void> {
  const rbac = `/apis/${server.group('rbac.authorization')}/v1/clusterrolebindings`
  await server.ok('POST', rbac, {
    body: {
      metadata: { name },
      roleRef: {
        apiGroup: server.group('rbac.authorization'),
        kind: 'ClusterRole',
        name: 'cluster-admin',
      },
      subjects: [{ kind: 'User', name, apiGroup: server.group('rbac.authorization') }],
    },
  })
}

/** Time passes until the watch has ended, less than a watch lasts by itself; rejects when it is still there then. */
async function ends(watch: TestWatch, clock: FakeClock): Promise<void> {
  let hasEnded = false
  void watch.ended.then(() => (hasEnded = true))
  for (let seconds = 0; seconds < 1500 && !hasEnded; seconds += 31) {
    await clock.step(31_000)
    await settle(50)
  }
  await eventually(() => expect(hasEnded).toBe(true))
}

/** As much time passes, and the watch is still there. */
async function staysOpen(watch: TestWatch, clock: FakeClock): Promise<void> {
  let hasEnded = false
  void watch.ended.then(() => (hasEnded = true))
  for (let seconds = 0; seconds < 60; seconds += 31) {
    await clock.step(31_000)
    await settle(50)
  }
  expect(hasEnded).toBe(false)
}

describe('a watch', () => {
  it('ends when the right to it has gone, and not before', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock })
    await grant(server, 'jane')
    const watch = await server.watch(`${path}?watch=true`, { as: { user: 'jane' } })
    await staysOpen(watch, clock)
    await server.ok('POST', path, { body: { metadata: { name: 'a' } } })
    expect(await watch.next()).toMatchObject({ type: 'ADDED' })
    const rbac = `/apis/${server.group('rbac.authorization')}/v1/clusterrolebindings`
    await server.ok('DELETE', `${rbac}/jane`)
    await ends(watch, clock)
    expect(
      (await server.request('GET', `${path}?watch=true`, { as: { user: 'jane' } })).status,
    ).toBe(403)
  })

  it('as somebody else ends when the caller may not be him any more, and not before', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock })
    await grant(server, 'jane')
    await grant(server, 'joe')
    const watch = await server.watch(`${path}?watch=true`, {
      as: { user: 'joe' },
      headers: { 'impersonate-user': 'jane' },
    })
    await staysOpen(watch, clock)
    const rbac = `/apis/${server.group('rbac.authorization')}/v1/clusterrolebindings`
    await server.ok('DELETE', `${rbac}/joe`)
    await ends(watch, clock)
    expect((await server.request('GET', path, { as: { user: 'jane' } })).status).toBe(200)
  })

  it('ends when the token it was opened with is good no more', async () => {
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock })
    const namespace = await server.namespace()
    const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`
    const { status } = await server.ok('POST', `${account}/token`, { body: { spec: {} } })
    const name = `system:serviceaccount:${namespace}:default`
    await grant(server, name)
    const as = { token: (status as { token: string }).token }
    const watch = await server.watch(`${path}?watch=true`, { as })
    await staysOpen(watch, clock)
    await server.ok('DELETE', account)
    await ends(watch, clock)
    expect((await server.request('GET', path, { as })).status).toBe(401)
  })

  it('of somebody who is taken for nobody ends with anonymous access', async () => {
    const folder = temporaryFolder('watch-ends')
    const file = join(folder, 'authentication.yaml')
    const content = (enabled: boolean) =>
      JSON.stringify({
        apiVersion: 'apiserver.config.k8s.io/v1beta1',
        kind: 'AuthenticationConfiguration',
        anonymous: { enabled },
      })
    writeFileSync(file, content(true))
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({
      clock,
      flags: [`--authentication-config=${file}`],
    })
    await grant(server, 'system:anonymous')
    const watch = await server.watch(`${path}?watch=true`, { as: 'anonymous' })
    writeFileSync(file, content(false))
    await eventually(async () => {
      await clock.step(1000)
      const { status } = await server.request('GET', path, { as: 'anonymous' })
      expect(status).toBe(401)
    })
    await ends(watch, clock)
  })
})
