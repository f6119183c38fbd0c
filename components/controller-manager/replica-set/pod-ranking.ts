/** Which pods a replica set gives up first (upstream: controller_utils.go ActivePodsWithRanks). Pure. */
import type { Pod } from '../../api/generated/types.ts'
import { isReady, readySinceMs } from '../pod-state.ts'

const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 }

/** Times a day apart matter less the older both are, so that equally old pods are not all taken from one place. */
function ageMagnitude(sinceMs: number, nowMs: number): number {
  const nanoseconds = (nowMs - sinceMs) * 1e6
  return nanoseconds <= 0 ? -1 : Math.floor(Math.log2(nanoseconds))
}

/** Negative when the first started later by an order of magnitude; within one, the uid decides. */
function compareStarts(
  a: { ms: number | undefined; uid: string },
  b: { ms: number | undefined; uid: string },
  nowMs: number,
): number {
  if (a.ms === b.ms) return 0
  if (a.ms === undefined) return -1
  if (b.ms === undefined) return 1
  const difference = ageMagnitude(a.ms, nowMs) - ageMagnitude(b.ms, nowMs)
  return difference === 0 ? (a.uid < b.uid ? -1 : 1) : difference
}

function restarts(pod: Pod): { regular: number; sidecar: number } {
  const sidecars = new Set(
    (pod.spec?.initContainers ?? [])
      .filter(({ restartPolicy }) => restartPolicy === 'Always')
      .map(({ name }) => name),
  )
  const highest = (counts: readonly number[]): number => Math.max(0, ...counts)
  return {
    regular: highest((pod.status?.containerStatuses ?? []).map((status) => status.restartCount)),
    sidecar: highest(
      (pod.status?.initContainerStatuses ?? [])
        .filter(({ name }) => sidecars.has(name))
        .map((status) => status.restartCount),
    ),
  }
}

function createdMs(pod: Pod): number | undefined {
  const { creationTimestamp } = pod.metadata
  return creationTimestamp ? Date.parse(creationTimestamp) : undefined
}

export interface RankingOptions {
  /** How many of the workload's pods share a node, by the node's name. */
  readonly podsByNode: ReadonlyMap<string, number>
  /** Annotation that says what giving a pod up costs. */
  readonly deletionCostKey: string
  readonly nowMs: number
}

/** Compares two pods: negative when the first goes first. */
export function compareForDeletion(options: RankingOptions): (a: Pod, b: Pod) => number {
  const { podsByNode, deletionCostKey, nowMs } = options
  const crowd = (pod: Pod): number => podsByNode.get(pod.spec?.nodeName ?? '') ?? 0
  const cost = (pod: Pod): number => {
    const text = pod.metadata.annotations?.[deletionCostKey] ?? '0'
    return /^-?[0-9]{1,10}$/.test(text) ? Number(text) : 0
  }
  const phase = (pod: Pod): number => phaseRank[pod.status?.phase ?? ''] ?? 0
  return (a, b) => {
    const uids = [a.metadata.uid ?? '', b.metadata.uid ?? ''] as const
    const times = (first: number | undefined, second: number | undefined): number =>
      compareStarts({ ms: first, uid: uids[0] }, { ms: second, uid: uids[1] }, nowMs)
    const restartsOf = [restarts(a), restarts(b)] as const
    return (
      Number(Boolean(a.spec?.nodeName)) - Number(Boolean(b.spec?.nodeName)) ||
      phase(a) - phase(b) ||
      Number(isReady(a)) - Number(isReady(b)) ||
      cost(a) - cost(b) ||
      crowd(b) - crowd(a) ||
      (isReady(a) && isReady(b) ? times(readySinceMs(a), readySinceMs(b)) : 0) ||
      restartsOf[1].regular - restartsOf[0].regular ||
      restartsOf[1].sidecar - restartsOf[0].sidecar ||
      times(createdMs(a), createdMs(b))
    )
  }
}

/** Compares two active pods by how far they got, the younger first where they are alike (upstream: ActivePods). */
export function compareActivePods(a: Pod, b: Pod): number {
  const phase = (pod: Pod): number => phaseRank[pod.status?.phase ?? ''] ?? 0
  const since = (first: number | undefined, second: number | undefined): number =>
    first === second ? 0 : (second ?? Infinity) - (first ?? Infinity)
  const restartsOf = [restarts(a), restarts(b)] as const
  return (
    Number(Boolean(a.spec?.nodeName)) - Number(Boolean(b.spec?.nodeName)) ||
    phase(a) - phase(b) ||
    Number(isReady(a)) - Number(isReady(b)) ||
    (isReady(a) && isReady(b) ? since(readySinceMs(a), readySinceMs(b)) : 0) ||
    restartsOf[1].regular - restartsOf[0].regular ||
    restartsOf[1].sidecar - restartsOf[0].sidecar ||
    since(createdMs(a), createdMs(b))
  )
}

/** The `count` pods to delete; `related` are all active pods of the workload, the candidates among them. */
export function podsToDelete(
  pods: readonly Pod[],
  count: number,
  options: { related: readonly Pod[]; deletionCostKey: string; nowMs: number },
): readonly Pod[] {
  if (count >= pods.length) return pods
  const podsByNode = new Map<string, number>()
  for (const { spec } of options.related) {
    const node = spec?.nodeName
    if (node) podsByNode.set(node, (podsByNode.get(node) ?? 0) + 1)
  }
  return pods.toSorted(compareForDeletion({ ...options, podsByNode })).slice(0, count)
}
