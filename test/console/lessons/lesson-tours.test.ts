/** Tours of lessons in the console's process: what begins, what is followed, and what is deleted, with and without a supervisor. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ControlClient } from '../../../cluster/control-client.ts'
import type { ComponentStatus } from '../../../cluster/control-protocol.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { createClient, createClientOver, type Client } from '../../../components/client/client.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import type { LessonStepRow } from '../../../console/protocol/lessons.ts'
import { impersonatedClient } from '../../../console/server/impersonated-client.ts'
import {
  createLessonTours,
  type LessonTours,
} from '../../../console/server/lessons/lesson-tours.ts'
import { LiveTable } from '../../../console/server/live/table.ts'
import { admin } from '../../support/api-client.ts'
import { eventually } from '../../support/eventually.ts'
import { sharedServer } from '../../support/shared-server.ts'

const server = sharedServer()
let client: Client

beforeAll(async () => {
  const shown = server().credential(admin)
  client = createClient({
    server: `https://127.0.0.1:${server().port}`,
    ca: server().pki.authority.certificatePem,
    credentials: { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' },
    dialect: dialects.kubernetes,
  })
  for (const name of ['node-1', 'node-2']) {
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name } }
    await server().ok('POST', '/api/v1/nodes', { body })
  }
})
afterAll(() => client.close())

/** A supervisor of a node and a controller manager; it counts open connections and keeps the calls. */
function supervisor() {
  const calls: string[] = []
  const watchers = new Set<(status: ComponentStatus) => void>()
  let openCount = 0
  const base = { state: 'ready', restarts: 0, sinceMs: 0 }
  const node = { ...base, name: 'extra', program: 'node-agent' } as ComponentStatus
  let manager = { ...base, name: 'controller-manager', program: 'x' } as unknown as ComponentStatus
  const connect = async (): Promise<ControlClient> => {
    openCount += 1
    const closed = Promise.withResolvers<void>()
    const call = async (
      method: string,
      _: object,
      onEvent?: (status: ComponentStatus) => void,
    ): Promise<unknown> => {
      calls.push(method)
      if (onEvent !== undefined) {
        watchers.add(onEvent)
        await closed.promise
      }
      return { components: [node, manager] }
    }
    const close = (): void => {
      openCount -= 1
      closed.resolve()
    }
    return { call, close, closed: closed.promise } as unknown as ControlClient
  }
  const pause = (isPaused: boolean): void => {
    manager = { ...manager, state: isPaused ? 'paused' : 'ready' }
    for (const watcher of watchers) watcher(manager)
  }
  return { connect, calls, open: () => openCount, pause }
}

/** Follows a step until `work` is over. */
async function following(
  tours: LessonTours,
  at: { name: string; step: number },
  work: (row: () => LessonStepRow | undefined) => Promise<void>,
): Promise<void> {
  const left = new AbortController()
  const table = new LiveTable<LessonStepRow>({
    clock: systemClock,
    keyOf: ({ step }) => String(step),
  })
  const running = tours.follow(at, table, left.signal)
  try {
    await work(() => table.get(String(at.step)))
  } finally {
    left.abort(new Error('the page has left'))
    await running.catch(() => {})
    table.clear()
  }
}

test('lessons that need clusters of their own, and unknown ones, do not begin', async () => {
  const tours = createLessonTours({ client, name: 'lab' })
  await expect(tours.begin('join')).rejects.toThrow('skiff lesson run join')
  await expect(tours.begin('nothing')).rejects.toThrow('there is no lesson "nothing"')
  await expect(tours.end('access')).rejects.toThrow('lesson "access" was not begun')
  expect(() => tours.answer('access', { step: 0, text: 'a' })).toThrow('was not begun')
})

const frozen = { name: 'leader-election', step: 3 }

test('a check of a process says what it lacks without a supervisor', async () => {
  const tours = createLessonTours({ client, name: 'lab' })
  await tours.begin(frozen.name)
  await following(tours, frozen, async (row) => {
    await eventually(() => expect(row()?.report?.join()).toContain('has no supervisor'))
    expect(row()).toMatchObject({ done: false, command: expect.stringContaining('--name lab') })
    expect(row()).not.toHaveProperty('explanation')
  })
})

test('a step that was done stays done, and its reader leaves no connection', async () => {
  const { connect, open, pause } = supervisor()
  const tours = createLessonTours({ client, name: 'lab', connectControl: connect })
  await tours.begin(frozen.name)
  expect(open()).toBe(0)
  await following(tours, frozen, async (row) => {
    await eventually(() => expect(row()?.report?.join()).toContain('it is ready'))
    expect(open()).toBe(1)
    pause(true)
    await eventually(() => expect(row()?.done).toBe(true))
    expect(row()?.explanation).toContain('neither works')
  })
  await eventually(() => expect(open()).toBe(0))
  pause(false)
  await following(tours, frozen, async (row) => {
    await eventually(() => expect(row()?.done).toBe(true))
  })
  expect(open()).toBe(0)
})

test('ending a lesson ends the processes of nodes that it made', async () => {
  const { connect, calls, open } = supervisor()
  const tours = createLessonTours({ client, name: 'lab', connectControl: connect })
  await tours.begin('first-cluster')
  await server().ok('POST', '/api/v1/nodes', {
    body: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'extra' } },
  })
  await tours.end('first-cluster')
  expect(calls).toContain('remove-node')
  expect((await server().request('GET', '/api/v1/nodes/extra')).status).toBe(404)
  expect(open()).toBe(0)
})

test('a tour that ends also ends for the pages that follow it', async () => {
  const tours = createLessonTours({ client, name: 'lab' })
  await tours.begin('access')
  const table = new LiveTable<LessonStepRow>({ clock: systemClock, keyOf: () => 'row' })
  const running = tours.follow({ name: 'access', step: 1 }, table, new AbortController().signal)
  const over = expect(running).rejects.toThrow('the lesson has ended')
  await eventually(() => expect(table.get('row')?.report).toBeDefined())
  await tours.end('access')
  await over
  table.clear()
  expect(tours.list().some(({ isBegun }) => isBegun)).toBe(false)
})

test('a user whom the console impersonates cannot make checks as another one', async () => {
  const as = { user: 'jane', groups: ['system:masters'] }
  const { dialect, clock, log } = client
  const jane = createClientOver(impersonatedClient(client.rest, as), { dialect, clock, log })
  const tours = createLessonTours({ client: jane, name: 'lab' })
  await tours.begin('access')
  const table = new LiveTable<LessonStepRow>({ clock: systemClock, keyOf: () => 'row' })
  await expect(
    tours.follow({ name: 'access', step: 2 }, table, new AbortController().signal),
  ).rejects.toThrow('you act as jane, so requests as another user cannot be made')
  table.clear()
})
