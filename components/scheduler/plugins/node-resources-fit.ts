/**
 * NodeResourcesFit: a node takes a pod when what is left of its allocatable covers the pod's requests; the scoring strategy
 * says which of those nodes are better (upstream: plugins/noderesources/fit.go).
 */
import type { Node } from '../../api/generated/types.ts'
import type { Amounts } from '../../api/amounts.ts'
import { amountsOf } from '../../api/amounts.ts'
import { registered, registeredPods } from '../cluster-event.ts'
import type { PluginArguments } from '../configuration/plugin-arguments.ts'
import type { PluginWith, Rejection } from '../plugin.ts'
import { scoreEach } from '../plugin.ts'
import type { PodInfo } from '../pod-info.ts'
import type { NodeInfo } from '../snapshot.ts'
import { allocationsOf, amountReader } from './resource-allocation.ts'
import { scorerOf } from './scoring-strategies.ts'

type FitArguments = PluginArguments['NodeResourcesFit']

interface CountedRequest {
  readonly name: string
  readonly amount: number
  readonly read: ReturnType<typeof amountReader>
}

/** The resources that a pod asks for and that count, with their amounts. */
function countedRequests(
  { requests }: PodInfo,
  { ignoredResources, ignoredResourceGroups }: FitArguments,
): CountedRequest[] {
  const counted: [string, number][] = [
    ['cpu', requests.milliCpu],
    ['memory', requests.memory],
    ['ephemeral-storage', requests.ephemeralStorage],
  ]
  for (const [name, amount] of requests.scalars) {
    const isIgnored =
      name.includes('/') &&
      (ignoredResources.includes(name) ||
        ignoredResourceGroups.includes(name.slice(0, name.indexOf('/'))))
    if (!isIgnored) counted.push([name, amount])
  }
  // A resource that is not asked for cannot be short, even on a node that is over-committed in it.
  return counted
    .filter(([, amount]) => amount > 0)
    .map(([name, amount]) => ({ name, amount, read: amountReader(name) }))
}

function shortages(requests: readonly CountedRequest[], node: NodeInfo): string[] {
  const short: string[] = []
  if (node.pods.size + 1 > node.allowedPods) short.push('Too many pods')
  for (const { name, amount, read } of requests) {
    const left = read(node.allocatable) - read(node.requested)
    if (amount > left) short.push(`Insufficient ${name}`)
  }
  return short
}

function allocatableOf(node: Node): Amounts {
  return amountsOf(node.status?.allocatable)
}

/** A node that has what the pod asks for, and, if it was there before, has more of some of it now. */
function mayFit(
  requests: readonly CountedRequest[],
  { old, now }: { readonly old?: Node; readonly now?: Node },
): boolean {
  if (now === undefined) return false
  const after = allocatableOf(now)
  if (requests.some(({ amount, read }) => amount > read(after))) return false
  if (old === undefined) return true
  const before = allocatableOf(old)
  const podsOf = (node: Node): number => Number(node.status?.allocatable?.['pods'] ?? 0)
  return podsOf(now) > podsOf(old) || requests.some(({ read }) => read(after) > read(before))
}

export function nodeResourcesFit(args: FitArguments): PluginWith<'filter' | 'score'> {
  const { type, resources } = args.scoringStrategy
  const scorer = scorerOf(args.scoringStrategy)
  return {
    name: 'NodeResourcesFit',
    events: [
      registeredPods(['Delete', 'UpdatePodScaleDown'], ({ uid }, { old, now }) => {
        const isPlaced = Boolean(old?.spec?.nodeName) || Boolean(old?.status?.nominatedNodeName)
        return isPlaced || now?.metadata.uid === uid
      }),
      registered('Node', ['Add', 'UpdateNodeAllocatable'], (pod, event) =>
        mayFit(countedRequests(pod, args), event),
      ),
    ],
    filter(pod) {
      const requests = countedRequests(pod, args)
      return (node): Rejection | undefined => {
        const reasons = shortages(requests, node)
        return reasons.length === 0 ? undefined : { reasons, resolvable: true }
      }
    },
    score(pod, nodes) {
      const allocations = allocationsOf(pod, resources, type !== 'RequestedToCapacityRatio')
      return scoreEach(nodes, (node) => scorer(allocations(node)))
    },
  }
}
