import { describe, expect, it } from 'vitest'
import { CommandError } from '../../../cluster/supervisor/child-commands.ts'
import type { ManagedComponent } from '../../../cluster/supervisor/managed-component.ts'
import { ComponentFollowers } from '../../../cluster/supervisor/time-followers.ts'
import type { Quietness } from '../../../components/component-base/time-commands.ts'
import { patienceMs } from '../../../components/component-base/under-way.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

const start = Date.parse('2025-01-01T00:00:00Z')
const paused = { nowMs: start, atMs: start, speed: 0 }
const quiet: Quietness = {
  isBusy: false,
  activity: 0,
  dueMs: null,
  awaited: null,
  restlessMs: null,
}

/** A component that answers with these, the last of them again and again. */
class FakeComponent {
  readonly asked: [name: string, params: unknown][] = []
  state = 'ready'
  pid: number | undefined = 1
  readonly #name: string
  readonly #answers: (Quietness | Promise<Quietness>)[]
  commandError: CommandError | undefined

  constructor(name: string, answers: (Quietness | Promise<Quietness>)[] = [quiet]) {
    this.#name = name
    this.#answers = answers
  }

  get managed(): ManagedComponent {
    const command = async (name: string, params: unknown): Promise<unknown> => {
      this.asked.push([name, params])
      if (this.commandError !== undefined) throw this.commandError
      if (name !== 'fire-due') return null
      return this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0]
    }
    const status = () => ({ pid: this.pid, state: this.state })
    return { spec: { name: this.#name }, status, command } as unknown as ManagedComponent
  }

  get settings(): unknown[] {
    return this.asked.filter(([name]) => name === 'time').map(([, params]) => params)
  }
}

function followersOf(components: FakeComponent[], clock = new FakeClock(start)) {
  return new ComponentFollowers(() => components.map(({ managed }) => managed), clock)
}

describe('components that follow the time of a cluster', () => {
  it('are told nothing while it is real', async () => {
    const node = new FakeComponent('node-1')
    const followers = followersOf([node])
    await followers.set({ nowMs: start, atMs: start, speed: 1 })
    expect(node.asked).toEqual([])
    expect(followers.environmentOf('node-1')).toEqual({})
  })

  it('have done all that is due when two rounds running are quiet and nothing happened in between', async () => {
    const server = new FakeComponent('api-server', [
      { ...quiet, activity: 1 },
      { ...quiet, activity: 1 },
      { ...quiet, activity: 2, restlessMs: start + 12_000 },
    ])
    const waits = { dueMs: start + 9000, awaited: { dueMs: start + 9500 } }
    const node = new FakeComponent('node-1', [
      { ...quiet, isBusy: true },
      { ...quiet, activity: 5, ...waits, restlessMs: start + 9500 },
    ])
    const clock = new FakeClock(start)
    const due = followersOf([server, node], clock).fireDue(paused)
    await settle()
    await clock.step(1)
    expect(await due).toEqual({
      dueMs: start + 9000,
      awaited: { dueMs: start + 9500, owner: 'node-1' },
      restlessMs: start + 9500,
    })
    // Busy; then its counter has grown; then the server's; then nothing has happened.
    expect(node.asked).toHaveLength(4)
  })

  it('are named when they do not follow, and not asked again', async () => {
    const balancer = new FakeComponent('load-balancer')
    balancer.commandError = new CommandError('unknown', 'unknown command time')
    const followers = followersOf([balancer, new FakeComponent('node-1')])
    await followers.set(paused)
    expect(followers.apart).toEqual(['load-balancer'])
    await followers.fireDue(paused)
    expect(balancer.asked).toHaveLength(1)
  })

  it('are not waited for while they are frozen, and learn the time when they go on', async () => {
    const node = new FakeComponent('node-1')
    const followers = followersOf([node])
    node.state = 'paused'
    await followers.set(paused)
    await followers.fireDue(paused)
    expect(node.asked).toEqual([])
    node.state = 'ready'
    followers.changed(node.managed)
    followers.changed(node.managed)
    expect(node.settings).toEqual([paused])
  })

  it('are given up after a while when they do not answer, and followed again when they do', async () => {
    const late = Promise.withResolvers<Quietness>()
    const node = new FakeComponent('node-1', [late.promise, quiet])
    const clock = new FakeClock(start)
    const followers = followersOf([node], clock)
    const fired = followers.fireDue(paused)
    await settle()
    await clock.step(patienceMs)
    await fired
    await followers.set(paused)
    expect(node.settings).toEqual([])
    late.resolve(quiet)
    await settle()
    expect(node.settings).toEqual([paused])
  })

  it('begin with the time of the cluster, and hear of a change since they were spawned', async () => {
    const node = new FakeComponent('node-1')
    node.pid = undefined
    const followers = followersOf([node])
    await followers.set(paused)
    const environment = followers.environmentOf('node-1')
    expect(Object.values(environment).map((text) => JSON.parse(text) as unknown)).toEqual([paused])
    node.pid = 2
    followers.changed(node.managed)
    expect(node.settings).toEqual([])
    node.pid = undefined
    followers.environmentOf('node-1')
    const later = { ...paused, nowMs: start + 1000 }
    await followers.set(later)
    node.pid = 3
    followers.changed(node.managed)
    expect(node.settings).toEqual([later])
  })

  it('can be ahead of the others, also after a restart', async () => {
    const node = new FakeComponent('node-1')
    const followers = followersOf([node])
    await followers.skew(node.managed, 60_000)
    const ahead = { nowMs: start, atMs: start, speed: 1, skewMs: 60_000 }
    expect(node.settings).toEqual([ahead])
    await followers.set(paused)
    expect(node.settings.at(-1)).toEqual({ ...paused, skewMs: 60_000 })
    expect(Object.values(followers.environmentOf('node-1')).join()).toContain('"skewMs":60000')
  })
})
