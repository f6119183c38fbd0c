import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { startApiServer, user } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let folder: string
beforeAll(() => {
  folder = temporaryFolder('schedule')
})

const whole = (authorizers: unknown): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthorizationConfiguration',
    authorizers,
  })

describe('the authorization configuration', () => {
  it('[LIM-011][AUTHZ-036] is read again every 60 seconds where no event tells of a change', async () => {
    // A link into another folder: what happens there is no event here.
    mkdirSync(join(folder, 'elsewhere'))
    const file = join(folder, 'elsewhere', 'authorization.yaml')
    const link = join(folder, 'authorization.yaml')
    writeFileSync(file, whole([{ type: 'RBAC', name: 'rbac' }]))
    symlinkSync(file, link)
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({
      clock,
      flags: ['--authorization-mode=', `--authorization-config=${link}`],
    })
    const metrics = async () => (await server.request('GET', '/metrics')).text
    const reloads = async (): Promise<number> =>
      Number(
        /apiserver_authorization_config_controller_automatic_reloads_total\{status="success"[^}]*\} (\d+)/.exec(
          await metrics(),
        )?.[1] ?? 0,
      )
    const node = { user: 'system:node:n1', groups: ['system:nodes'] }
    const services = async () =>
      (await server.request('GET', '/api/v1/services', { as: node })).status
    expect(await services()).toBe(403)
    for (const [round, authorizers] of [
      [{ type: 'Node', name: 'node' }],
      [{ type: 'RBAC', name: 'rbac' }],
    ].entries()) {
      writeFileSync(file, whole(authorizers))
      await clock.step(58_000)
      expect(await reloads()).toBe(round)
      await clock.step(2_000)
      // The clock stands still: the file is read at 60 s, and not later.
      await eventually(async () => expect(await reloads()).toBe(round + 1))
      expect(await services()).toBe(round === 0 ? 200 : 403)
    }
    expect((await server.request('GET', '/api', { as: user('nobody') })).status).toBe(200)
  })
})
