import { describe, expect, it, test } from 'vitest'
import type { ResourceClaim } from '../../../../components/api/generated/types.ts'
import { compileDeviceSelector } from '../../../../components/cel/device-selector.ts'
import type { ClusterEvent } from '../../../../components/scheduler/cluster-event.ts'
import { explainPod } from '../../../../components/scheduler/explain-pod.ts'
import { NodeFinder } from '../../../../components/scheduler/find-node.ts'
import type { Handle } from '../../../../components/scheduler/plugin.ts'
import { deviceEvents } from '../../../../components/scheduler/plugins/dynamic-resources/device-events.ts'
import { podInfoOf } from '../../../../components/scheduler/pod-info.ts'
import { createProfile, defaultProfile } from '../../../../components/scheduler/profile.ts'
import { SchedulingQueue } from '../../../../components/scheduler/scheduling-queue.ts'
import { Snapshot } from '../../../../components/scheduler/snapshot.ts'
import { FakeCluster } from '../../../support/fake-client.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import {
  asks,
  deviceClaim,
  deviceClass,
  podWithDevices,
  selecting,
  slice,
} from '../../../support/devices.ts'
import { handleFor, node } from '../../build.ts'

const devices = { compile: compileDeviceSelector, allowsAdminAccess: false }
const settings = defaultProfile('default-scheduler')

function worldWith(objects: Parameters<typeof handleFor>[1], nodes = ['n1']) {
  const snapshot = new Snapshot()
  for (const name of nodes) snapshot.setNode(node(name))
  const clock = new FakeClock()
  const cluster = new FakeCluster(clock)
  const handle: Handle = { ...handleFor(snapshot, objects), client: cluster.client(), devices }
  return { snapshot, clock, cluster, profile: createProfile(settings, handle) }
}

/** With devices that only this node can use. */
function allocatedOn(name: string, nodeName: string): ResourceClaim {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [nodeName] }]
  const nodeSelector = { nodeSelectorTerms: [{ matchFields }] }
  return { ...deviceClaim(name), status: { allocation: { devices: {}, nodeSelector } } }
}

describe('DynamicResources', () => {
  test('is a default plugin with the gate alone, and gives claims back before pods are evicted', () => {
    const handle = handleFor(new Snapshot())
    expect(createProfile(settings, handle).plugins.has('DynamicResources')).toBe(false)
    const { postFilters, preEnqueues, reserves } = createProfile(settings, { ...handle, devices })
    expect(postFilters.map(({ name }) => name)).toEqual(['DynamicResources', 'DefaultPreemption'])
    expect(preEnqueues.map(({ name }) => name)).toContain('DynamicResources')
    expect(reserves.map(({ name }) => name)).toContain('DynamicResources')
  })

  test('can be named without the gate, and does nothing then', () => {
    const plugins = { multiPoint: { enabled: [{ name: 'DynamicResources' }] } }
    const { plugins: made } = createProfile({ ...settings, plugins }, handleFor(new Snapshot()))
    const plugin = made.get('DynamicResources')
    expect(plugin?.preEnqueue?.(podInfoOf(podWithDevices('p', 'c')))).toBeUndefined()
  })

  it('ends the attempt when a selector fails, and names the claim', () => {
    const claim = deviceClaim('c', [asks(selecting('device.attributes["x"].y == 1'))])
    const { snapshot, profile } = worldWith({
      resourceclaims: [claim],
      deviceclasses: [deviceClass()],
      resourceslices: [slice('p', ['d'])],
    })
    const find = () => new NodeFinder(snapshot).find(profile, podInfoOf(podWithDevices('p', 'c')))
    expect(find).toThrow(
      'running "DynamicResources" filter plugin: claim default/c: selector #0: CEL runtime error: no such key: y',
    )
  })

  it('tells that it would give a claim back, and does not', async () => {
    const { snapshot, profile, cluster } = worldWith({ resourceclaims: [allocatedOn('c', 'n9')] })
    const pod = podInfoOf(podWithDevices('p', 'c'))
    const { message } = await explainPod({ pod, profile, snapshot })
    expect(message).toMatch(
      /^0\/1 nodes are available: 1 resourceclaim not available on the node\. deallocation of ResourceClaim completed, preemption: /,
    )
    expect(cluster.calls).toEqual([])
  })

  it('keeps a claim that another pod uses', async () => {
    const claim = allocatedOn('c', 'n9')
    const reservedFor = [{ resource: 'pods', name: 'q', uid: 'uid-q' }]
    const { snapshot, profile } = worldWith({
      resourceclaims: [{ ...claim, status: { ...claim.status, reservedFor } }],
    })
    const pod = podInfoOf(podWithDevices('p', 'c'))
    expect((await explainPod({ pod, profile, snapshot })).message).toContain(
      'still not schedulable',
    )
  })

  it('refuses one user too many', () => {
    const claim = allocatedOn('c', 'n1')
    const reservedFor = Array.from({ length: 256 }, (_, i) => ({
      resource: 'pods',
      name: `q${i}`,
      uid: `uid-q${i}`,
    }))
    const { snapshot, profile } = worldWith({
      resourceclaims: [{ ...claim, status: { ...claim.status, reservedFor } }],
    })
    const decision = new NodeFinder(snapshot).find(profile, podInfoOf(podWithDevices('p', 'c')))
    expect(decision).toMatchObject({ diagnosis: { preFilterMessage: 'resourceclaim in use' } })
  })

  it('lets a pod into the queue as soon as an event says that its claim exists', () => {
    const claims: ResourceClaim[] = []
    const { profile, clock } = worldWith({ resourceclaims: claims })
    const { queueSort } = profile
    const queue = new SchedulingQueue({ clock, queueSort, pluginsFor: () => profile })
    queue.add(podInfoOf(podWithDevices('p', 'c')))
    queue.happened({ resource: 'ResourceClaim', action: 'Add', now: deviceClaim('other') })
    expect(queue.sizes).toMatchObject({ gated: 1, active: 0 })
    claims.push(deviceClaim('c'))
    queue.happened({ resource: 'ResourceClaim', action: 'Add', now: deviceClaim('c') })
    expect(queue.sizes).toMatchObject({ gated: 0, active: 1 })
  })
})

describe('the events that may let a pod have its devices', () => {
  const own = deviceClaim('c')
  const pod = podInfoOf(podWithDevices('p', 'c'))
  const freed = { old: allocatedOn('x', 'n1'), now: deviceClaim('x') }
  const labelled = { ...own, metadata: { ...own.metadata, labels: { a: 'b' } } }

  test.each<[string, ClusterEvent, boolean]>([
    ['its claim is made', { resource: 'ResourceClaim', action: 'Add', now: own }, true],
    ['another is made', { resource: 'ResourceClaim', action: 'Add', now: freed.now }, false],
    ['another is freed', { resource: 'ResourceClaim', action: 'Update', ...freed }, true],
    [
      'another is allocated',
      { resource: 'ResourceClaim', action: 'Update', old: freed.now, now: freed.old },
      false,
    ],
    [
      'its claim is allocated',
      { resource: 'ResourceClaim', action: 'Update', old: own, now: allocatedOn('c', 'n1') },
      true,
    ],
    [
      'its claim gets a label',
      { resource: 'ResourceClaim', action: 'Update', old: own, now: labelled },
      false,
    ],
    ['a slice changes', { resource: 'ResourceSlice', action: 'Update', now: slice('s', []) }, true],
    ['a class is made', { resource: 'DeviceClass', action: 'Add', now: deviceClass() }, true],
    [
      'its claims are noted in its status',
      { resource: 'UnscheduledPod', action: 'UpdatePodGeneratedResourceClaim', now: pod.pod },
      true,
    ],
    [
      'those of another pod are',
      {
        resource: 'UnscheduledPod',
        action: 'UpdatePodGeneratedResourceClaim',
        now: podWithDevices('q'),
      },
      false,
    ],
  ])('%s: %#', (_, event, expected) => {
    const get = (key: string) => (key === 'default/c' ? own : undefined)
    const fits = deviceEvents({ get }).filter(({ resource, actions }) => {
      const isPod = resource === 'Pod' && event.resource === 'UnscheduledPod'
      return (isPod || resource === event.resource) && actions.includes(event.action)
    })
    expect(fits).toHaveLength(1)
    expect(fits[0]?.helps?.(pod, event) ?? true).toBe(expected)
  })
})
