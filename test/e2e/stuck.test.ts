/** A frozen process: the status names it and says since when; only what is itself broken is started again. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Cluster } from '../../cluster/cluster.ts'
import type { ComponentStatus } from '../../cluster/control-protocol.ts'
import { eventually } from '../support/eventually.ts'
import { builtOnce } from './built.ts'
import { createPlace } from './place.ts'
import type { Place } from './place.ts'

let place: Place
let cluster: Cluster

// A leader that cannot renew its lease ends, however long the API server is frozen here; without election none does.
const withoutElection = ['scheduler', 'controller-manager'].flatMap((name) => [
  '--set',
  `${name}.leader-elect=false`,
])

beforeAll(async () => {
  await builtOnce()
  place = createPlace()
  cluster = await place.up('lab', ['--nodes', '1', ...withoutElection])
})
afterAll(async () => {
  await place?.[Symbol.asyncDispose]()
})

async function component(name: string): Promise<ComponentStatus> {
  const { components } = await cluster.control.call('status', {})
  const found = components.find((one) => one.name === name)
  if (found === undefined) throw new Error(`there is no ${name}`)
  return found
}

interface StatusJson {
  readonly ready: boolean
  readonly stuck: readonly { name: string; since: string }[]
}

const jsonStatus = async (): Promise<{ code: number | null; json: StatusJson }> => {
  const { code, stdout } = await place.run(['status', '--name', 'lab', '-o', 'json'])
  return { code, json: JSON.parse(stdout) as StatusJson }
}

test('while the API server is frozen, status says that it is stuck, since when, and ends with 1', async () => {
  const { pid = 0 } = await component('api-server')
  const beforeMs = Date.now()
  process.kill(pid, 'SIGSTOP')
  const { code, json } = await jsonStatus()
  expect(code).toBe(1)
  expect(json.ready).toBe(false)
  expect(json.stuck.map(({ name }) => name)).toEqual(['api-server'])
  expect(Date.parse(json.stuck[0]?.since ?? '')).toBeGreaterThanOrEqual(beforeMs - 1000)
  const { code: textCode, stdout } = await place.run(['status', '--name', 'lab'])
  expect(textCode).toBe(1)
  expect(stdout).toMatch(/^api-server +stuck +\d+ +0 /m)
  expect(stdout).toMatch(
    /^api-server is stuck since \S+Z \([^)]+\): stopped by a signal. Restart it with: skiff restart api-server --name lab$/m,
  )
})

test('a scheduler that starts meanwhile is left alone: it says what it waits for', async () => {
  const { pid = 0 } = await component('scheduler')
  process.kill(pid, 'SIGKILL')
  const waiting = await eventually(async () => {
    const one = await component('scheduler')
    expect(one).toMatchObject({
      state: 'starting',
      restarts: 1,
      message: 'waits for api-server, which is stuck',
    })
    expect(one.pid).not.toBe(pid)
    return one
  })
  const { pid: apiServer = 0, restarts } = await component('api-server')
  expect(restarts).toBe(0)
  process.kill(apiServer, 'SIGCONT')
  await eventually(async () => {
    expect(await component('scheduler')).toMatchObject({ state: 'ready', pid: waiting.pid })
  })
  await eventually(async () => {
    const { code, json } = await jsonStatus()
    expect(code).toBe(0)
    expect(json).toMatchObject({ ready: true, stuck: [] })
  })
  expect(await component('scheduler')).toMatchObject({ restarts: 1, pid: waiting.pid })
})

test.each(['controller-manager', 'scheduler', 'node-1'])(
  'a frozen %s is stuck too, and ready again when it goes on',
  async (name) => {
    const { pid = 0, restarts } = await component(name)
    process.kill(pid, 'SIGSTOP')
    await eventually(async () => {
      const frozen = { state: 'stuck', message: 'stopped by a signal' }
      expect(await component(name)).toMatchObject(frozen)
    })
    process.kill(pid, 'SIGCONT')
    await eventually(async () => {
      expect(await component(name)).toMatchObject({ state: 'ready', pid, restarts })
    })
  },
)

test('restart ends a stuck component and starts it anew', async () => {
  const { pid = 0 } = await component('api-server')
  process.kill(pid, 'SIGSTOP')
  const { code } = await place.run(['restart', 'api-server', '--name', 'lab'])
  expect(code).toBe(0)
  expect((await component('api-server')).pid).not.toBe(pid)
  await eventually(async () => expect((await jsonStatus()).code).toBe(0))
})
