import { afterEach, describe, expect, it } from 'vitest'
import type { FeatureGates } from '../../components/api/feature-gates.ts'
import type { Pod, ResourceClaim } from '../../components/api/generated/types.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import { resourceClaimController } from '../../components/controller-manager/resource-claims/resource-claims.ts'
import { StatusError } from '../../components/machinery/objects/status-error.ts'
import { asks, deviceClaim, deviceTemplate, podWithDevices } from '../support/devices.ts'
import { createReconcilerHarness } from '../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../support/reconciler-harness.ts'

const finalizer = 'resource.kubernetes.io/delete-protection'
const annotation = 'resource.kubernetes.io/pod-claim-name'
let harness: ReconcilerHarness
afterEach(() => harness.stop())

interface Found {
  readonly pods?: readonly Pod[]
  readonly claims?: readonly ResourceClaim[]
  readonly hasTemplate?: boolean
  readonly gates?: Partial<FeatureGates>
}

async function started({ pods = [], claims = [], hasTemplate = true, gates }: Found) {
  harness = createReconcilerHarness({ gates: { DynamicResourceAllocation: true, ...gates } })
  const { cluster, resources } = harness
  if (hasTemplate) cluster.seed(resources.resourceClaimTemplates, deviceTemplate('one-gpu'))
  for (const one of pods) cluster.seed(resources.pods, one)
  for (const one of claims) cluster.seed(resources.resourceClaims, one)
  await harness.start(resourceClaimController)
}

function templated(name = 'p', change: (pod: Pod) => Partial<Pod> = () => ({})): Pod {
  const pod = podWithDevices(name)
  const entry = { name: 'gpu', resourceClaimTemplateName: 'one-gpu' }
  const made = { ...pod, spec: { containers: [], resourceClaims: [entry] } }
  return { ...made, ...change(made) }
}

function ownedBy(pod: Pod, name = 'made'): ResourceClaim {
  const claim = deviceClaim(name)
  const { name: owner = '', uid = '' } = pod.metadata
  const reference = { apiVersion: 'v1', kind: 'Pod', name: owner, uid, controller: true }
  return {
    ...claim,
    metadata: {
      ...claim.metadata,
      annotations: { [annotation]: 'gpu' },
      ownerReferences: [reference],
    },
  }
}

/** Allocated by the scheduler, and used by these pods. */
function inUse(claim: ResourceClaim, ...pods: readonly Pod[]): ResourceClaim {
  const reservedFor = pods.map(({ metadata: { name = '', uid = '' } }) => ({
    resource: 'pods',
    name,
    uid,
  }))
  return {
    ...claim,
    metadata: { ...claim.metadata, finalizers: [finalizer] },
    status: { allocation: { devices: {} }, reservedFor },
  }
}

const claimsNow = (): ResourceClaim[] => harness.cluster.all(harness.resources.resourceClaims)
const claimNow = (name: string) =>
  harness.cluster.peek<ResourceClaim>(harness.resources.resourceClaims, `default/${name}`)
const statusesOf = (name = 'p') =>
  harness.cluster.peek<Pod>(harness.resources.pods, `default/${name}`)?.status
    ?.resourceClaimStatuses
const finished = ({ status }: Pod): Partial<Pod> => ({ status: { ...status, phase: 'Succeeded' } })

describe('resourceclaim-controller: claims from templates', () => {
  it('makes a claim and notes its name in the pod’s status, and nothing more', async () => {
    await started({ pods: [templated()] })
    const [claim] = claimsNow()
    expect(claim).toMatchObject({
      metadata: {
        labels: { made: 'yes' },
        annotations: { [annotation]: 'gpu' },
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'uid-p', controller: true },
        ],
      },
      spec: { devices: { requests: [asks()] } },
    })
    expect(statusesOf()).toEqual([{ name: 'gpu', resourceClaimName: claim?.metadata.name }])
    await harness.step(3_600_000)
    expect(harness.cluster.writes).toHaveLength(2)
  })

  it('goes on with a claim that it made before it could note the name', async () => {
    const pod = templated()
    await started({ pods: [pod], claims: [ownedBy(pod)] })
    expect(claimsNow()).toHaveLength(1)
    expect(statusesOf()).toEqual([{ name: 'gpu', resourceClaimName: 'made' }])
  })

  it('makes no second claim while the status cannot be written', async () => {
    await started({})
    let failures = 0
    harness.cluster.react('patch', 'pods/status', () => {
      failures += 1
      if (failures > 3) return undefined
      throw new StatusError('InternalError', 'no')
    })
    harness.cluster.seed(harness.resources.pods, templated())
    await harness.step(60_000)
    expect(failures).toBe(4)
    expect(claimsNow()).toHaveLength(1)
    expect(statusesOf()).toHaveLength(1)
  })

  it('makes no second claim when the answer to the first is lost with the watches', async () => {
    await started({})
    const { cluster, resources } = harness
    const lost = new ConnectionError('lost', 'the connection was lost')
    const answered = cluster.loseAnswers(({ verb, resource }) => {
      if (verb !== 'create' || resource !== 'resourceclaims') return false
      answered()
      return true
    })
    const stops = ['list', 'watch'].map((verb) =>
      cluster.react(verb, 'resourceclaims', () => {
        throw lost
      }),
    )
    cluster.endWatches(lost)
    cluster.seed(resources.pods, templated())
    await harness.step(2000)
    for (const stop of stops) stop()
    await harness.step(60_000)
    expect(claimsNow()).toHaveLength(1)
    expect(statusesOf()).toHaveLength(1)
  })

  it('makes a claim again that was deleted while its pod lives', async () => {
    await started({ pods: [templated()] })
    const { name = '' } = claimsNow()[0]?.metadata ?? {}
    harness.cluster.remove(harness.resources.resourceClaims, `default/${name}`)
    await harness.step()
    expect(claimsNow()).toHaveLength(1)
    expect(statusesOf()).toEqual([
      { name: 'gpu', resourceClaimName: claimsNow()[0]?.metadata.name },
    ])
  })

  it('makes none for a pod that has finished or is being deleted', async () => {
    const deleted = templated('q', ({ metadata, spec }) => ({
      metadata: { ...metadata, deletionTimestamp: '2025-01-01T00:00:00Z', finalizers: ['a.io/b'] },
      spec: { ...spec, containers: [], nodeName: 'n1' },
    }))
    await started({ pods: [templated('p', finished), deleted] })
    expect(harness.cluster.writes).toEqual([])
  })

  it('says that the template is missing, and makes the claim once it is there', async () => {
    await started({ pods: [templated()], hasTemplate: false })
    expect(harness.events[0]).toBe(
      'Warning FailedResourceClaimCreation Pod default/p: PodResourceClaim gpu: resource claim template "one-gpu": resourceclaimtemplate.resource.k8s.io "one-gpu" not found',
    )
    harness.cluster.seed(harness.resources.resourceClaimTemplates, deviceTemplate('one-gpu'))
    await harness.step(60_000)
    expect(claimsNow()).toHaveLength(1)
  })

  it('makes no claim with admin access while its gate is off', async () => {
    const template = deviceTemplate('one-gpu', [asks({ adminAccess: true })])
    await started({ hasTemplate: false })
    harness.cluster.seed(harness.resources.resourceClaimTemplates, template)
    harness.cluster.seed(harness.resources.pods, templated())
    await harness.step()
    expect(harness.events[0]).toContain(
      'PodResourceClaim gpu: admin access is requested, but the feature is disabled',
    )
    expect(claimsNow()).toEqual([])
  })

  it('makes it with the gate', async () => {
    await started({ hasTemplate: false, gates: { DRAAdminAccess: true } })
    const template = deviceTemplate('one-gpu', [asks({ adminAccess: true })])
    harness.cluster.seed(harness.resources.resourceClaimTemplates, template)
    harness.cluster.seed(harness.resources.pods, templated())
    await harness.step()
    expect(claimsNow()).toHaveLength(1)
  })

  it('shortens long names of pod and entry by their share', async () => {
    await started({ pods: [templated('p'.repeat(200))] })
    const { name = '' } = claimsNow()[0]?.metadata ?? {}
    expect(name).toMatch(/^p{55}-/)
    expect(name.length).toBeLessThanOrEqual(63)
  })

  it('reserves an allocated claim for a pod that was bound without the scheduler', async () => {
    const pod = podWithDevices('p', 'c')
    const bound = { ...pod, spec: { containers: [], ...pod.spec, nodeName: 'n1' } }
    await started({ pods: [bound], claims: [inUse(deviceClaim('c'))] })
    expect(claimNow('c')?.status?.reservedFor).toEqual([
      { resource: 'pods', name: 'p', uid: 'uid-p' },
    ])
  })
})

describe('resourceclaim-controller: users of claims', () => {
  it.each([
    ['has finished', [podWithDevices('p', 'c'), finished(podWithDevices('p', 'c'))]],
    ['is gone', []],
    [
      'has been replaced',
      [
        { ...podWithDevices('p', 'c') },
        { metadata: { name: 'p', namespace: 'default', uid: 'other' } },
      ],
    ],
  ] as [string, Partial<Pod>[]][])('frees the devices when the last pod %s', async (_, parts) => {
    const pods = parts.length === 0 ? [] : [Object.assign({}, ...parts) as Pod]
    await started({ pods, claims: [inUse(deviceClaim('c'), podWithDevices('p', 'c'))] })
    expect(claimNow('c')?.status).toEqual({ reservedFor: [] })
    expect(claimNow('c')?.metadata.finalizers).toEqual([])
    await harness.step(3_600_000)
    expect(harness.cluster.writes).toHaveLength(2)
  })

  it('keeps the devices while another pod uses them', async () => {
    const [p, q] = [podWithDevices('p', 'c'), podWithDevices('q', 'c')]
    await started({ pods: [q], claims: [inUse(deviceClaim('c'), p, q)] })
    expect(claimNow('c')?.status?.reservedFor?.map(({ name }) => name)).toEqual(['q'])
    expect(claimNow('c')?.status?.allocation).toBeDefined()
    expect(claimNow('c')?.metadata.finalizers).toEqual([finalizer])
  })

  it('keeps the devices of a pod whose name the cache shows with another pod', async () => {
    const p = podWithDevices('p', 'c')
    const before = { ...p, metadata: { ...p.metadata, uid: 'before' } }
    await started({ pods: [before], claims: [inUse(deviceClaim('c'), before)] })
    const { cluster, resources } = harness
    cluster.react('get', 'pods', () => p)
    cluster.change(resources.resourceClaims, 'default/c', (claim) => {
      Object.assign(claim, { status: inUse(deviceClaim('c'), p).status })
    })
    await harness.step()
    expect(claimNow('c')?.status?.reservedFor).toEqual([
      { resource: 'pods', name: 'p', uid: 'uid-p' },
    ])
  })

  it('frees the devices of a pod that the server shows as finished before the cache does', async () => {
    const p = podWithDevices('p', 'c')
    await started({})
    harness.cluster.react('get', 'pods', () => ({ ...p, ...finished(p) }))
    harness.cluster.seed(harness.resources.resourceClaims, inUse(deviceClaim('c'), p))
    await harness.step()
    expect(claimNow('c')?.status).toEqual({ reservedFor: [] })
  })

  it('keeps what a driver allocated without the scheduler', async () => {
    const claim = inUse(deviceClaim('c'), podWithDevices('p', 'c'))
    const { finalizers: _, ...metadata } = claim.metadata
    await started({ claims: [{ ...claim, metadata }] })
    expect(claimNow('c')?.status).toEqual({ allocation: { devices: {} }, reservedFor: [] })
  })

  it('deletes the claim of a pod that has finished, without waiting for the pod’s end', async () => {
    const pod = templated('p', finished)
    await started({ pods: [pod], claims: [inUse(ownedBy(pod), pod)] })
    expect(claimsNow()).toEqual([])
    await harness.step(60_000)
    expect(claimsNow()).toEqual([])
  })

  it('removes a deleted claim without users', async () => {
    const claim = inUse(deviceClaim('c'))
    const metadata = { ...claim.metadata, deletionTimestamp: '2025-01-01T00:00:00Z' }
    await started({ claims: [{ ...claim, metadata }] })
    expect(claimNow('c')).toBeUndefined()
  })

  it('reports a user that is no pod, and does not try again', async () => {
    const claim = inUse(deviceClaim('c'))
    const other = { apiGroup: 'batch', resource: 'jobs', name: 'j', uid: 'u' }
    await started({ claims: [{ ...claim, status: { ...claim.status, reservedFor: [other] } }] })
    await harness.step(3_600_000)
    expect(harness.complaints).toEqual([
      expect.stringContaining('unsupported ReservedFor entry: batch/jobs j'),
    ])
    expect(harness.cluster.writes).toEqual([])
  })
})

describe('resourceclaim-controller: metrics', () => {
  const shown = (name: string) => harness.shown(`resourceclaim_controller_${name}`)

  it('count the claims and the allocated ones as they come, change and go', async () => {
    const [p, q] = [podWithDevices('p', 'c'), podWithDevices('q', 'd')]
    await started({ pods: [p, q], claims: [inUse(deviceClaim('c'), p), deviceClaim('d')] })
    expect(shown('resource_claims')).toEqual(['2'])
    expect(shown('allocated_resource_claims')).toEqual(['1'])
    harness.cluster.change(harness.resources.resourceClaims, 'default/d', (claim) => {
      claim['status'] = inUse(deviceClaim('d'), q).status
    })
    await harness.step()
    expect(shown('allocated_resource_claims')).toEqual(['2'])
    harness.cluster.remove(harness.resources.pods, 'default/p')
    await harness.step()
    expect(shown('resource_claims')).toEqual(['2'])
    expect(shown('allocated_resource_claims')).toEqual(['1'])
    harness.cluster.remove(harness.resources.resourceClaims, 'default/c')
    harness.cluster.remove(harness.resources.resourceClaims, 'default/d')
    await harness.step()
    expect(shown('resource_claims')).toEqual(['0'])
    expect(shown('allocated_resource_claims')).toEqual(['0'])
  })

  it('count every request to create a claim, and those that failed', async () => {
    await started({})
    let failures = 0
    harness.cluster.react('create', 'resourceclaims', () => {
      failures += 1
      if (failures > 2) return undefined
      throw new StatusError('InternalError', 'no')
    })
    harness.cluster.seed(harness.resources.pods, templated())
    await harness.step(60_000)
    expect(claimsNow()).toHaveLength(1)
    expect(shown('create_attempts_total')).toEqual(['3'])
    expect(shown('create_failures_total')).toEqual(['2'])
  })

  it('do not count a claim without its template as a request', async () => {
    await started({ pods: [templated()], hasTemplate: false })
    expect(shown('create_attempts_total')).toEqual(['0'])
  })

  it('show no number of claims without the controller, which is behind its gate', async () => {
    harness = createReconcilerHarness()
    harness.cluster.seed(harness.resources.resourceClaims, deviceClaim('c'))
    await harness.start()
    expect(shown('resource_claims')).toEqual([])
    expect(shown('allocated_resource_claims')).toEqual([])
  })
})
