/** Pulse: a process that takes commands and answers none is told from one that answers, and from one that has ended. */
import { expect, test } from 'vitest'
import type { ManagedComponent } from '../../../cluster/supervisor/managed-component.ts'
import { Pulse } from '../../../cluster/supervisor/pulse.ts'
import { systemProcesses } from '../../../cluster/state/processes/system-processes.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** A ready component; `answers` are its answers to the commands, in order. */
function component(more: { readonly healthUrl?: string } = {}) {
  const answers: PromiseWithResolvers<unknown>[] = []
  const now = { state: 'ready', why: '' }
  const managed = {
    spec: { name: 'node-1', ...more },
    status: () => ({ state: now.state, pid: process.pid }),
    command: () => {
      const answer = Promise.withResolvers<unknown>()
      answers.push(answer)
      return answer.promise
    },
    silent: (sinceMs: number, why: string) => {
      now.state = 'stuck'
      now.why ||= `since ${sinceMs}: ${why}`
    },
    answers: () => (now.state = 'ready'),
  } as unknown as ManagedComponent
  return { managed, answers, now }
}

function pulse() {
  const clock = new FakeClock(1000)
  return { clock, look: new Pulse({ clock, log: silentLog }) }
}

test('a component that does not answer within three seconds is stuck since it was asked', async () => {
  const { clock, look } = pulse()
  const { managed, now } = component()
  const looked = look.look(managed)
  await clock.step(2999)
  expect(now.state).toBe('ready')
  await clock.step(1)
  await looked
  expect(now).toEqual({ state: 'stuck', why: 'since 1000: does not answer' })
})

test('one that answers stays ready, and so does one that ends or has no such command', async () => {
  const { look } = pulse()
  const { managed, answers, now } = component()
  const first = look.look(managed)
  answers[0]?.resolve(null)
  await first
  expect(now.state).toBe('ready')
  const second = look.look(managed)
  answers[1]?.reject(new Error('it has ended'))
  await second
  expect(now.state).toBe('ready')
})

test('a frozen component is asked once, however often it is looked at, and its answer makes it ready', async () => {
  const { clock, look } = pulse()
  const { managed, answers, now } = component()
  for (let round = 0; round < 3; round += 1) {
    const looked = look.look(managed)
    await clock.step(3000)
    await looked
  }
  expect(answers).toHaveLength(1)
  expect(now).toEqual({ state: 'stuck', why: 'since 1000: does not answer' })
  const looked = look.look(managed)
  answers[0]?.resolve(null)
  await looked
  expect(now.state).toBe('ready')
})

test('etcd, which takes no commands, is asked nothing', async () => {
  const { look } = pulse()
  const { managed, answers, now } = component({ healthUrl: 'http://127.0.0.1:2381/health' })
  await look.look(managed)
  expect(answers).toEqual([])
  expect(now.state).toBe('ready')
})

test('a process that runs, or has ended, is not stopped by a signal', () => {
  expect(systemProcesses.isStopped(process.pid)).toBe(false)
  expect(systemProcesses.isStopped(2 ** 22 + 1)).toBe(false)
})
