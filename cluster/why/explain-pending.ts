/** Explains what waits: pending pods, and owners whose pods could not be created, grouped by cause. */
import { createDiscovery } from '../../components/client/server-resources.ts'
import type { Event, ObjectReference, Pod } from '../../components/api/generated/types.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { keyOf, type KubeObject } from '../../components/machinery/objects/object.ts'
import { apiVersionOf, type Resource } from '../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { nameOf } from './evidence.ts'
import type { Need } from './explainer.ts'
import type { Finding, ObjectName, PendingAnswer, PendingGroup } from './finding.ts'
import { isFinished, lacksPods } from './kinds/job.ts'
import { podFindings, waitsForNode } from './kinds/pod.ts'
import { countText } from './names.ts'
import { creationFinding } from './owned-pods.ts'
import { readRelated, type Source } from './read-related.ts'
import type { Related } from './related.ts'
import { schedulingFinding } from './scheduling.ts'

/** Groups of which the scheduler is asked about one pod. */
const mostAsked = 20
/** Owners without pods that are looked up. */
const mostOwners = 50

interface Waiting {
  readonly object: ObjectName
  /** Absent for an owner. */
  readonly pod?: Pod
  readonly finding: Finding
}

/** Whether an owner still lacks pods: its failures may be over. Other kinds create no pods. */
function isShort({ kind, spec = {}, status = {} }: KubeObject): boolean {
  switch (kind) {
    case 'DaemonSet':
      return (status.currentNumberScheduled ?? 0) < (status.desiredNumberScheduled ?? 0)
    case 'Job':
      return !isFinished({ status }) && spec.suspend !== true && lacksPods({ spec, status })
    default:
      return (status.replicas ?? 0) < (spec.replicas ?? 1)
  }
}

/** Kinds whose controllers create pods. */
const creators = new Set(['DaemonSet', 'Job', 'ReplicaSet', 'ReplicationController', 'StatefulSet'])

interface Owners {
  readonly owners: readonly KubeObject[]
  readonly notRead: readonly string[]
}

async function readOwner(
  { client }: Source,
  known: readonly Resource[],
  { kind = '', apiVersion, namespace, name = '' }: ObjectReference,
): Promise<Owners> {
  const resource = known.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion)
  if (resource === undefined) return { owners: [], notRead: [] }
  try {
    return { owners: [await client.resource(resource).get({ namespace, name })], notRead: [] }
  } catch (error) {
    // The owner is gone, and what it lacked with it.
    if (isStatusError(error, 'NotFound')) return { owners: [], notRead: [] }
    return { owners: [], notRead: [`the owner ${kind} ${name}: ${messageOf(error)}`] }
  }
}

/** The objects that events of failed creations are about, each once, if they still lack pods. */
async function failedOwners(source: Source, events: readonly Event[]): Promise<Owners> {
  const failed = events.filter(
    ({ reason, involvedObject }) =>
      reason === 'FailedCreate' && creators.has(involvedObject.kind ?? ''),
  )
  const about = new Map(failed.map(({ involvedObject: one }) => [one.uid ?? one.name, one]))
  if (about.size === 0) return { owners: [], notRead: [] }
  const { all } = await createDiscovery(source.client)()
  const asked = [...about.values()].slice(0, mostOwners)
  const found = await Promise.all(asked.map((one) => readOwner(source, all, one)))
  const more = about.size - asked.length
  return {
    owners: found.flatMap(({ owners }) => owners).filter(isShort),
    notRead: [
      ...found.flatMap(({ notRead }) => notRead),
      ...(more > 0 ? [`${countText(more, 'owner')} whose pods could not be created`] : []),
    ],
  }
}

function waitingPods(related: Related): Waiting[] {
  return related.pods.flatMap((pod) => {
    if (pod.metadata.deletionTimestamp !== undefined) return []
    const [finding] = podFindings(pod, related)
    return finding === undefined ? [] : [{ object: nameOf(pod), pod, finding }]
  })
}

function waitingOwners(owners: readonly KubeObject[], related: Related): Waiting[] {
  return owners.flatMap((owner) => {
    const { namespace } = owner.metadata
    const resourceQuotas = related.resourceQuotas.filter(
      ({ metadata }) => metadata.namespace === namespace,
    )
    const finding = creationFinding(owner, { ...related, resourceQuotas })
    return finding === undefined ? [] : [{ object: nameOf(owner), finding }]
  })
}

/** Pods that no node takes are told apart by what the scheduler said; the rest by the cause alone. */
function groupKey({ finding }: Waiting): string {
  return finding.cause === 'Unschedulable' ? finding.message : finding.cause
}

/** A group's finding is that of its first object, which is named when it does not fit all of them. */
function groupFinding(waiting: readonly Waiting[]): PendingGroup {
  const [first] = waiting as readonly [Waiting]
  const objects = waiting.map(({ object }) => object)
  const { message } = first.finding
  const isSame = waiting.every(({ finding }) => finding.message === message)
  const { kind, namespace, name } = first.object
  const where = namespace === undefined ? name : `${namespace}/${name}`
  return { ...first.finding, message: isSame ? message : `${kind} ${where}: ${message}`, objects }
}

/** The scheduler is asked about the group's first pod, unless what keeps the pod from it is known. */
async function groupOf(
  source: Source,
  waiting: readonly Waiting[],
  related: Related,
): Promise<PendingGroup> {
  const [{ pod, finding }] = waiting as readonly [Waiting]
  const group = groupFinding(waiting)
  const isOpen = ['Unschedulable', 'NotYetScheduled'].includes(finding.cause)
  if (pod === undefined || !waitsForNode(pod) || !isOpen) return group
  const scheduler = await source.askScheduler(keyOf(pod))
  return { ...schedulingFinding(pod, { ...related, scheduler }), objects: group.objects }
}

/** `namespace` is '' for all of them. */
export async function explainPending(source: Source, namespace: string): Promise<PendingAnswer> {
  const where = namespace === '' ? {} : { namespace }
  const needs: Need[] = [
    { of: 'pods', ...where, fieldSelector: 'status.phase=Pending' },
    { of: 'events', ...where },
    { of: 'persistentVolumeClaims', ...where },
    { of: 'resourceQuotas', ...where },
    { of: 'persistentVolumes' },
    { of: 'storageClasses' },
    { of: 'nodes' },
  ]
  const { related, notRead } = await readRelated(source, { object: { metadata: {} }, needs })
  const failed = await failedOwners(source, related.events)
  const waiting = [...waitingPods(related), ...waitingOwners(failed.owners, related)]
  const groups = Map.groupBy(waiting, groupKey)
  const sorted = [...groups.values()].toSorted((a, b) => b.length - a.length)
  const asked = await Promise.all(
    sorted.slice(0, mostAsked).map((group) => groupOf(source, group, related)),
  )
  return {
    isFine: sorted.length === 0 && !related.incomplete.has('pods'),
    groups: [...asked, ...sorted.slice(mostAsked).map(groupFinding)],
    notRead: [...notRead, ...failed.notRead],
  }
}
