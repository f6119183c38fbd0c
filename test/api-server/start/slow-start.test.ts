/** A server whose start hook takes its time: it serves already, and tells how it is. */
import { get } from 'node:https'
import { describe, expect, it, vi } from 'vitest'
import type { BootstrapOptions } from '../../../components/api-server/controllers/bootstrap-objects.ts'
import { startApiServer } from '../../support/api-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const hook = vi.hoisted(() => ({
  started: Promise.withResolvers<number>(),
  finish: Promise.withResolvers<void>(),
}))
vi.mock('../../../components/api-server/controllers/bootstrap-objects.ts', async (original) => {
  const real =
    await original<
      typeof import('../../../components/api-server/controllers/bootstrap-objects.ts')
    >()
  return {
    ...real,
    ensureBootstrapObjects: async (options: BootstrapOptions) => {
      hook.started.resolve(options.apiServer.port)
      await hook.finish.promise
      await real.ensureBootstrapObjects(options)
    },
  }
})

/** The server is asked before it says that it is ready, so nothing of it is known but the port. */
async function statusOf(port: number, path: string): Promise<number | undefined> {
  return await new Promise((done, fail) => {
    const options = { host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false }
    get(options, (answer) => {
      answer.resume()
      done(answer.statusCode)
    }).on('error', fail)
  })
}

describe('--livez-grace-period', () => {
  it('[HEALTH-015] keeps /livez well while a start hook runs, until it has passed', async () => {
    const clock = new FakeClock(Date.now())
    const starting = startApiServer({
      clock,
      flags: [
        '--livez-grace-period=60s',
        '--authorization-mode=AlwaysAllow',
        '--anonymous-auth=true',
      ],
    })
    const port = await hook.started.promise
    const all = async () => [
      await statusOf(port, '/livez'),
      await statusOf(port, '/readyz'),
      await statusOf(port, '/livez/poststarthook/bootstrap-controller'),
    ]
    expect(await all()).toEqual([200, 500, 200])
    await clock.step(59_000)
    expect(await all()).toEqual([200, 500, 200])
    await clock.step(2000)
    expect(await all()).toEqual([500, 500, 500])
    hook.finish.resolve()
    await using server = await starting
    expect(server.port).toBe(port)
    expect(await all()).toEqual([200, 200, 200])
  })
})
