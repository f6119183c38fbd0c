import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Endpoint, EndpointSlice } from '../../../components/api/generated/types.ts'
import { planSlices } from '../../../components/controller-manager/endpoints/slice-plan.ts'
import type {
  EndpointGroup,
  SlicePlan,
} from '../../../components/controller-manager/endpoints/slice-plan.ts'

const http = [{ name: '', port: 80, protocol: 'TCP' }]
const options = { max: 3, keepsOne: true }

function endpoint(number: number, ready = true): Endpoint {
  return { addresses: [`10.0.0.${number}`], conditions: { ready } }
}
function group(...numbers: number[]): EndpointGroup {
  return { ports: http, endpoints: numbers.map((number) => endpoint(number)) }
}
function slice(name: string, { ports, endpoints }: EndpointGroup): EndpointSlice {
  return {
    metadata: { name, uid: name },
    addressType: 'IPv4',
    ports: [...ports],
    endpoints: [...endpoints],
  }
}
/** The slices there are once the plan was carried out. */
function after(existing: readonly EndpointSlice[], plan: SlicePlan): EndpointSlice[] {
  const updated = new Map(plan.update.map(({ slice: old, to }) => [old, to]))
  return [
    ...existing
      .filter((old) => !plan.remove.includes(old))
      .map((old) => slice(old.metadata.name ?? '', updated.get(old) ?? { ports: [], ...old })),
    ...plan.create.map((created, index) => slice(`new-${index}`, created)),
  ]
}
const nothing: Omit<SlicePlan, 'totals'> = { create: [], update: [], remove: [] }

describe('the plan for endpoint slices', () => {
  it('does nothing when nothing changed', () => {
    const existing = [slice('a', group(1, 2, 3)), slice('b', group(4))]
    expect(planSlices(existing, [group(4, 3, 2, 1)], options)).toMatchObject(nothing)
  })

  it('fills slices up before it makes new ones', () => {
    expect(planSlices([slice('a', group(1))], [group(1, 2, 3, 4)], options)).toMatchObject({
      create: [{ endpoints: [endpoint(2), endpoint(3), endpoint(4)] }],
      update: [],
    })
    expect(planSlices([slice('a', group(1))], [group(1, 2, 3)], options)).toMatchObject({
      create: [],
      update: [{ to: { endpoints: [endpoint(1), endpoint(2), endpoint(3)] } }],
    })
  })

  it('puts new endpoints where something changes anyway, and leaves the others alone', () => {
    const existing = [slice('a', group(1, 2)), slice('b', group(3, 4))]
    const plan = planSlices(existing, [group(1, 3, 4, 5)], options)
    expect(plan.update.map(({ slice: { metadata } }) => metadata.name)).toEqual(['a'])
    expect(plan.update[0]?.to.endpoints).toEqual([endpoint(1), endpoint(5)])
    expect(plan.create).toEqual([])
  })

  it('a change of condition alone changes only that slice', () => {
    const existing = [slice('a', group(1, 2)), slice('b', group(3))]
    const wanted = { ports: http, endpoints: [endpoint(1), endpoint(2, false), endpoint(3)] }
    const plan = planSlices(existing, [wanted], options)
    expect(plan.update).toHaveLength(1)
    expect(plan.update[0]?.to.endpoints).toEqual([endpoint(1), endpoint(2, false)])
  })

  it('keeps one empty slice when there are no endpoints', () => {
    const plan = planSlices([], [], options)
    expect(plan).toMatchObject({ ...nothing, create: [{ ports: [], endpoints: [] }] })
    const placeholder = slice('a', { ports: [], endpoints: [] })
    expect(planSlices([placeholder], [], options)).toMatchObject(nothing)
    expect(planSlices([placeholder], [], { ...options, keepsOne: false }).remove).toHaveLength(1)
  })

  it('makes a slice that would go into one that would come', () => {
    const plan = planSlices([slice('a', { ports: [], endpoints: [] })], [group(1)], options)
    expect(plan.create).toEqual([])
    expect(plan.remove).toEqual([])
    expect(plan.update).toHaveLength(1)
  })

  it('in the end has every wanted endpoint once, no slice too full, and then nothing to do', () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 30 }), { maxLength: 20 })
    fc.assert(
      fc.property(fc.array(numbers, { minLength: 1, maxLength: 8 }), (rounds) => {
        let existing: EndpointSlice[] = []
        for (const round of rounds) {
          const groups = [group(...round)]
          existing = after(existing, planSlices(existing, groups, options))
          const shown = existing.flatMap(({ endpoints }) =>
            endpoints.map((one) => one.addresses[0]),
          )
          expect(shown.toSorted()).toEqual(round.map((number) => `10.0.0.${number}`).toSorted())
          expect(existing.every(({ endpoints }) => endpoints.length <= 3)).toBe(true)
          expect(existing.length).toBeGreaterThan(0)
          expect(planSlices(existing, groups, options)).toMatchObject(nothing)
        }
      }),
    )
  })
})
