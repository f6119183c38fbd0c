/** Explains what waits: pending pods, and owners whose pods could not be created, grouped by cause. */
import { createDiscovery } from '../../components/client/server-resources.ts'
import type { Event, Pod } from '../../components/api/generated/types.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { keyOf, type KubeObject } from '../../components/machinery/objects/object.ts'
import { apiVersionOf } from '../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { nameOf } from './evidence.ts'
import type { Need } from './explainer.ts'
import type { Finding, ObjectName, PendingAnswer, PendingGroup } from './finding.ts'
import { podFindings, waitsForNode } from './kinds/pod.ts'
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

/** Whether an owner still lacks pods: its failures may be over. */
function lacksPods({ kind, spec = {}, status = {} }: KubeObject): boolean {
  switch (kind) {
    case 'DaemonSet':
      return (status.currentNumberScheduled ?? 0) < (status.desiredNumberScheduled ?? 0)
    case 'Job': {
      const conditions = (status.conditions ?? []) as { type: string; status: string }[]
      const isOver = conditions.some(
        (one) => ['Complete', 'Failed'].includes(one.type) && one.status === 'True',
      )
      return !isOver && spec.suspend !== true && (status.active ?? 0) === 0
    }
    default:
      return (status.replicas ?? 0) < (spec.replicas ?? 1)
  }
}

/** The objects that events of failed creations are about, each once. */
async function failedOwners(source: Source, events: readonly Event[]): Promise<KubeObject[]> {
  const failed = events.filter(({ reason }) => reason === 'FailedCreate')
  const about = new Map(failed.map(({ involvedObject: one }) => [one.uid ?? one.name, one]))
  if (about.size === 0) return []
  const { client } = source
  const { all } = await createDiscovery(client)()
  const owners = [...about.values()].slice(0, mostOwners).map(async (one) => {
    const resource = all.find(
      (known) => known.kind === one.kind && apiVersionOf(known) === one.apiVersion,
    )
    if (resource === undefined || one.name === undefined) return []
    try {
      const ref = { namespace: one.namespace, name: one.name }
      const object = await client.resource(resource).get(ref)
      const { kind } = resource
      return [{ ...object, kind, apiVersion: apiVersionOf(resource) }]
    } catch (error) {
      // The owner is gone, and what it lacked with it.
      if (isStatusError(error, 'NotFound')) return []
      throw error
    }
  })
  return (await Promise.all(owners)).flat().filter(lacksPods)
}

function waitingPods(related: Related): Waiting[] {
  return related.pods.flatMap((given) => {
    const pod = { ...given, kind: 'Pod' }
    if (pod.metadata.deletionTimestamp !== undefined) return []
    const [finding] = podFindings(pod, related)
    return finding === undefined ? [] : [{ object: nameOf(pod), pod, finding }]
  })
}

/** Pods that no node takes are told apart by what the scheduler said; the rest by the cause alone. */
function groupKey({ finding }: Waiting): string {
  return finding.cause === 'Unschedulable' ? finding.message : finding.cause
}

/** A group's finding is that of its first object; the scheduler is asked about it when it waits for a node. */
async function groupOf(
  source: Source,
  waiting: readonly Waiting[],
  related: Related,
): Promise<PendingGroup> {
  const [first] = waiting as readonly [Waiting]
  const objects = waiting.map(({ object }) => object)
  const { pod, finding } = first
  if (pod === undefined || !waitsForNode(pod)) return { ...finding, objects }
  const scheduler = await source.askScheduler(keyOf(pod))
  const asked = { ...related, scheduler }
  // What keeps the scheduler from looking at the pod is said already.
  const isOpen = ['Unschedulable', 'NotYetScheduled'].includes(finding.cause)
  return { ...(isOpen ? schedulingFinding(pod, asked) : finding), objects }
}

/** `namespace` is '' for all of them. Rejects when the pods cannot be read. */
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
  const failures: string[] = []
  const owners = await failedOwners(source, related.events).catch((error: unknown) => {
    failures.push(`owners whose pods could not be created: ${messageOf(error)}`)
    return []
  })
  const waiting = waitingPods(related)
  for (const owner of owners) {
    const ofNamespace = related.resourceQuotas.filter(
      (one) => one.metadata.namespace === owner.metadata.namespace,
    )
    const finding = creationFinding(owner, { ...related, resourceQuotas: ofNamespace })
    if (finding !== undefined) waiting.push({ object: nameOf(owner), finding })
  }
  const groups = Map.groupBy(waiting, groupKey)
  const sorted = [...groups.values()].toSorted((a, b) => b.length - a.length)
  const asked = await Promise.all(
    sorted.slice(0, mostAsked).map((group) => groupOf(source, group, related)),
  )
  const rest = sorted.slice(mostAsked).map((group) => {
    const [first] = group as [Waiting]
    return { ...first.finding, objects: group.map(({ object }) => object) }
  })
  return { groups: [...asked, ...rest], notRead: [...notRead, ...failures] }
}
