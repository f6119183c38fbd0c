import { describe, expect, test } from 'vitest'
import type { PodAffinityTerm } from '../../../components/api/generated/types.ts'
import { podInfoOf } from '../../../components/scheduler/pod-info.ts'
import type { PodWishes } from '../build.ts'
import { cluster, node, pod } from '../build.ts'

const zone = 'topology.kubernetes.io/zone'
const term = (app: string, more: Partial<PodAffinityTerm> = {}): PodAffinityTerm => ({
  topologyKey: zone,
  labelSelector: { matchLabels: { app } },
  ...more,
})
const together = (...terms: PodAffinityTerm[]): PodWishes => ({
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
})
const apart = (...terms: PodAffinityTerm[]): PodWishes => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
})

function labelled(app: string, wishes: PodWishes = {}, namespace = 'default') {
  const made = pod(wishes)
  Object.assign(made.metadata, { labels: { app }, namespace })
  return made
}

/** Two zones: a1 and a2 in one, b1 in the other; `bare` has no zone. */
function zones() {
  const where = cluster(
    node('a1', { labels: { [zone]: 'a' } }),
    node('a2', { labels: { [zone]: 'a' } }),
    node('b1', { labels: { [zone]: 'b' } }),
    node('bare'),
  )
  const put = (app: string, nodeName: string, wishes: PodWishes = {}, namespace = 'default') =>
    where.snapshot.setPod(labelled(app, { ...wishes, nodeName }, namespace))
  const choose = (app: string, wishes: PodWishes): string | undefined => {
    const decision = where.findNode(podInfoOf(labelled(app, wishes)))
    return decision.ok ? decision.node.name : undefined
  }
  const reasons = (app: string, wishes: PodWishes) => {
    const decision = where.findNode(podInfoOf(labelled(app, wishes)))
    return decision.ok ? {} : Object.fromEntries(decision.diagnosis.reasons)
  }
  return { ...where, put, choose, reasons }
}

describe('affinity', () => {
  test('puts a pod into the zone of those it wants to be with', () => {
    const { put, choose } = zones()
    put('db', 'b1')
    expect(choose('web', together(term('db')))).toBe('b1')
  })

  test('keeps a pod out of everywhere when they are nowhere, unless it is one of them', () => {
    const { choose, reasons } = zones()
    expect(reasons('web', together(term('db')))).toEqual({
      "node(s) didn't match pod affinity rules": 4,
    })
    expect(choose('db', together(term('db')))).toMatch(/^[ab]/)
  })

  test('means the own namespace, named ones, or those selected by their labels', () => {
    const { put, choose, snapshot } = zones()
    put('db', 'b1', {}, 'data')
    expect(choose('web', together(term('db')))).toBeUndefined()
    expect(choose('web', together(term('db', { namespaces: ['data'] })))).toBe('b1')
    const selected = together(term('db', { namespaceSelector: { matchLabels: { tier: 'low' } } }))
    expect(choose('web', selected)).toBeUndefined()
    snapshot.setNamespace('data', { tier: 'low' })
    expect(choose('web', selected)).toBe('b1')
    expect(choose('web', together(term('db', { namespaceSelector: {} })))).toBe('b1')
  })
})

describe('anti-affinity', () => {
  test('keeps a pod out of the zones of those it avoids', () => {
    const { put, choose, reasons } = zones()
    put('db', 'a1')
    expect(choose('web', { ...apart(term('db')), nodeSelector: { [zone]: 'a' } })).toBeUndefined()
    put('db', 'b1')
    expect(choose('web', apart(term('db')))).toBe('bare')
    expect(reasons('web', { ...apart(term('db')), nodeSelector: { [zone]: 'a' } })).toMatchObject({
      "node(s) didn't match pod anti-affinity rules": 2,
    })
  })

  test('holds the other way round: those already there keep a pod away', () => {
    const { put, snapshot, choose, reasons } = zones()
    put('db', 'a1', { ...apart(term('web')), name: 'guard' })
    expect(choose('web', { nodeSelector: { [zone]: 'a' } })).toBeUndefined()
    expect(reasons('web', { nodeSelector: { [zone]: 'a' } })).toMatchObject({
      "node(s) didn't satisfy existing pods anti-affinity rules": 2,
    })
    snapshot.removePod('default/guard')
    expect(choose('web', { nodeSelector: { [zone]: 'a' } })).toMatch(/^a/)
  })

  test('spreads replicas over zones, one each', () => {
    const { snapshot, findNode } = zones()
    const placed: string[] = []
    for (let replica = 0; replica < 3; replica++) {
      const info = podInfoOf(
        labelled('web', {
          ...apart(term('web')),
          nodeSelector: replica === 2 ? { [zone]: 'a' } : {},
        }),
      )
      const decision = findNode(info)
      if (!decision.ok) continue
      snapshot.assume(info, decision.node.name)
      placed.push(decision.node.labels[zone] ?? 'none')
    }
    expect(new Set(placed).size).toBe(placed.length)
    expect(placed.length).toBeGreaterThanOrEqual(2)
  })
})

test('preferences decide between nodes that would do', () => {
  const { put, choose } = zones()
  put('db', 'b1', { cpu: '3' })
  const weighted = [{ weight: 100, podAffinityTerm: term('db') }]
  const preferring = { preferredDuringSchedulingIgnoredDuringExecution: weighted }
  expect(choose('web', { affinity: { podAffinity: preferring } })).toBe('b1')
  expect(choose('web', { affinity: { podAntiAffinity: preferring } })).not.toBe('b1')
})
