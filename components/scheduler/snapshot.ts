/**
 * Snapshot: nodes and the pods on them, kept up to date pod by pod. It counts assumed pods (chosen, not yet seen bound)
 * so that two decisions in a row never hand out the same room.
 */
import type { Amounts } from '../api/amounts.ts'
import { addAmounts, amountsOf, copyAmounts, noAmounts } from '../api/amounts.ts'
import type { Node, Pod, Taint } from '../api/generated/types.ts'
import { quantityValue } from '../machinery/values/quantity.ts'
import type { ClusterView } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'
import { podInfoOf } from './pod-info.ts'

/** One node with the pods that count on it. Plugins only read it. */
export class NodeInfo {
  readonly name: string
  /** Undefined while pods are known on a node that is not (yet, or any more). */
  node: Node | undefined
  labels: Readonly<Record<string, string>> = {}
  taints: readonly Taint[] = []
  isUnschedulable = false
  allocatable: Readonly<Amounts> = noAmounts()
  allowedPods = 0
  requested: Amounts = noAmounts()
  scoringMilliCpu = 0
  scoringMemory = 0
  pods = new Map<string, PodInfo>()
  /** How many pods on it use host ports; zero spares the search. */
  podsWithPorts = 0
  /** How many pods on it have rules of required anti-affinity. */
  podsWithAntiAffinity = 0
  /** Rises each time a node is chosen: equal nodes take turns by it. */
  lastChosen = 0

  constructor(name: string) {
    this.name = name
  }

  setNode(node: Node): void {
    this.node = node
    // Keys of selectors are looked up here, and may be names that every object inherits.
    const none = Object.create(null) as Record<string, string>
    this.labels = Object.assign(none, node.metadata.labels)
    this.taints = node.spec?.taints ?? []
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
    if (info.requiredAntiAffinity.length > 0) this.podsWithAntiAffinity += sign
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
  readonly #nominated = new Map<string, Map<string, PodInfo>>()
  readonly #namespaces = new Map<string, Readonly<Record<string, string>>>()
  #list: NodeInfo[] | undefined
  #choices = 0
  #podsWithAntiAffinity = 0

  get podsWithAntiAffinity(): number {
    return this.#podsWithAntiAffinity
  }

  namespaceLabels(name: string): Readonly<Record<string, string>> | undefined {
    return this.#namespaces.get(name)
  }

  /** Labels of a namespace; undefined when it has gone. */
  setNamespace(name: string, labels: Readonly<Record<string, string>> | undefined): void {
    if (labels === undefined) this.#namespaces.delete(name)
    else this.#namespaces.set(name, labels)
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
    info.setNode(node)
  }

  removeNode(name: string): void {
    const info = this.#byName.get(name)
    if (info === undefined) return
    this.#list = undefined
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
    info.count(placement.info, -1)
    if (placement.info.requiredAntiAffinity.length > 0) this.#podsWithAntiAffinity -= 1
    if (info.node === undefined && info.pods.size === 0) this.#byName.delete(info.name)
    return true
  }

  /** Keeps room on the node for a pod whose victims are still leaving. */
  nominate(info: PodInfo, nodeName: string): void {
    this.withdraw(info.key)
    let pods = this.#nominated.get(nodeName)
    if (pods === undefined) {
      pods = new Map()
      this.#nominated.set(nodeName, pods)
    }
    pods.set(info.key, info)
  }

  /** Ends the nomination of a pod, if it has one. */
  withdraw(key: string): void {
    for (const [nodeName, pods] of this.#nominated) {
      if (pods.delete(key) && pods.size === 0) this.#nominated.delete(nodeName)
    }
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
    this.#nodeFor(placement.nodeName).count(placement.info, 1)
    if (placement.info.requiredAntiAffinity.length > 0) this.#podsWithAntiAffinity += 1
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
