/** What the volume plugins make of claims, volumes and nodes: where a pod may go, and why not. */
import { describe, expect, test } from 'vitest'
import type { Pod, StorageClass } from '../../../components/api/generated/types.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { fitMessage } from '../../../components/scheduler/fit-error.ts'
import { podInfoOf } from '../../../components/scheduler/pod-info.ts'
import { bindCompleted, claim, selectedNode, storageClass, volume } from '../../support/volumes.ts'
import type { ClaimFacts } from '../../support/volumes.ts'
import { clusterWith, node, pod } from '../build.ts'

type Objects = Readonly<Record<string, readonly KubeObject[]>>
const zone = 'topology.kubernetes.io/zone'
const nodes = [node('a', { labels: { [zone]: 'a' } }), node('b', { labels: { [zone]: 'b' } })]

function using(...claims: string[]): Pod {
  const volumes = claims.map((claimName) => ({
    name: claimName,
    persistentVolumeClaim: { claimName },
  }))
  return pod({ name: 'p', volumes })
}

/** The node's name, or the message of the pod's condition. */
function outcome(
  objects: Objects,
  placed: readonly (readonly [Pod, string])[] = [],
  own = using('c'),
) {
  const where = clusterWith({ objects }, ...nodes)
  for (const [other, name] of placed) where.snapshot.assume(podInfoOf(other), name)
  const decision = where.findNode(podInfoOf(own))
  return decision.ok ? decision.node.name : fitMessage(decision.diagnosis, undefined)
}

const bound = (name: string, volumeName: string, facts: ClaimFacts = {}) =>
  claim(name, {
    volumeName,
    annotations: { [bindCompleted]: 'yes' },
    status: { phase: 'Bound' },
    ...facts,
  })
const inZone = (name: string, value: string, facts = {}) => {
  const one = volume(name, facts)
  const term = { matchExpressions: [{ key: zone, operator: 'In', values: [value] }] }
  return {
    ...one,
    spec: { ...one.spec, nodeAffinity: { required: { nodeSelectorTerms: [term] } } },
  }
}
const waits = (facts: Partial<StorageClass> = {}) =>
  storageClass('local', { volumeBindingMode: 'WaitForFirstConsumer', ...facts })
const waiting = (facts: ClaimFacts = {}) => claim('c', { className: 'local', ...facts })
const nowhere = '0/2 nodes are available: '

describe('VolumeBinding', () => {
  test.each<[string, Objects, string]>([
    ['a missing claim', {}, 'persistentvolumeclaim "c" not found.'],
    [
      'an unbound claim that does not wait',
      { persistentvolumeclaims: [claim('c')] },
      'pod has unbound immediate PersistentVolumeClaims.',
    ],
    [
      'a lost claim',
      { persistentvolumeclaims: [bound('c', 'v', { status: { phase: 'Lost' } })] },
      'persistentvolumeclaim "c" bound to non-existent persistentvolume "v".',
    ],
    [
      'a claim whose volume is gone',
      { persistentvolumeclaims: [bound('c', 'v')] },
      '2 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s).',
    ],
    [
      'a volume that no node reaches',
      { persistentvolumeclaims: [bound('c', 'v')], persistentvolumes: [inZone('v', 'x')] },
      '2 node(s) had volume node affinity conflict.',
    ],
    [
      'a class without provisioner and no volume to take',
      {
        persistentvolumeclaims: [waiting()],
        storageclasses: [waits({ provisioner: 'kubernetes.io/no-provisioner' })],
        persistentvolumes: [volume('v', { className: 'other' })],
      },
      "2 node(s) didn't find available persistent volumes to bind.",
    ],
    [
      'a driver without room',
      {
        persistentvolumeclaims: [waiting({ size: '5Gi' })],
        storageclasses: [waits({ provisioner: 'csi.example.com' })],
        csidrivers: [{ metadata: { name: 'csi.example.com' }, spec: { storageCapacity: true } }],
        csistoragecapacities: [
          { metadata: { name: 'x' }, storageClassName: 'local', capacity: '1Gi', nodeTopology: {} },
        ],
      },
      '2 node(s) did not have enough free storage.',
    ],
  ])('keeps a pod with %s from every node', (_, objects, message) => {
    expect(outcome(objects)).toBe(`${nowhere}${message}`)
  })

  test.each<[string, Objects]>([
    [
      'its volume is reached from',
      { persistentvolumeclaims: [bound('c', 'v')], persistentvolumes: [inZone('v', 'b')] },
    ],
    [
      'there is a volume to take',
      {
        persistentvolumeclaims: [waiting()],
        storageclasses: [waits({ provisioner: 'kubernetes.io/no-provisioner' })],
        persistentvolumes: [
          inZone('v', 'b', { className: 'local', phase: 'Available' }),
          inZone('held', 'a', { className: 'local', claim: 'other', phase: 'Available' }),
          inZone('new', 'a', { className: 'local', phase: 'Pending' }),
        ],
      },
    ],
    [
      'the class allows a volume to be made',
      {
        persistentvolumeclaims: [waiting()],
        storageclasses: [
          waits({
            allowedTopologies: [{ matchLabelExpressions: [{ key: zone, values: ['b'] }] }],
          }),
        ],
      },
    ],
    [
      'was selected for its claim before',
      {
        persistentvolumeclaims: [waiting({ annotations: { [selectedNode]: 'b' } })],
        storageclasses: [waits()],
      },
    ],
    [
      'the driver has room',
      {
        persistentvolumeclaims: [waiting({ size: '5Gi' })],
        storageclasses: [waits({ provisioner: 'csi.example.com' })],
        csidrivers: [{ metadata: { name: 'csi.example.com' }, spec: { storageCapacity: true } }],
        csistoragecapacities: [
          {
            metadata: { name: 'x' },
            storageClassName: 'local',
            capacity: '9Gi',
            nodeTopology: { matchLabels: { [zone]: 'b' } },
          },
        ],
      },
    ],
  ])('sends a pod to the node that %s', (_, objects) => {
    expect(outcome(objects)).toBe('b')
  })

  test('needs a volume for each of a pod’s claims', () => {
    const none = waits({ provisioner: 'kubernetes.io/no-provisioner' })
    const objects = {
      persistentvolumeclaims: [waiting(), claim('d', { className: 'local' })],
      storageclasses: [none],
      persistentvolumes: [volume('v', { className: 'local', phase: 'Available' })],
    }
    expect(outcome(objects, [], using('c', 'd'))).toContain("didn't find available")
    const other = volume('w', { className: 'local', phase: 'Available' })
    const more = [...objects.persistentvolumes, other]
    expect(outcome({ ...objects, persistentvolumes: more }, [], using('c', 'd'))).toMatch(/^[ab]$/)
  })
})

describe('VolumeZone', () => {
  test('sends a pod to the zone in the labels of its volume, under the old name too', () => {
    for (const key of [zone, 'failure-domain.beta.kubernetes.io/zone']) {
      const persistentvolumes = [volume('v', { labels: { [key]: 'b__x' } })]
      expect(outcome({ persistentvolumeclaims: [bound('c', 'v')], persistentvolumes })).toBe('b')
    }
    const persistentvolumes = [volume('v', { labels: { [zone]: 'x' } })]
    expect(outcome({ persistentvolumeclaims: [bound('c', 'v')], persistentvolumes })).toBe(
      `${nowhere}2 node(s) had no available volume zone.`,
    )
  })
})

describe('NodeVolumeLimits', () => {
  const csi = (name: string) => {
    const one = volume(name)
    const { hostPath: _path, ...spec } = one.spec ?? {}
    return { ...one, spec: { ...spec, csi: { driver: 'csi.example.com', volumeHandle: name } } }
  }
  const limit = (name: string, count: number) => ({
    metadata: { name },
    spec: { drivers: [{ name: 'csi.example.com', nodeID: name, allocatable: { count } }] },
  })
  const objects = {
    persistentvolumeclaims: [bound('c', 'v'), bound('d', 'w')],
    persistentvolumes: [csi('v'), csi('w')],
  }

  test('fills a node up to what its CSINode says; a shared volume counts once', () => {
    const csinodes = [limit('a', 1), limit('b', 0)]
    const other = { ...using('d'), metadata: { name: 'o', namespace: 'default', uid: 'o' } }
    const same = { ...using('c'), metadata: { name: 's', namespace: 'default', uid: 's' } }
    expect(outcome({ ...objects, csinodes })).toBe('a')
    expect(outcome({ ...objects, csinodes }, [[same, 'a']])).toBe('a')
    expect(outcome({ ...objects, csinodes }, [[other, 'a']])).toBe(
      `${nowhere}2 node(s) exceed max volume count.`,
    )
  })
})

describe('VolumeRestrictions', () => {
  test('a claim with ReadWriteOncePod is for one pod', () => {
    const objects = {
      persistentvolumeclaims: [bound('c', 'v', { modes: ['ReadWriteOncePod'] })],
      persistentvolumes: [volume('v')],
    }
    const other = { ...using('c'), metadata: { name: 'o', namespace: 'default', uid: 'o' } }
    expect(outcome(objects)).toMatch(/^[ab]$/)
    expect(outcome(objects, [[other, 'a']])).toBe(
      `${nowhere}2 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode.`,
    )
  })

  test('a disk that a pod of the node may write is not for another', () => {
    const disk = (name: string, readOnly: boolean): Pod =>
      pod({ name, volumes: [{ name: 'd', gcePersistentDisk: { pdName: 'x', readOnly } }] })
    const taken = [
      [disk('one', false), 'a'],
      [disk('two', true), 'b'],
    ] as const
    expect(outcome({}, taken, disk('p', true))).toBe('b')
    expect(outcome({}, taken, disk('p', false))).toBe(`${nowhere}2 node(s) had no available disk.`)
  })
})
