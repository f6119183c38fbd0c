import { describe, expect, test } from 'vitest'
import type { Pod } from '../../../../../components/api/generated/types.ts'
import { decideEviction } from '../../../../../components/api-server/kinds/core/eviction.ts'
import { applyBinding } from '../../../../../components/api-server/kinds/core/pod/pod-subresources.ts'
import {
  applyScale,
  scaleOf,
} from '../../../../../components/api-server/kinds/autoscaling/scale.ts'
import { deepFreeze, type KubeObject } from '../../../../../components/machinery/objects/object.ts'
import { StatusError } from '../../../../../components/machinery/objects/status-error.ts'
import { nowMs, strategyRuns } from '../../../../support/strategy-runs.ts'

const now = '2026-01-02T03:04:05Z'

function errorOf(run: () => unknown): StatusError {
  try {
    run()
  } catch (error) {
    if (error instanceof StatusError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('a Binding', () => {
  const binding = (target: object = { kind: 'Node', name: 'n2' }, metadata: object = {}) =>
    ({ metadata: { name: 'p', ...metadata }, target }) as KubeObject
  const pod = (spec: object = {}, metadata: object = {}) =>
    ({
      metadata: { name: 'p', uid: 'u', annotations: { a: '1' }, ...metadata },
      spec: { containers: [], ...spec },
      status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False' }] },
    }) as KubeObject

  test('gives the Pod its node, a condition and its own annotations', () => {
    const bound = applyBinding(pod(), binding(undefined, { annotations: { b: '2' } }), nowMs)
    expect(bound).toMatchObject({
      metadata: { annotations: { a: '1', b: '2' } },
      spec: { nodeName: 'n2' },
      status: {
        phase: 'Pending',
        conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: now }],
      },
    })
    expect((bound as Pod).status?.conditions).toHaveLength(1)
  })

  test.each<[string, KubeObject, KubeObject, string]>([
    [
      'of a Pod that has a node',
      pod({ nodeName: 'n1' }),
      binding(),
      'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"',
    ],
    [
      'of a Pod that goes',
      pod({}, { deletionTimestamp: now }),
      binding(),
      'Operation cannot be fulfilled on pods/binding "p": pod p is being deleted, cannot be assigned to a host',
    ],
    [
      'of a Pod that is held back',
      pod({ schedulingGates: [{ name: 'g' }] }),
      binding(),
      'Operation cannot be fulfilled on pods/binding "p": pod p has non-empty .spec.schedulingGates',
    ],
    [
      'meant for an earlier Pod of the name',
      pod(),
      binding(undefined, { uid: 'v' }),
      'Operation cannot be fulfilled on pods/binding "p": Precondition failed: UID in precondition: v, UID in object meta: u',
    ],
  ])('%s is a conflict', (_, object, asked, message) => {
    const error = errorOf(() => applyBinding(object, asked, nowMs))
    expect(error.toStatus()).toMatchObject({
      reason: 'Conflict',
      code: 409,
      message,
      details: { name: 'p', kind: 'pods/binding' },
    })
  })

  test('to something else than a node is refused', () => {
    expect(errorOf(() => applyBinding(pod(), binding({ kind: 'Pod' }), nowMs)).message).toBe(
      '[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]',
    )
  })
})

describe('ephemeral containers', () => {
  const pods = strategyRuns('pods')
  const old = pods.created({ spec: { containers: [{ name: 'c', image: 'i' }] } })
  const asked = (...containers: object[]) => ({
    spec: { containers: [], nodeName: 'n', ephemeralContainers: containers },
  })
  const debug = { name: 'd', image: 'i', stdin: true }

  test('are all that the sub-resource adds', () => {
    const now_ = pods.updated(old, asked(debug), 'ephemeralcontainers') as Pod
    expect(now_.spec).toMatchObject({
      containers: [{ name: 'c' }],
      ephemeralContainers: [{ name: 'd', imagePullPolicy: 'Always' }],
    })
    expect(now_.spec?.nodeName).toBeUndefined()
    expect(pods.updateFaults(old, asked(debug), 'ephemeralcontainers')).toEqual([])
  })

  test('follow the rules of containers', () => {
    expect(pods.updateFaults(old, asked({ name: 'c', image: 'i' }), 'ephemeralcontainers')).toEqual(
      ['spec.ephemeralContainers[0].name: Duplicate value: "c"'],
    )
    const limited = asked({ ...debug, resources: { limits: { cpu: '1' } } })
    expect(pods.updateFaults(old, limited, 'ephemeralcontainers')).toEqual([
      'spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container',
    ])
  })

  test('stay as they are', () => {
    const with_ = pods.updated(old, asked(debug), 'ephemeralcontainers')
    expect(pods.updateFaults(with_, asked(), 'ephemeralcontainers')).toEqual([
      'spec.ephemeralContainers: Forbidden: existing ephemeral containers "d" may not be removed\n',
    ])
    const other = pods.updateFaults(with_, asked({ ...debug, image: 'j' }), 'ephemeralcontainers')
    expect(other).toHaveLength(1)
    expect(other[0]).toContain('existing ephemeral containers "d" may not be changed')
  })
})

describe('a Scale', () => {
  const metadata = {
    name: 'd',
    namespace: 't1',
    uid: 'u',
    resourceVersion: '7',
    creationTimestamp: now,
    labels: { x: 'y' },
    generation: 3,
  }
  const parent = (kind: string, spec: object, status: object = {}): KubeObject => ({
    kind,
    metadata,
    spec,
    status,
  })

  test('shows replicas and the selector as text', () => {
    const spec = {
      replicas: 1,
      selector: {
        matchLabels: { b: '2', a: '1' },
        matchExpressions: [{ key: 'c', operator: 'In', values: ['y', 'x'] }],
      },
    }
    expect(scaleOf(parent('Deployment', spec, { replicas: 2 }))).toEqual({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: {
        name: 'd',
        namespace: 't1',
        uid: 'u',
        resourceVersion: '7',
        creationTimestamp: now,
      },
      spec: { replicas: 1 },
      status: { replicas: 2, selector: 'a=1,b=2,c in (x,y)' },
    })
  })

  test('of nothing has an empty spec; the old controllers select by a map', () => {
    expect(
      scaleOf(parent('ReplicationController', { replicas: 0, selector: { a: 'b' } })),
    ).toMatchObject({
      spec: {},
      status: { replicas: 0, selector: 'a=b' },
    })
  })

  const draft = () => structuredClone(parent('Deployment', { replicas: 1, selector: {} }))
  const scale = (replicas: number, more: object = {}) =>
    ({ metadata: { name: 'd', ...more }, spec: { replicas } }) as KubeObject

  test('sets replicas, and makes a stale version a conflict', () => {
    expect(applyScale(draft(), scale(3))['spec']).toEqual({ replicas: 3, selector: {} })
    expect(applyScale(draft(), scale(3)).metadata).toEqual(draft().metadata)
    expect(applyScale(draft(), scale(3, { resourceVersion: '5' })).metadata.resourceVersion).toBe(
      '5',
    )
  })

  test('cannot be negative or meant for another object', () => {
    expect(errorOf(() => applyScale(draft(), scale(-1))).message).toBe(
      'Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    )
    expect(errorOf(() => applyScale(draft(), scale(1, { uid: 'v' }))).code).toBe(409)
  })
})

describe('an eviction', () => {
  const ready = [{ type: 'Ready', status: 'True' }]
  const pod = (status: object = { phase: 'Running', conditions: ready }, metadata: object = {}) =>
    deepFreeze({
      metadata: { name: 'p', namespace: 'ns', labels: { app: 'x' }, ...metadata },
      spec: {},
      status,
    } as KubeObject)
  const budget = (
    status: object,
    { selector = {}, generation = 1, ...spec }: Record<string, unknown> = {},
  ) =>
    deepFreeze({
      metadata: { name: 'b', namespace: 'ns', generation },
      spec: { selector, ...spec },
      status: { observedGeneration: 1, currentHealthy: 3, desiredHealthy: 2, ...status },
    } as KubeObject)

  test('without a budget goes on', () => {
    expect(decideEviction(pod(), [], nowMs)).toBeUndefined()
    const other = budget({ disruptionsAllowed: 0 }, { selector: { matchLabels: { app: 'y' } } })
    expect(decideEviction(pod(), [other], nowMs)).toBeUndefined()
  })

  test('asks no budget of another namespace, and none whose selector is not valid', () => {
    const none = budget({ disruptionsAllowed: 0 })
    const elsewhere = { ...none, metadata: { ...none.metadata, namespace: 'other' } }
    const matchExpressions = [{ key: 'app', operator: 'Like', values: ['x'] }]
    const odd = budget({ disruptionsAllowed: 0 }, { selector: { matchExpressions } })
    expect(decideEviction(pod(), [elsewhere, odd], nowMs)).toBeUndefined()
  })

  test('of a Pod that is done, or does not run yet, asks no budget', () => {
    const none = [budget({ disruptionsAllowed: 0 })]
    for (const phase of ['Succeeded', 'Failed', 'Pending']) {
      expect(decideEviction(pod({ phase }), none, nowMs)).toBeUndefined()
    }
    const going = pod(undefined, { deletionTimestamp: now })
    expect(decideEviction(going, none, nowMs)).toBeUndefined()
    expect(() => decideEviction(pod(), none, nowMs)).toThrow('Cannot evict pod')
  })

  test('takes one disruption off the budget', () => {
    const decided = decideEviction(pod(), [budget({ disruptionsAllowed: 2 })], nowMs)
    expect(decided?.['status']).toMatchObject({
      disruptionsAllowed: 1,
      disruptedPods: { p: now },
    })
  })

  test('an empty selector covers every Pod of the namespace', () => {
    const decided = decideEviction(
      pod(),
      [budget({ disruptionsAllowed: 1 }, { selector: {} })],
      nowMs,
    )
    expect(decided?.['status']).toMatchObject({ disruptionsAllowed: 0 })
  })

  test('beyond the budget is too many', () => {
    const error = errorOf(() => decideEviction(pod(), [budget({ disruptionsAllowed: 0 })], nowMs))
    expect(error.toStatus()).toMatchObject({
      code: 429,
      reason: 'TooManyRequests',
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      details: {
        causes: [
          {
            reason: 'DisruptionBudget',
            message: 'The disruption budget b needs 2 healthy pods and has 3 currently',
          },
        ],
      },
    })
  })

  test('waits for a budget that has just been changed', () => {
    const changed = budget({ disruptionsAllowed: 2 }, { generation: 2 })
    const error = errorOf(() => decideEviction(pod(), [changed], nowMs))
    expect(error.details).toMatchObject({
      retryAfterSeconds: 10,
      causes: [{ message: 'The disruption budget b is still being processed by the server.' }],
    })
  })

  test('under two budgets is not decided', () => {
    const two = [budget({ disruptionsAllowed: 2 }), budget({ disruptionsAllowed: 2 })]
    expect(errorOf(() => decideEviction(pod(), two, nowMs)).code).toBe(500)
  })

  test.each([
    ['a Pod that ended', { phase: 'Succeeded' }, {}],
    ['a Pod that waits for a node', { phase: 'Pending' }, {}],
    ['a Pod that goes', { phase: 'Running', conditions: ready }, { deletionTimestamp: now }],
    ['a Pod that is not ready while enough others are', { phase: 'Running' }, {}],
  ])('of %s costs no budget', (_, status, metadata) => {
    const decided = decideEviction(
      pod(status, metadata),
      [budget({ disruptionsAllowed: 0 })],
      nowMs,
    )
    expect(decided).toBeUndefined()
  })

  test('of a Pod that is not ready is counted when there are too few, unless the budget says otherwise', () => {
    const few = { disruptionsAllowed: 0, currentHealthy: 1 }
    const broken = pod({ phase: 'Running' })
    expect(errorOf(() => decideEviction(broken, [budget(few)], nowMs)).code).toBe(429)
    const lenient = budget(few, { unhealthyPodEvictionPolicy: 'AlwaysAllow' })
    expect(decideEviction(broken, [lenient], nowMs)).toBeUndefined()
  })
})
