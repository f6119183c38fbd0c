/**
 * PodCounts: how many pods of a group are on each node, kept up to date pod by pod, so that spreading and affinity cost the same
 * however many pods are placed. A group is counted when it is first asked for; the least recently used counts are dropped.
 */
import type { LabelSelector } from '../machinery/selectors/label-selector.ts'
import type { PodInfo } from './pod-info.ts'

/** Which pods are counted together. */
export interface PodGroup {
  /** Equal for groups of the same pods. */
  readonly key: string
  /** Every member meets this selector: it spares matching most other pods. */
  readonly selector: LabelSelector
  /** True when the group depends on labels of namespaces. */
  readonly isByNamespaceLabels: boolean
  includes(info: Pick<PodInfo, 'pod'>): boolean
}

/** Pods by name of node; nodes without any are left out. */
export type CountsByNode = ReadonlyMap<string, number>

interface Counted {
  readonly group: PodGroup
  readonly byNode: Map<string, number>
  /** Where the pods that may be members are found: a label and its value, or '' for all pods. */
  readonly bucket: string
}

/** A label that every member has with that value. */
function bucketOf(selector: LabelSelector): string {
  for (const { key, operator, values } of selector) {
    if ((operator === '=' || operator === '==') && values.length === 1) return `${key}=${values[0]}`
  }
  return ''
}

export class PodCounts {
  readonly #limit: number
  /** The least recently used first. */
  readonly #counted = new Map<string, Counted>()
  readonly #buckets = new Map<string, Set<Counted>>()

  constructor(limit = 500) {
    this.#limit = limit
  }

  /** The counts of a group; `placed` gives all pods with their nodes when the group is not counted yet. */
  of(group: PodGroup, placed: () => Iterable<readonly [PodInfo, string]>): CountsByNode {
    const known = this.#counted.get(group.key)
    if (known !== undefined) {
      this.#counted.delete(group.key)
      this.#counted.set(group.key, known)
      return known.byNode
    }
    const counted: Counted = { group, byNode: new Map(), bucket: bucketOf(group.selector) }
    for (const [info, nodeName] of placed()) add(counted, info, { nodeName, sign: 1 })
    this.#counted.set(group.key, counted)
    const bucket = this.#buckets.get(counted.bucket)
    if (bucket === undefined) this.#buckets.set(counted.bucket, new Set([counted]))
    else bucket.add(counted)
    if (this.#counted.size > this.#limit) {
      const oldest = this.#counted.values().next().value
      if (oldest !== undefined) this.#drop(oldest)
    }
    return counted.byNode
  }

  /** A pod came to a node, or left it. */
  change(info: PodInfo, at: { readonly nodeName: string; readonly sign: 1 | -1 }): void {
    if (this.#counted.size === 0) return
    for (const counted of this.#buckets.get('') ?? []) add(counted, info, at)
    for (const [key, value] of Object.entries(info.pod.metadata.labels ?? {})) {
      for (const counted of this.#buckets.get(`${key}=${value}`) ?? []) add(counted, info, at)
    }
  }

  /** Labels of a namespace changed: groups that depend on them are counted anew. */
  forgetNamespaces(): void {
    for (const counted of this.#counted.values()) {
      if (counted.group.isByNamespaceLabels) this.#drop(counted)
    }
  }

  #drop(counted: Counted): void {
    this.#counted.delete(counted.group.key)
    const bucket = this.#buckets.get(counted.bucket)
    bucket?.delete(counted)
    if (bucket?.size === 0) this.#buckets.delete(counted.bucket)
  }
}

function add(
  { group, byNode }: Counted,
  info: PodInfo,
  { nodeName, sign }: { readonly nodeName: string; readonly sign: 1 | -1 },
): void {
  if (!group.includes(info)) return
  const count = (byNode.get(nodeName) ?? 0) + sign
  if (count === 0) byNode.delete(nodeName)
  else byNode.set(nodeName, count)
}
