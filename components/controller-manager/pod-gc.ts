/** Deletes pods of removed nodes, finished pods beyond a threshold, and pods deleted before they had a node (upstream: pkg/controller/podgc). */
import { backgroundOf, upkeepOf } from '../component-base/clock.ts'
import type { Node, Pod } from '../api/generated/types.ts'
import type { Dialect } from '../api/dialect.ts'
import { labelKey } from '../api/dialect.ts'
import type { Informer } from '../client/informer.ts'
import type { ResourceClient } from '../client/resource-client.ts'
import { messageOf } from '../component-base/log.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'
import { eachAtOnce } from './batches.ts'
import { findCondition } from './conditions.ts'
import type { ControllerContext, ControllerEntry } from './controller-context.ts'
import { disruptPod } from './pod-disruption.ts'
import type { Disruption } from './pod-disruption.ts'
import { isTerminal } from './pod-state.ts'
import { untilReady } from './until-ready.ts'

const periodMs = 20_000
/** A node that comes back within this time keeps its pods. */
const quarantineMs = 40_000
const deletionsAtOnce = 20
const whyOrphaned = { reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists' }

/** Why pods are collected, as the metrics name it. */
type Cause = 'terminated' | 'out-of-service' | 'orphaned' | 'unscheduled'

/** Finished pods beyond the threshold: evicted ones first, then the oldest. Pure. */
export function surplusPods(pods: readonly Pod[], threshold: number): Pod[] {
  if (threshold <= 0) return []
  const finished = pods.filter(isTerminal)
  const created = ({ metadata }: Pod): number => Date.parse(metadata.creationTimestamp ?? '') || 0
  const isEvicted = ({ status }: Pod): number => Number(status?.reason === 'Evicted')
  return finished
    .toSorted(
      (a, b) =>
        isEvicted(b) - isEvicted(a) ||
        created(a) - created(b) ||
        ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
    )
    .slice(0, Math.max(0, finished.length - threshold))
}

/** Deleted before they were bound, so that no node will ever confirm. Pure. */
export function unscheduledTerminating(pods: readonly Pod[]): Pod[] {
  return pods.filter(
    ({ metadata, spec }) => metadata.deletionTimestamp !== undefined && !spec?.nodeName,
  )
}

/** Terminating on a node that is not ready and was declared out of service. Pure. */
export function outOfService(
  pods: readonly Pod[],
  nodeOf: (name: string) => Node | undefined,
  dialect: Dialect,
): Pod[] {
  const key = labelKey(dialect, 'node', 'out-of-service')
  return pods.filter(({ metadata, spec }) => {
    const node = metadata.deletionTimestamp && spec?.nodeName ? nodeOf(spec.nodeName) : undefined
    if (node === undefined) return false
    const isUp = findCondition(node.status?.conditions, 'Ready')?.status === 'True'
    return !isUp && (node.spec?.taints ?? []).some((taint) => taint.key === key)
  })
}

/** The caches, clients and memory of the passes. */
interface PodCollection {
  readonly pods: Informer<Pod>
  readonly nodes: Informer<Node>
  readonly podClient: ResourceClient<Pod>
  readonly nodeClient: ResourceClient<Node>
  /** Names of nodes that pods are on and that do not exist: when that was first seen. */
  readonly missing: Map<string, number>
  readonly context: ControllerContext
}

/** Runs until `signal` aborts. */
export async function runPodGarbageCollector(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, clock, log } = context
  const pods = informers.informer<Pod>(resources.pods)
  const nodes = informers.informer<Node>(resources.nodes)
  const podClient = client.resource<Pod>(resources.pods)
  const nodeClient = client.resource<Node>(resources.nodes)
  const collection = { pods, nodes, podClient, nodeClient, missing: new Map(), context }
  if (!(await untilReady([pods, nodes], signal))) return
  while (!signal.aborted) {
    try {
      await collectPods(collection)
    } catch (error) {
      log.warn('pods not collected; trying again', { why: messageOf(error) })
    }
    try {
      // What waits for its time is looked at in time.
      const waiting = collection.missing.size > 0 ? backgroundOf(clock) : upkeepOf(clock)
      await waiting.sleep(periodMs, signal)
    } catch {
      // Only an abort ends the sleep early.
      return
    }
  }
}

async function collectPods(collection: PodCollection): Promise<void> {
  const { pods, nodes } = collection
  const { dialect, options } = collection.context
  const all = pods.list()
  await deletePods(collection, {
    pods: surplusPods(all, options['terminated-pod-gc-threshold']),
    cause: 'terminated',
  })
  await deletePods(collection, {
    pods: outOfService(all, (name) => nodes.get(name), dialect),
    cause: 'out-of-service',
  })
  const gone = await goneNodes(collection, all)
  const orphaned = all.filter(({ spec }) => gone.has(spec?.nodeName ?? ''))
  await deletePods(collection, { pods: orphaned, cause: 'orphaned', why: whyOrphaned })
  await deletePods(collection, { pods: unscheduledTerminating(all), cause: 'unscheduled' })
}

async function deletePods(
  { podClient, context: { clock, log, metrics } }: PodCollection,
  { pods, cause, why }: { pods: readonly Pod[]; cause: Cause; why?: Disruption['why'] },
): Promise<void> {
  const { deleted, failed } = metrics.podGc
  const failures = await eachAtOnce(pods, deletionsAtOnce, async (pod) => {
    const labels = [pod.metadata.namespace ?? '', cause]
    deleted.with(...labels).inc()
    try {
      await disruptPod(pod, {
        pods: podClient,
        clock,
        why,
        markFailed: true,
        gracePeriodSeconds: 0,
      })
    } catch (error) {
      failed.with(...labels).inc()
      throw error
    }
  })
  for (const error of failures) log.warn('pod not collected', { why: messageOf(error) })
}

/** Nodes that have been missing for long enough; the server is asked before anything is deleted. */
async function goneNodes(collection: PodCollection, pods: readonly Pod[]): Promise<Set<string>> {
  const { nodes, missing, context } = collection
  const { clock } = context
  const named = new Set(pods.map(({ spec }) => spec?.nodeName ?? ''))
  for (const name of missing.keys()) if (!named.has(name) || nodes.get(name)) missing.delete(name)
  const gone = new Set<string>()
  for (const name of named) {
    if (name === '' || nodes.get(name) !== undefined) continue
    const sinceMs = missing.get(name) ?? clock.now()
    missing.set(name, sinceMs)
    if (clock.now() - sinceMs >= quarantineMs && !(await exists(collection, name))) gone.add(name)
  }
  return gone
}

async function exists({ nodeClient }: PodCollection, name: string): Promise<boolean> {
  try {
    await nodeClient.get({ name })
    return true
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return false
    throw error
  }
}

export const podGarbageCollector: ControllerEntry = {
  name: 'pod-garbage-collector-controller',
  aliases: ['podgc'],
  defaultOn: true,
  start: runPodGarbageCollector,
}
