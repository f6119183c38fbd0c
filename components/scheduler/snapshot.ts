/**
 * Snapshot: nodes and the pods on them, kept up to date pod by pod. It counts assumed pods (chosen, not yet seen bound)
 * so that two decisions in a row never hand out the same room.
 */
import type { Amounts } from '../api/amounts.ts'
import { addAmounts, amountsOf, copyAmounts, noAmounts } from '../api/amounts.ts'
import type { Node, Pod, Taint } from '../api/generated/types.ts'
import { quantityValue } from '../machinery/values/quantity.ts'
import type { PlacedTerm, TermSort } from './placed-terms.ts'
import { PlacedTerms } from './placed-terms.ts'
import type { ClusterView } from './plugin.ts'
import type { PodGroup } from './pod-counts.ts'
import { PodCounts } from './pod-counts.ts'
import type { PodInfo } from './pod-info.ts'
import { podInfoOf } from './pod-info.ts'

/** What node selectors look at. */
export interface NodeLabels {
  readonly name: string
  /** Without inherited names: keys of selectors are looked up here. */
  readonly labels: Readonly<Record<string, string>>
}

export function nodeLabels({ metadata }: Node): NodeLabels {
  const none = Object.create(null) as Record<string, string>
  return { name: metadata.name ?? '', labels: Object.assign(none, metadata.labels) }
}

/** Size in bytes of the images on a node, by each of their names. */
function imagesOf(node: Node): ReadonlyMap<string, number> {
  const images = new Map<string, number>()
  for (const { names, sizeBytes } of node.status?.images ?? []) {
    for (const name of names ?? []) images.set(name, Number(sizeBytes ?? 0))
  }
  return images
}

/** One node with the pods that count on it. Plugins only read it. */
export class NodeInfo {
  readonly name: string
  /** Undefined while pods are known on a node that is not (yet, or any more). */
  node: Node | undefined
  labels: Readonly<Record<string, string>> = {}
  taints: readonly Taint[] = []
  images: ReadonlyMap<string, number> = new Map()
  isUnschedulable = false
  allocatable: Readonly<Amounts> = noAmounts()
  allowedPods = 0
  requested: Amounts = noAmounts()
  scoringMilliCpu = 0
  scoringMemory = 0
  pods = new Map<string, PodInfo>()
  /** How many pods on it use host ports; zero spares the search. */
  podsWithPorts = 0
  /** How many pods on it have rules about others. */
  podsWithTerms = 0
  /** Rises each time a node is chosen: equal nodes take turns by it. */
  lastChosen = 0

  constructor(name: string) {
    this.name = name
  }

  setNode(node: Node): void {
    this.node = node
    this.labels = nodeLabels(node).labels
    this.taints = node.spec?.taints ?? []
    this.images = imagesOf(node)
    this.isUnschedulable = node.spec?.unschedulable === true
    this.allocatable = amountsOf(node.status?.allocatable)
    this.allowedPods = quantityValue(node.status?.allocatable?.['pods'] ?? '0')
  }

  /** Adds or takes off one pod. */
  count(info: PodInfo, sign: 1 | -1): void {
    if (sign === 1) this.pods.set(info.key, info)
    else this.pods.delete(info.key)
    addAmounts(this.requested, info.requests, sign)
    this.scoringMilliCpu += sign * info.scoringMilliCpu
    this.scoringMemory += sign * info.scoringMemory
    if (info.hostPorts.length > 0) this.podsWithPorts += sign
    if (info.terms.isAny) this.podsWithTerms += sign
  }
}

/** A copy of the node as it would be with these pods more or less; the copy may be changed freely. */
export function withPods(
  node: NodeInfo,
  change: { added?: readonly PodInfo[]; removed?: readonly PodInfo[] },
): NodeInfo {
  const copy = Object.assign(new NodeInfo(node.name), node)
  copy.requested = copyAmounts(node.requested)
  copy.pods = new Map(node.pods)
  for (const info of change.removed ?? []) copy.count(info, -1)
  for (const info of change.added ?? []) copy.count(info, 1)
  return copy
}

interface Placement {
  readonly info: PodInfo
  readonly nodeName: string
  /** True until the server has shown the binding. */
  readonly isAssumed: boolean
}

export class Snapshot implements ClusterView {
  readonly #byName = new Map<string, NodeInfo>()
  readonly #placements = new Map<string, Placement>()
  /** Nominated pods by node, and the node of each. */
  readonly #nominated = new Map<string, Map<string, PodInfo>>()
  readonly #nominatedNodes = new Map<string, string>()
  readonly #namespaces = new Map<string, Readonly<Record<string, string>>>()
  #list: NodeInfo[] | undefined
  #choices = 0
  readonly #counts = new PodCounts()
  readonly #terms = new PlacedTerms()
  /** How many nodes have an image, by its name. */
  readonly #images = new Map<string, number>()

  nodesWithImage(name: string): number {
    return this.#images.get(name) ?? 0
  }

  /** How much it knows. */
  get sizes(): Readonly<Record<'nodes' | 'pods' | 'assumed_pods', number>> {
    let assumed = 0
    for (const { isAssumed } of this.#placements.values()) if (isAssumed) assumed += 1
    return { nodes: this.#byName.size, pods: this.#placements.size, assumed_pods: assumed }
  }

  podsOf(group: PodGroup): (node: NodeInfo) => number {
    const counts = this.#counts.of(group, () => this.#placed())
    return ({ name }) => counts.get(name) ?? 0
  }

  termsOf(sort: TermSort): Iterable<PlacedTerm> {
    return this.#terms.of(sort)
  }

  /** The cluster with one node replaced by `trial`. Lazy: the first plugin that reads the view pays for it. */
  withNode(trial: NodeInfo): ClusterView {
    return new TrialView(this, this.#terms, trial)
  }

  namespaceLabels(name: string): Readonly<Record<string, string>> | undefined {
    return this.#namespaces.get(name)
  }

  /** Labels of a namespace; undefined when it has gone. */
  setNamespace(name: string, labels: Readonly<Record<string, string>> | undefined): void {
    if (labels === undefined) this.#namespaces.delete(name)
    else this.#namespaces.set(name, labels)
    this.#counts.forgetNamespaces()
  }

  /** All known nodes in the order they came. The array is not changed afterwards; a new one replaces it. */
  get nodes(): readonly NodeInfo[] {
    this.#list ??= [...this.#byName.values()].filter((info) => info.node !== undefined)
    return this.#list
  }

  node(name: string): NodeInfo | undefined {
    const info = this.#byName.get(name)
    return info?.node === undefined ? undefined : info
  }

  setNode(node: Node): void {
    const info = this.#nodeFor(node.metadata.name ?? '')
    if (info.node === undefined) this.#list = undefined
    this.#countImages(info, -1)
    info.setNode(node)
    this.#countImages(info, 1)
  }

  removeNode(name: string): void {
    const info = this.#byName.get(name)
    if (info === undefined) return
    this.#list = undefined
    this.#countImages(info, -1)
    info.images = new Map()
    if (info.pods.size === 0) this.#byName.delete(name)
    else info.node = undefined
  }

  /** A pod that the server says is on a node. It replaces what was assumed or known of that pod. */
  setPod(pod: Pod): void {
    const info = podInfoOf(pod)
    this.#place({ info, nodeName: pod.spec?.nodeName ?? '', isAssumed: false })
  }

  /** Counts a decision at once. `forget` undoes it, unless the server has confirmed it in the meantime. */
  assume(info: PodInfo, nodeName: string): void {
    this.#place({ info, nodeName, isAssumed: true })
    this.#nodeFor(nodeName).lastChosen = ++this.#choices
  }

  /** Undoes `assume` of that very pod; a later pod of the same name keeps its place. */
  forget(info: PodInfo): void {
    const placement = this.#placements.get(info.key)
    if (placement?.isAssumed === true && placement.info.uid === info.uid) this.removePod(info.key)
  }

  /** The node a pod counts on, assumed or confirmed. */
  nodeOf(key: string): string | undefined {
    return this.#placements.get(key)?.nodeName
  }

  /** True if the pod was counted; it is not any more. */
  removePod(key: string): boolean {
    const placement = this.#placements.get(key)
    if (placement === undefined) return false
    this.#placements.delete(key)
    const info = this.#nodeFor(placement.nodeName)
    this.#count(info, placement.info, -1)
    if (info.node === undefined && info.pods.size === 0) this.#byName.delete(info.name)
    return true
  }

  /** Keeps room on the node for a pod whose victims are still leaving. */
  nominate(info: PodInfo, nodeName: string): void {
    this.withdraw(info.key)
    this.#nominatedNodes.set(info.key, nodeName)
    const pods = this.#nominated.get(nodeName)
    if (pods === undefined) this.#nominated.set(nodeName, new Map([[info.key, info]]))
    else pods.set(info.key, info)
  }

  /** Ends the nomination of a pod, if it has one. */
  withdraw(key: string): void {
    const nodeName = this.#nominatedNodes.get(key)
    if (nodeName === undefined) return
    this.#nominatedNodes.delete(key)
    const pods = this.#nominated.get(nodeName)
    pods?.delete(key)
    if (pods?.size === 0) this.#nominated.delete(nodeName)
  }

  /** Pods of lower priority that are nominated to the node: they may fit no longer once this pod is. */
  nominatedAfter(pod: PodInfo, nodeName: string): readonly PodInfo[] {
    const pods = [...(this.#nominated.get(nodeName)?.values() ?? [])]
    return pods.filter(({ priority }) => priority < pod.priority)
  }

  /** Pods for which the node keeps room against this pod: others of no lower priority. */
  nominatedBefore(pod: PodInfo, nodeName: string): readonly PodInfo[] {
    const pods = this.#nominated.get(nodeName)
    if (pods === undefined) return []
    return [...pods.values()].filter(
      (other) => other.key !== pod.key && other.priority >= pod.priority,
    )
  }

  #place(placement: Placement): void {
    this.removePod(placement.info.key)
    this.withdraw(placement.info.key)
    this.#placements.set(placement.info.key, placement)
    this.#count(this.#nodeFor(placement.nodeName), placement.info, 1)
  }

  #count(node: NodeInfo, info: PodInfo, sign: 1 | -1): void {
    node.count(info, sign)
    const at = { nodeName: node.name, sign }
    this.#counts.change(info, at)
    this.#terms.change(info, at)
  }

  #countImages(info: NodeInfo, sign: 1 | -1): void {
    for (const name of info.images.keys()) {
      const count = (this.#images.get(name) ?? 0) + sign
      if (count === 0) this.#images.delete(name)
      else this.#images.set(name, count)
    }
  }

  *#placed(): Iterable<readonly [PodInfo, string]> {
    for (const { info, nodeName } of this.#placements.values()) yield [info, nodeName]
  }

  #nodeFor(name: string): NodeInfo {
    let info = this.#byName.get(name)
    if (info === undefined) {
      info = new NodeInfo(name)
      this.#byName.set(name, info)
    }
    return info
  }
}

/** A snapshot in which one node has other pods. */
class TrialView implements ClusterView {
  readonly #base: Snapshot
  readonly #baseTerms: PlacedTerms
  readonly #trial: NodeInfo
  #nodes: readonly NodeInfo[] | undefined
  #terms: PlacedTerms | undefined

  constructor(base: Snapshot, baseTerms: PlacedTerms, trial: NodeInfo) {
    this.#base = base
    this.#baseTerms = baseTerms
    this.#trial = trial
  }

  get nodes(): readonly NodeInfo[] {
    const trial = this.#trial
    this.#nodes ??= this.#base.nodes.map((node) => (node.name === trial.name ? trial : node))
    return this.#nodes
  }

  node(name: string): NodeInfo | undefined {
    return name === this.#trial.name ? this.#trial : this.#base.node(name)
  }

  namespaceLabels(name: string): Readonly<Record<string, string>> | undefined {
    return this.#base.namespaceLabels(name)
  }

  nodesWithImage(name: string): number {
    return this.#base.nodesWithImage(name)
  }

  podsOf(group: PodGroup): (node: NodeInfo) => number {
    const countOn = this.#base.podsOf(group)
    const trial = this.#trial
    let onTrial = 0
    for (const info of trial.pods.values()) if (group.includes(info)) onTrial += 1
    return (node) => (node.name === trial.name ? onTrial : countOn(node))
  }

  termsOf(sort: TermSort): Iterable<PlacedTerm> {
    if (this.#baseTerms.isEmpty && this.#trial.podsWithTerms === 0) return []
    this.#terms ??= this.#baseTerms.withNode(this.#trial.name, this.#trial.pods.values())
    return this.#terms.of(sort)
  }
}
