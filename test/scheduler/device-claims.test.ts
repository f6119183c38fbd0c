/** Claims of devices, from the template to the bound pod and back: scheduler and controller on one server. */
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import type {
  DeviceClass,
  Pod,
  ResourceClaim,
  ResourceSlice,
} from '../../components/api/generated/types.ts'
import { resourceClaimController } from '../../components/controller-manager/resource-claims/resource-claims.ts'
import { StatusError } from '../../components/machinery/objects/status-error.ts'
import {
  deviceClaim,
  deviceClass,
  deviceTemplate,
  podWithDevices,
  slice,
} from '../support/devices.ts'
import { settle } from '../support/fake-clock.ts'
import { createReconcilerHarness } from '../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../support/reconciler-harness.ts'
import { node } from './build.ts'
import { startScheduler } from './running-scheduler.ts'

const finalizer = 'resource.kubernetes.io/delete-protection'
let harness: ReconcilerHarness
let stop: AbortController
afterEach(end)

async function end(): Promise<void> {
  stop.abort(new Error('the test is over'))
  await harness.stop()
}

async function started(about: {
  slices?: readonly ResourceSlice[]
  classes?: readonly DeviceClass[]
  claims?: readonly ResourceClaim[]
  nodes?: readonly string[]
}): Promise<string[]> {
  harness = createReconcilerHarness({ gates: { DynamicResourceAllocation: true } })
  stop = new AbortController()
  const { cluster, resources } = harness
  const { slices = [], classes = [deviceClass()], claims = [], nodes = ['n1'] } = about
  for (const name of nodes) cluster.seed(resources.nodes, node(name))
  for (const one of slices) cluster.seed(resources.resourceSlices, one)
  for (const one of classes) cluster.seed(resources.deviceClasses, one)
  for (const one of claims) cluster.seed(resources.resourceClaims, one)
  cluster.seed(resources.resourceClaimTemplates, deviceTemplate('one-gpu'))
  await harness.start(resourceClaimController)
  const recorded = await startScheduler(harness, stop.signal)
  await settle(20)
  return recorded
}

/** A pod whose one claim is made from the template. */
function podFromTemplate(name: string): Pod {
  const pod = podWithDevices(name)
  const entry = { name: 'gpu', resourceClaimTemplateName: 'one-gpu' }
  return { ...pod, spec: { containers: [], ...pod.spec, resourceClaims: [entry] } }
}

async function add(...pods: readonly Pod[]): Promise<void> {
  for (const one of pods) harness.cluster.seed(harness.resources.pods, one)
  await harness.step(1)
}

async function finish(name: string): Promise<void> {
  harness.cluster.change(harness.resources.pods, `default/${name}`, (pod) => {
    pod['status'] = { ...pod['status'], phase: 'Succeeded' }
  })
  await harness.step(20_000)
}

const podNow = (name: string) =>
  harness.cluster.peek<Pod>(harness.resources.pods, `default/${name}`)
const nodeOf = (name: string): string | undefined => podNow(name)?.spec?.nodeName
const claimNow = (name: string) =>
  harness.cluster.peek<ResourceClaim>(harness.resources.resourceClaims, `default/${name}`)
const claimsNow = (): readonly ResourceClaim[] =>
  harness.cluster.all<ResourceClaim>(harness.resources.resourceClaims)
const devicesOf = (claim: ResourceClaim | undefined): string[] =>
  (claim?.status?.allocation?.devices?.results ?? []).map(({ pool, device }) => `${pool}/${device}`)

describe('claims of devices', () => {
  it('are made from a template, allocated and reserved before the pod is bound', async () => {
    const recorded = await started({ slices: [slice('p', ['d1'])], nodes: ['n1', 'n2'] })
    await add(podFromTemplate('a'))
    const [claim] = claimsNow()
    expect(claim?.metadata).toMatchObject({
      labels: { made: 'yes' },
      annotations: { 'resource.kubernetes.io/pod-claim-name': 'gpu' },
      finalizers: [finalizer],
      ownerReferences: [{ kind: 'Pod', name: 'a', uid: 'uid-a', controller: true }],
    })
    expect(claim?.metadata.name).toMatch(/^a-gpu-/)
    expect(podNow('a')?.status?.resourceClaimStatuses).toEqual([
      { name: 'gpu', resourceClaimName: claim?.metadata.name },
    ])
    expect(devicesOf(claim)).toEqual(['p/d1'])
    expect(claim?.status?.reservedFor).toEqual([{ resource: 'pods', name: 'a', uid: 'uid-a' }])
    expect(nodeOf('a')).toBe('n1')
    expect(recorded).toEqual(['a Scheduled: Successfully assigned default/a to n1'])
  })

  it('wait while devices are short; the devices of a finished pod go to the next', async () => {
    const recorded = await started({ slices: [slice('p', ['d1'])] })
    await add(podFromTemplate('a'))
    await add(podFromTemplate('b'))
    expect(nodeOf('b')).toBeUndefined()
    expect(recorded.at(-1)).toBe(
      'b FailedScheduling: 0/1 nodes are available: 1 cannot allocate all claims. still not schedulable, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
    )
    await finish('a')
    expect(nodeOf('b')).toBe('n1')
    expect(claimsNow().map(({ metadata }) => metadata.ownerReferences?.[0]?.name)).toEqual(['b'])
    expect(devicesOf(claimsNow()[0])).toEqual(['p/d1'])
  })

  it('are shared by the pods that name them, on one node', async () => {
    const claims = [deviceClaim('c')]
    await started({ slices: [slice('p', ['d1'])], claims, nodes: ['n1', 'n2'] })
    await add(podWithDevices('a', 'c'), podWithDevices('b', 'c'))
    await harness.step(2000)
    expect([nodeOf('a'), nodeOf('b')]).toEqual(['n1', 'n1'])
    expect(
      claimNow('c')
        ?.status?.reservedFor?.map(({ name }) => name)
        .toSorted(),
    ).toEqual(['a', 'b'])
    await finish('a')
    expect(devicesOf(claimNow('c'))).toEqual(['p/d1'])
    await finish('b')
    expect(claimNow('c')?.status?.allocation).toBeUndefined()
    expect(claimNow('c')?.metadata.finalizers ?? []).toEqual([])
  })

  it('keep a pod out of the queue until they exist', async () => {
    const recorded = await started({ slices: [slice('p', ['d1'])] })
    await add(podWithDevices('a', 'c'))
    expect(recorded).toEqual([])
    harness.cluster.seed(harness.resources.resourceClaims, deviceClaim('c'))
    await harness.step(1)
    expect(nodeOf('a')).toBe('n1')
  })

  it('wait for their class and for slices', async () => {
    const recorded = await started({ claims: [deviceClaim('c')], classes: [] })
    await add(podWithDevices('a', 'c'))
    expect(recorded.at(-1)).toContain('request req: device class gpu does not exist')
    harness.cluster.seed(harness.resources.deviceClasses, deviceClass())
    await harness.step(2000)
    expect(recorded.at(-1)).toContain('1 cannot allocate all claims')
    harness.cluster.seed(harness.resources.resourceSlices, slice('p', ['d1']))
    await harness.step(4000)
    expect(nodeOf('a')).toBe('n1')
  })

  it('are given back when nobody uses them and the pod must go elsewhere', async () => {
    const claims = [deviceClaim('c')]
    const slices = [slice('p', ['d1']), slice('q', ['d2'], { nodeName: 'n2' })]
    await started({ slices, claims, nodes: ['n1', 'n2'] })
    harness.cluster.change(harness.resources.resourceClaims, 'default/c', (claim) => {
      const values = ['n3']
      const matchFields = [{ key: 'metadata.name', operator: 'In', values }]
      claim['status'] = { allocation: { nodeSelector: { nodeSelectorTerms: [{ matchFields }] } } }
    })
    await harness.step(1)
    await add(podWithDevices('a', 'c'))
    await harness.step(2000)
    expect(nodeOf('a')).toBe('n1')
    expect(devicesOf(claimNow('c'))).toEqual(['p/d1'])
  })

  it('are free again when the pod cannot be bound', async () => {
    await started({ slices: [slice('p', ['d1'])], claims: [deviceClaim('c'), deviceClaim('d')] })
    let failures = 0
    harness.cluster.react('update', 'resourceclaims/status', ({ key }) => {
      if (key !== 'default/c') return undefined
      failures += 1
      throw new StatusError('Forbidden', 'no')
    })
    await add(podWithDevices('a', 'c'))
    await add(podWithDevices('b', 'd'))
    await harness.step(20_000)
    expect(failures).toBeGreaterThan(0)
    expect([nodeOf('a'), nodeOf('b')]).toEqual([undefined, 'n1'])
    expect(devicesOf(claimNow('d'))).toEqual(['p/d1'])
  })

  it('write nothing while nothing changes', async () => {
    await started({ slices: [slice('p', ['d1'])] })
    await add(podFromTemplate('a'), podFromTemplate('b'))
    await harness.step(1000)
    const before = harness.cluster.writes.length
    await harness.step(3_600_000)
    expect(harness.cluster.writes.length).toBe(before)
  })

  it('never hold a device twice, whatever order pods come and go in and whatever writes fail', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('add' as const), shared: fc.boolean() }),
      fc.record({ kind: fc.constant('finish' as const), which: fc.nat(20) }),
      fc.record({ kind: fc.constant('delete' as const), which: fc.nat(20) }),
      fc.record({ kind: fc.constant('fail' as const), times: fc.integer({ min: 1, max: 3 }) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
        await runStory(steps)
        await end()
      }),
      { numRuns: 25 },
    )
  })
})

type Step =
  | { kind: 'add'; shared: boolean }
  | { kind: 'finish' | 'delete'; which: number }
  | { kind: 'fail'; times: number }

async function runStory(steps: readonly Step[]): Promise<void> {
  const slices = [slice('p', ['d1', 'd2']), slice('q', ['d3'], { nodeName: 'n2' })]
  await started({ slices, claims: [deviceClaim('c')], nodes: ['n1', 'n2'] })
  let failing = 0
  harness.cluster.react('update', '*', ({ resource, key }) => {
    if (!resource.startsWith('resourceclaims') || failing === 0) return undefined
    failing -= 1
    throw new StatusError('Conflict', `${key} was modified`)
  })
  const pods: string[] = []
  for (const [i, one] of steps.entries()) {
    if (one.kind === 'add') {
      const name = `p${i}`
      pods.push(name)
      await add(one.shared ? podWithDevices(name, 'c') : podFromTemplate(name))
    } else if (one.kind === 'fail') failing = one.times
    else await leave(one.kind, pods[one.which % Math.max(pods.length, 1)])
    expectNoDeviceTwice()
  }
  await harness.step(60_000)
  expectNoDeviceTwice()
  expectHeldWhileRunning(pods)
}

async function leave(kind: 'finish' | 'delete', name: string | undefined): Promise<void> {
  if (name === undefined || podNow(name) === undefined) return
  if (kind === 'finish') await finish(name)
  else {
    harness.cluster.remove(harness.resources.pods, `default/${name}`)
    await harness.step(1)
  }
}

function expectNoDeviceTwice(): void {
  const held = claimsNow().flatMap(devicesOf)
  expect(new Set(held).size).toBe(held.length)
}

/** A pod on a node has its devices, on that node; no more pods fit while any waits. */
function expectHeldWhileRunning(pods: readonly string[]): void {
  const onNode: Readonly<Record<string, string>> = { 'p/d1': 'n1', 'p/d2': 'n1', 'q/d3': 'n2' }
  const live = pods.filter((name) => podNow(name)?.status?.phase === 'Pending')
  for (const name of live) {
    const pod = podNow(name)
    const own = claimsNow().filter(({ status }) =>
      status?.reservedFor?.some(({ uid }) => uid === pod?.metadata.uid),
    )
    const devices = own.flatMap(devicesOf)
    if (pod?.spec?.nodeName === undefined) expect(devices).toEqual([])
    else expect(devices.map((one) => onNode[one])).toEqual([pod.spec.nodeName])
  }
  const waiting = live.filter((name) => nodeOf(name) === undefined)
  const held = claimsNow().flatMap(devicesOf)
  if (waiting.length > 0) expect(held).toHaveLength(3)
}
