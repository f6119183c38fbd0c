import { hash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ChaosMix } from '../../../../cluster/lab/chaos/chaos-mix.ts'
import type { ChaosParts } from '../../../../cluster/lab/chaos/chaos-parts.ts'
import { anyPart, partsNamed } from '../../../../cluster/lab/chaos/chaos-parts.ts'
import { defaultMix } from '../../../../cluster/lab/chaos/default-mix.ts'
import { planChaos } from '../../../../cluster/lab/chaos/plan-chaos.ts'
import { checkFault } from '../../../../cluster/lab/check-fault.ts'
import { contradictionOf } from '../../../../cluster/lab/contradictions.ts'

const hourMs = 3_600_000
const nodes = ['node-1', 'node-2'].map((name) => ({ name, program: 'node-agent' }))
const programs = ['api-server', 'controller-manager', 'scheduler', 'console']
const partsOf = (form: ChaosParts['form']): ChaosParts => ({
  form,
  parts: [...programs.map((program) => ({ name: program, program })), ...nodes],
})
const planOf = (form: ChaosParts['form'], seed: number, forMs = hourMs) =>
  planChaos({ seed, forMs, mix: defaultMix(form), parts: partsOf(form) })

const anyForm = fc.constantFrom('embedded' as const, 'processes' as const)
const anySeed = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const fewRuns = { numRuns: 40 }

const moments = (count: number): ChaosMix => ({
  everyMs: 1000,
  faults: [
    { fault: { kind: 'store', fault: { delayMs: 5 } }, forMs: [10, 10] },
    {
      fault: { kind: 'process', fault: { part: anyPart, action: 'kill' } },
      weight: count,
    },
  ],
})

describe('a plan of chaos', () => {
  it('is the same for the same seed on every machine, and another for another', () => {
    const text = JSON.stringify(planOf('processes', 7))
    expect(hash('sha256', text).slice(0, 16)).toBe('71e4016f372d0d0a')
    expect(JSON.stringify(planOf('processes', 8))).not.toBe(text)
  })

  it('never has two faults at once that contradict each other, nor one twice', () => {
    fc.assert(
      fc.property(anyForm, anySeed, (form, seed) => {
        const plan = planOf(form, seed)
        for (const [index, one] of plan.entries()) {
          for (const other of plan.slice(0, index)) {
            if (other.atMs + other.forMs < one.atMs) continue
            expect(contradictionOf(other.fault, one.fault)).toBeUndefined()
            const { name: _, forMs: _forMs, seed: _seed, ...what } = one.fault
            expect(other.fault).not.toMatchObject(what)
          }
        }
      }),
      fewRuns,
    )
  })

  it('is in order, ends in time, and holds valid faults with names of their own on parts that are there', () => {
    fc.assert(
      fc.property(anyForm, anySeed, fc.integer({ min: 1, max: hourMs }), (form, seed, forMs) => {
        const plan = planOf(form, seed, forMs)
        const names = new Set(partsOf(form).parts.map(({ name }) => name))
        let before = 0
        for (const { atMs, forMs: lasts, fault } of plan) {
          expect(atMs).toBeGreaterThan(before)
          expect(atMs + lasts).toBeLessThanOrEqual(forMs)
          expect(checkFault(fault)).toEqual(fault)
          expect(fault.forMs ?? 0).toBe(lasts)
          for (const part of partsNamed(fault)) expect(names).toContain(part)
          before = atMs
        }
        expect(new Set(plan.map(({ fault }) => fault.name)).size).toBe(plan.length)
      }),
      fewRuns,
    )
  })

  it('takes faults as often as their weights and the mean time between them say', () => {
    const plan = planChaos({
      seed: 1,
      forMs: 10_000_000,
      mix: moments(3),
      parts: partsOf('embedded'),
    })
    expect(plan.length).toBeGreaterThan(9500)
    expect(plan.length).toBeLessThan(10_500)
    const kills = plan.filter(({ entry }) => entry === 1).length
    expect(kills / plan.length).toBeCloseTo(0.75, 1)
    expect(new Set(plan.flatMap(({ fault }) => partsNamed(fault)))).toEqual(
      new Set(['node-1', 'node-2']),
    )
  })

  it('leaves out what no part of the cluster can have', () => {
    const parts: ChaosParts = { form: 'embedded', parts: [] }
    const plan = planChaos({ seed: 1, forMs: 100_000, mix: moments(3), parts })
    expect(plan.length).toBeGreaterThan(0)
    expect(plan.every(({ entry }) => entry === 0)).toBe(true)
  })

  it('of too many faults is refused', () => {
    const plan = (): unknown =>
      planChaos({ seed: 1, forMs: 1e9, mix: moments(1), parts: partsOf('embedded') })
    expect(plan).toThrow('a chaos for 277h46m40s with a fault every 1s has more than 100000 faults')
  })

  it('takes every fault of the default mix within some hours', () => {
    const taken = new Set<number>()
    for (const seed of Array(10).keys())
      for (const { entry } of planOf('processes', seed)) taken.add(entry)
    expect(taken.size).toBe(defaultMix('processes').faults.length)
  })
})
