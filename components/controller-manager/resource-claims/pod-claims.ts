/** The claims that a pod gets from templates (upstream: pkg/controller/resourceclaim/controller.go, syncPod; KEP-4381). */
import {
  canBeReserved,
  claimOfEntry,
  isReservedFor,
  ownerFault,
  podClaimAnnotation,
  reservedFor,
} from '../../api/device-claims.ts'
import type { Dialect } from '../../api/dialect.ts'
import type {
  Pod,
  PodResourceClaim,
  ResourceClaim,
  ResourceClaimTemplate,
} from '../../api/generated/types.ts'
import type { Result } from '../../client/controller.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { isGone } from '../../client/is-gone.ts'
import { messageOf } from '../../component-base/log.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { copyJson } from '../../machinery/values/json-copy.ts'
import { controllerReference } from '../claim.ts'
import type { OwnWrites } from '../own-writes.ts'
import { isActive } from '../pod-state.ts'
import type { ResourceClaimMetrics } from './claim-metrics.ts'

const fieldManager = 'ResourceClaimController'
/** Leaves room for the five random characters of a generated name. */
const longestBase = 57

export interface PodClaimsOptions {
  readonly dialect: Dialect
  readonly podResource: Resource
  readonly pods: Informer<Pod>
  readonly claims: Informer<ResourceClaim>
  readonly templates: Informer<ResourceClaimTemplate>
  readonly podClient: ResourceClient<Pod>
  readonly claimClient: ResourceClient<ResourceClaim>
  /** Claims that the pod owns, by its uid. */
  readonly ownedBy: (uid: string) => readonly ResourceClaim[]
  /** Claims that were made and are not in the cache yet, by pod. */
  readonly writes: OwnWrites
  readonly recorder: EventRecorder
  readonly allowsAdminAccess: boolean
  readonly metrics: Pick<ResourceClaimMetrics, 'attempts' | 'failures'>
}

/** Makes missing claims, writes their names into the pod's status, and reserves claims for a pod that others bound to a node. */
export async function syncPodClaims(
  options: PodClaimsOptions,
  key: string,
): Promise<Result | void> {
  const { pods, writes } = options
  const pod = pods.get(key)
  // A finished pod's claims are deleted: they must not come back.
  if (pod === undefined || !isActive(pod)) return
  const requeueAfterMs = writes.pendingMs(key)
  if (requeueAfterMs !== undefined) return { requeueAfterMs }
  const made = new Map<string, string>()
  for (const entry of pod.spec?.resourceClaims ?? []) {
    try {
      const claim = await ensureClaim(options, pod, entry)
      if (claim !== undefined) made.set(entry.name, claim.metadata.name ?? '')
    } catch (error) {
      const message = `PodResourceClaim ${entry.name}: ${messageOf(error)}`
      const reason = 'FailedResourceClaimCreation'
      options.recorder.record(pod, { type: 'Warning', reason, message })
      // The caller distinguishes the server's own errors from bugs by their class.
      throw error instanceof Error && error.cause !== undefined ? error.cause : error
    }
  }
  if (made.size > 0) await writeStatuses(options, pod, made)
  if (pod.spec?.nodeName) await reserveAll(options, pod)
}

/** The claim that was made, or found, for an entry that has none yet; undefined when there is nothing to note in the status. */
async function ensureClaim(
  options: PodClaimsOptions,
  pod: Pod,
  entry: PodResourceClaim,
): Promise<ResourceClaim | undefined> {
  const { claims, ownedBy, dialect } = options
  const named = claimOfEntry(pod, entry)
  if (named === 'none') return undefined
  if ('fault' in named) throw new Error(`checking for claim before creating it: ${named.fault}`)
  if ('name' in named) {
    const known = claims.get(`${pod.metadata.namespace ?? ''}/${named.name}`)
    const isIts = known && (!named.isMade || ownerFault(pod, known) === undefined)
    if (isIts === true) return undefined
  }
  if (entry.resourceClaimTemplateName === undefined) return undefined
  const annotation = podClaimAnnotation(dialect)
  const own = ownedBy(pod.metadata.uid ?? '')
  const found = own.find(({ metadata }) => metadata.annotations?.[annotation] === entry.name)
  return found ?? (await createClaim(options, pod, entry))
}

async function createClaim(
  options: PodClaimsOptions,
  pod: Pod,
  entry: PodResourceClaim,
): Promise<ResourceClaim> {
  const { templates, dialect, podResource } = options
  const { namespace = '' } = pod.metadata
  const { resourceClaimTemplateName: templateName = '' } = entry
  const template = templates.get(`${namespace}/${templateName}`)
  if (template === undefined) {
    const { plural, group } = templates.resource
    const missing = `${plural.replace(/s$/, '')}.${group} "${templateName}" not found`
    throw new Error(`resource claim template "${templateName}": ${missing}`)
  }
  if (!options.allowsAdminAccess && asksForAdminAccess(template)) {
    throw new Error('admin access is requested, but the feature is disabled')
  }
  return await sendClaim(options, pod, claimFrom(template, { pod, entry, dialect, podResource }))
}

async function sendClaim(
  { claimClient, writes, metrics }: PodClaimsOptions,
  pod: Pod,
  claim: ResourceClaim,
): Promise<ResourceClaim> {
  metrics.attempts.inc()
  try {
    return await writes.send(keyOf(pod), () => claimClient.create(claim))
  } catch (error) {
    metrics.failures.inc()
    const what = `create ResourceClaim ${claim.metadata.generateName ?? ''}`
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error })
  }
}

function asksForAdminAccess({ spec }: ResourceClaimTemplate): boolean {
  return (spec.spec.devices?.requests ?? []).some(({ adminAccess }) => adminAccess === true)
}

/** The claim of one entry of the pod, owned by the pod. Pure. */
export function claimFrom(
  { spec: template }: ResourceClaimTemplate,
  about: {
    readonly pod: Pod
    readonly entry: PodResourceClaim
    readonly dialect: Dialect
    readonly podResource: Resource
  },
): ResourceClaim {
  const { pod, entry, dialect, podResource } = about
  const { labels, annotations } = template.metadata ?? {}
  return copyJson({
    metadata: {
      generateName: baseName(pod.metadata.name ?? '', entry.name),
      namespace: pod.metadata.namespace ?? '',
      annotations: { ...annotations, [podClaimAnnotation(dialect)]: entry.name },
      ...(labels && { labels }),
      ownerReferences: [controllerReference(pod, podResource)],
    },
    spec: template.spec,
  })
}

/** `pod-entry-`; of long names, both lose characters by their share. */
function baseName(pod: string, entry: string): string {
  const whole = `${pod}-${entry}-`
  if (whole.length <= longestBase) return whole
  const cut = (name: string): string =>
    name.slice(0, Math.trunc((name.length * longestBase) / whole.length))
  return `${cut(pod)}-${cut(entry)}`
}

async function writeStatuses(
  { podClient, podResource }: PodClaimsOptions,
  pod: Pod,
  made: ReadonlyMap<string, string>,
): Promise<void> {
  const { name = '', namespace = '', uid } = pod.metadata
  const others = (pod.status?.resourceClaimStatuses ?? []).filter((one) => !made.has(one.name))
  const own = [...made].map(([entry, claim]) => ({ name: entry, resourceClaimName: claim }))
  const applied = {
    apiVersion: podResource.version,
    kind: podResource.kind,
    metadata: { name, namespace, uid },
    status: { resourceClaimStatuses: [...others, ...own] },
  }
  try {
    await podClient.patch({ namespace, name }, applied, {
      type: 'apply',
      fieldManager,
      force: true,
      subresource: 'status',
    })
  } catch (error) {
    // The pod is gone, or another has its name.
    if (!isGone(error)) throw error
  }
}

/** The scheduler reserves claims; for a pod that was bound without it, this controller does. */
async function reserveAll({ claims, claimClient }: PodClaimsOptions, pod: Pod): Promise<void> {
  for (const entry of pod.spec?.resourceClaims ?? []) {
    const named = claimOfEntry(pod, entry)
    if (named === 'none' || !('name' in named)) continue
    const claim = claims.get(`${pod.metadata.namespace ?? ''}/${named.name}`)
    if (claim === undefined) return
    const fault = named.isMade ? ownerFault(pod, claim) : undefined
    if (fault !== undefined) throw new Error(fault)
    const isOpen = claim.status?.allocation !== undefined && canBeReserved(claim)
    if (isOpen && !isReservedFor(pod, claim))
      await claimClient.updateStatus(reservedFor(claim, pod))
  }
}
