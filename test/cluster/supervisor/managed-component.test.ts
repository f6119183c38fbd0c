import { expect, test } from 'vitest'
import type { Child, ChildExit } from '../../../cluster/supervisor/child-process.ts'
import type { ComponentStatus } from '../../../cluster/control-protocol.ts'
import { createManagedComponent } from '../../../cluster/supervisor/managed-component.ts'
import { processControlOf } from '../../../cluster/supervisor/process-control.ts'
import type { ControlWay } from '../../../cluster/supervisor/process-control.ts'
import type { ComponentSpec } from '../../../cluster/plan/component-spec.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

interface FakeChild extends Child {
  /** Whether it was spawned to wait for the command `start`. */
  readonly startsWhenTold: boolean
  readonly commands: readonly string[]
  /** It serves. */
  serve(): void
  /** It is gone. */
  end(): void
}

function fakeChild(pid: number, startsWhenTold: boolean): FakeChild {
  const commands: string[] = []
  const ready = Promise.withResolvers<Readonly<Record<string, unknown>>>()
  const exited = Promise.withResolvers<ChildExit>()
  return {
    pid,
    startsWhenTold,
    commands,
    ready: ready.promise,
    exited: exited.promise,
    signal: () => {},
    command: async (name) => void commands.push(name),
    stop: () => exited.promise,
    serve: () => ready.resolve({ ready: true }),
    end: () => exited.resolve({ code: 0, signal: undefined }),
  }
}

/** A component whose processes the test plays. */
function managed(way: ControlWay = 'signals') {
  const children: FakeChild[] = []
  const states: string[] = []
  const component = createManagedComponent({
    spec: { name: 'api-server', program: 'api-server' } as ComponentSpec,
    clock: new FakeClock(),
    log: silentLog,
    processControl: processControlOf(way),
    spawn: ({ startsWhenTold }) => {
      const child = fakeChild(children.length + 1, startsWhenTold)
      children.push(child)
      return child
    },
    onChange: ({ state }: ComponentStatus) => void states.push(state),
    cluster: 'lab',
    waitsFor: () => undefined,
    helpLine: 'help',
  })
  return { component, children, states }
}

/** The one process of that number. */
function childOf(children: readonly FakeChild[], number: number): FakeChild {
  const child = children[number - 1]
  if (child === undefined) throw new Error(`there is no process ${number}`)
  return child
}

async function running(way?: ControlWay) {
  const all = managed(way)
  const started = all.component.start()
  childOf(all.children, 1).serve()
  await started
  return all
}

test('a start while the process still stops waits for its end: two never run at once', async () => {
  const { component, children } = await running()
  const stopped = component.stop()
  const started = component.start()
  await settle()
  expect(children).toHaveLength(1)
  childOf(children, 1).end()
  await stopped
  await settle()
  childOf(children, 2).serve()
  await started
  expect(component.status()).toMatchObject({ state: 'ready', pid: 2 })
})

test('two restarts at once are both over when the one new process is ready', async () => {
  const { component, children, states } = await running()
  const over: number[] = []
  const restart = async (number: number): Promise<void> => {
    await component.stop()
    await component.start()
    over.push(number)
  }
  const restarts = [restart(1), restart(2)]
  await settle()
  childOf(children, 1).end()
  await settle()
  expect(children).toHaveLength(2)
  expect(over).toEqual([])
  childOf(children, 2).serve()
  await Promise.all(restarts)
  expect(states).toEqual(['starting', 'ready', 'stopping', 'stopped', 'starting', 'ready'])
})

test('a prepared process starts when its component does; the next run has a process that starts by itself', async () => {
  const { component, children } = managed()
  component.prepare()
  component.prepare()
  expect(children).toHaveLength(1)
  expect(childOf(children, 1)).toMatchObject({ startsWhenTold: true, commands: [] })
  const started = component.start()
  expect(childOf(children, 1).commands).toEqual(['start'])
  childOf(children, 1).serve()
  await started
  expect(component.status()).toMatchObject({ state: 'ready', pid: 1 })
  component.prepare()
  const restarted = component.stop().then(() => component.start())
  childOf(children, 1).end()
  await settle()
  expect(childOf(children, 2).startsWhenTold).toBe(false)
  childOf(children, 2).serve()
  await restarted
})

test('a prepared process ends with its component, also when that never started', async () => {
  const { component, children } = managed()
  component.prepare()
  const stopped = component.stop()
  childOf(children, 1).end()
  await stopped
  expect(component.status().state).toBe('stopped')
})

test('a stop ends a start that waits; whoever started it is told', async () => {
  const { component, children } = managed()
  const started = component.start()
  started.catch(() => {})
  const stopped = component.stop()
  childOf(children, 1).end()
  await stopped
  expect(component.status().state).toBe('stopped')
})

test('a component that answers nothing is stuck since then, and ready again when it answers', async () => {
  const { component } = await running()
  const { sinceMs } = component.status()
  component.silent(sinceMs - 7000, 'does not answer')
  component.silent(sinceMs, 'does not answer')
  expect(component.status()).toMatchObject({
    state: 'stuck',
    sinceMs: sinceMs - 7000,
    message: 'does not answer',
  })
  component.answers()
  expect(component.status()).toMatchObject({ state: 'ready' })
  expect(component.status()).not.toHaveProperty('message')
  component.pause()
  component.silent(sinceMs, 'does not answer')
  expect(component.status()).toMatchObject({ state: 'paused' })
})

test('on Windows a component cannot be paused, and the error says what to do', async () => {
  const { component, states } = await running('channels')
  for (const verb of ['pause', 'resume'] as const) {
    expect(() => component[verb]()).toThrow(
      expect.objectContaining({
        kind: 'usage',
        message: 'api-server cannot be paused: Windows has no SIGSTOP',
        hint: 'kill it instead: skiff fault kill api-server --name lab',
      }),
    )
  }
  expect(states).toEqual(['starting', 'ready'])
})
