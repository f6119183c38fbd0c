/** What an update may change of a Pod, at its bounds. */
import { describe, expect, test } from 'vitest'
import { container, contains, pods } from './pod-faults.ts'

describe('an update', () => {
  const required = 'requiredDuringSchedulingIgnoredDuringExecution'
  const faultsFrom = (from: object, to: object): string[] => {
    const old = pods.created({ spec: { containers: [container], ...from } })
    return pods.updateFaults(old, { spec: { ...(old['spec'] as object), ...to } })
  }
  const mayNot = contains('spec: Forbidden: pod updates may not change fields other than')

  test('keeps the class of service', () => {
    const [made] = pods.created({ spec: { containers: [container] } })['spec']
      .containers as object[]
    const limits = { cpu: '1', memory: '1Gi' }
    expect(faultsFrom({}, { containers: [{ ...made, resources: { limits } }] })).toEqual([
      contains('Pod QoS is immutable'),
      mayNot,
    ])
  })

  test('ends a negative grace period, with one second', () => {
    const old = pods.created({ spec: { containers: [container] } })
    const stored = { ...old, spec: { ...old['spec'], terminationGracePeriodSeconds: -1 } }
    const faults = (terminationGracePeriodSeconds: number) =>
      pods.updateFaults(stored, { spec: { ...old['spec'], terminationGracePeriodSeconds } })
    expect(faults(1)).toEqual([])
    expect(faults(2)).toEqual([mayNot])
    expect(
      faultsFrom({ terminationGracePeriodSeconds: 0 }, { terminationGracePeriodSeconds: 1 }),
    ).toEqual([mayNot])
  })

  test('never takes a deadline away, nor makes it negative', () => {
    expect(faultsFrom({ activeDeadlineSeconds: 5 }, { activeDeadlineSeconds: undefined })).toEqual([
      contains('must not update from a positive integer to nil value'),
    ])
    expect(faultsFrom({}, { activeDeadlineSeconds: 2 ** 31 })).toContainEqual(
      contains('spec.activeDeadlineSeconds: Invalid value: 2147483648'),
    )
  })

  describe('of a Pod that gates hold back', () => {
    const gated = { schedulingGates: [{ name: 'example.com/g' }] }
    const affinity = (...nodeSelectorTerms: object[]) => ({
      affinity: { nodeAffinity: { [required]: { nodeSelectorTerms } } },
    })
    const [a, b] = ['a', 'b'].map((key) => ({ key, operator: 'Exists' }))
    const place = `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms`

    test('adds to its node selector, and changes nothing there', () => {
      const from = { ...gated, nodeSelector: { x: '1' } }
      expect(faultsFrom(from, { nodeSelector: { x: '1', y: '2' } })).toEqual([])
      for (const nodeSelector of [{ x: '2' }, { y: '2' }, undefined]) {
        expect(faultsFrom(from, { nodeSelector })).toEqual([
          contains('only additions to spec.nodeSelector are allowed (no mutations or deletions)'),
        ])
      }
      expect(
        faultsFrom({ nodeSelector: { x: '1' } }, { nodeSelector: { x: '1', y: '2' } }),
      ).toEqual([mayNot])
    })

    test('gets a node affinity, or a narrower one', () => {
      const term = { matchExpressions: [a] }
      expect(faultsFrom(gated, affinity(term))).toEqual([])
      const from = { ...gated, ...affinity(term) }
      expect(faultsFrom(from, affinity({ matchExpressions: [a, b] }))).toEqual([])
      const named = { key: 'metadata.name', operator: 'In', values: ['n'] }
      expect(faultsFrom(from, affinity({ ...term, matchFields: [named] }))).toEqual([])
      const additions = contains('only additions are allowed (no mutations or deletions)')
      expect(faultsFrom(from, affinity({ matchExpressions: [b, a] }))).toEqual([additions])
      expect(faultsFrom(from, affinity({}))).toEqual([additions])
      const number = contains(`${place}: Invalid value`)
      expect(faultsFrom(from, affinity(term, term))).toEqual([number])
      expect(faultsFrom(from, { affinity: {} })).toEqual([number])
      expect(faultsFrom({ ...gated, ...affinity({}) }, affinity(term))).toEqual([additions])
      expect(faultsFrom({ ...gated, ...affinity({}, term) }, affinity({}, term))).toEqual([])
      const preferred = { preferredDuringSchedulingIgnoredDuringExecution: [] }
      expect(faultsFrom(affinity(term), { affinity: { nodeAffinity: preferred } })).toEqual([
        mayNot,
      ])
      const others = {
        affinity: {
          ...affinity(term).affinity,
          podAffinity: { [required]: [{ topologyKey: 'zone' }] },
        },
      }
      expect(faultsFrom(from, others)).toEqual([mayNot])
    })
  })
})
