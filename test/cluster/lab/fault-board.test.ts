import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FaultBoard } from '../../../cluster/lab/fault-board.ts'
import type { FaultSpec } from '../../../cluster/lab/fault-spec.ts'
import type { Levers, NamedFault } from '../../../cluster/lab/levers.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** Levers that hold what they are given; a test fires them. */
function fakeLevers() {
  const fired = new Map<string, number>()
  const held = new Set<string>()
  const levers: Levers = {
    hold: async ({ name }: NamedFault) => {
      fired.set(name, 0)
      held.add(name)
      return { fired: async () => fired.get(name) ?? 0, end: async () => void held.delete(name) }
    },
  }
  const fire = (name: string): void => {
    if (held.has(name)) fired.set(name, (fired.get(name) ?? 0) + 1)
  }
  return { levers, held, fire }
}

function setUp(levers = fakeLevers()) {
  const clock = new FakeClock()
  return { ...levers, clock, board: new FaultBoard(levers.levers, { clock, log: silentLog }) }
}

const refusal = (resource: string, more: object = {}): FaultSpec => ({
  kind: 'requests',
  fault: { match: { resources: [resource] }, action: { status: { code: 503 } } },
  ...more,
})

describe('the fault board', () => {
  it('names a fault by its kind and a number, and holds it until it is healed', async () => {
    const { board, held } = setUp()
    expect(await board.add(refusal('pods'))).toMatchObject({ name: 'requests-1', fired: 0 })
    expect([...held]).toEqual(['requests-1'])
    expect(await board.heal('requests-1')).toMatchObject([{ ended: 'healed', fired: 0 }])
    expect([...held]).toEqual([])
  })

  it('ends a fault that has fired as often as it may', async () => {
    const { board, held, fire } = setUp()
    await board.add(refusal('pods', { times: 2 }))
    fire('requests-1')
    expect((await board.list())[0]).toMatchObject({ fired: 1 })
    fire('requests-1')
    expect((await board.list())[0]).toMatchObject({ fired: 2, ended: 'times' })
    expect(held.size).toBe(0)
  })

  it("ends a fault after its time of the cluster's clock", async () => {
    const { board, clock, held } = setUp()
    await board.add(refusal('pods', { forMs: 5000 }))
    await clock.step(4999)
    expect(held.size).toBe(1)
    await clock.step(1)
    await board.settled()
    expect((await board.list())[0]).toMatchObject({ ended: 'time' })
    expect(held.size).toBe(0)
  })

  it('refuses a fault that contradicts an active one, and names both', async () => {
    const { board, held } = setUp()
    await board.add(refusal('pods', { name: 'first' }))
    await expect(board.add(refusal('pods', { name: 'second' }))).rejects.toThrow(
      'fault "second" contradicts fault "first", which is active: they match the same requests',
    )
    expect([...held]).toEqual(['first'])
    await board.heal('first')
    await board.add(refusal('pods', { name: 'second' }))
    expect([...held]).toEqual(['second'])
  })

  it('refuses a name that an active fault has', async () => {
    const { board } = setUp()
    await board.add(refusal('pods', { name: 'mine' }))
    await expect(board.add(refusal('nodes', { name: 'mine' }))).rejects.toThrow(
      'a fault named "mine" is active',
    )
  })

  it('says of a name that no active fault has whether it has ended', async () => {
    const { board } = setUp()
    await board.add(refusal('pods', { name: 'mine' }))
    await board.heal()
    await expect(board.heal('mine')).rejects.toThrow('fault "mine" has ended: it was healed')
    await expect(board.heal('other')).rejects.toThrow('there is no fault "other"')
  })

  it('keeps nothing of a fault that cannot be made to hold', async () => {
    const clock = new FakeClock()
    const levers: Levers = { hold: async () => Promise.reject(new Error('no such part')) }
    const board = new FaultBoard(levers, { clock, log: silentLog })
    await expect(board.add(refusal('pods'))).rejects.toThrow('no such part')
    expect(await board.list()).toEqual([])
    const good = fakeLevers()
    levers.hold = good.levers.hold
    expect((await board.add(refusal('pods'))).name).toBe('requests-1')
  })

  it('has happened, and is active no more, once a process is killed', async () => {
    const { levers } = fakeLevers()
    const once: Levers = {
      hold: async (fault) => ({ ...(await levers.hold(fault)), fired: async () => 1 }),
    }
    const { board } = setUp({ ...fakeLevers(), levers: once })
    const kill: FaultSpec = { kind: 'process', fault: { part: 'scheduler', action: 'kill' } }
    expect(await board.add(kill)).toMatchObject({ ended: 'times', fired: 1 })
  })

  it('counts every firing once and ends every fault once, whatever happens in which order', async () => {
    const step = fc.oneof(
      fc.record({
        do: fc.constant('add' as const),
        of: fc.nat(4),
        times: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
        forMs: fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }),
      }),
      fc.record({ do: fc.constant('fire' as const), of: fc.nat(4) }),
      fc.record({ do: fc.constant('heal' as const), of: fc.nat(4) }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.nat(40) }),
      fc.constant({ do: 'list' as const }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { board, clock, held, fire } = setUp()
        const counted = new Map<string, number>()
        for (const one of steps) {
          if (one.do === 'add') {
            const ends = Object.fromEntries(
              Object.entries({ times: one.times, forMs: one.forMs }).filter(([, v]) => v),
            )
            const added = board.add(refusal(`r${one.of}`, { name: `f${one.of}`, ...ends }))
            await added.then(
              ({ name }) => counted.set(name, 0),
              () => {},
            )
          } else if (one.do === 'fire') {
            const name = `f${one.of}`
            if (held.has(name)) counted.set(name, (counted.get(name) ?? 0) + 1)
            fire(name)
          } else if (one.do === 'heal') await board.heal(`f${one.of}`).catch(() => {})
          else if (one.do === 'wait') await clock.step(one.ms)
          await board.settled()
        }
        const list = await board.list()
        const active = list.filter(({ ended }) => ended === undefined)
        expect(active.map(({ name }) => name).toSorted()).toEqual([...held].toSorted())
        for (const { name, fired, spec } of active) {
          expect(fired).toBe(counted.get(name))
          expect(fired).toBeLessThan(spec.times ?? Infinity)
        }
        for (const { ended, fired, spec } of list) {
          if (ended === 'times') expect(fired).toBeGreaterThanOrEqual(spec.times ?? Infinity)
          if (ended === 'time') expect(spec.forMs).toBeDefined()
        }
      }),
      { numRuns: 100 },
    )
  })
})
