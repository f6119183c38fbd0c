/** LiveTables: what the screen knows of the cluster, as slim rows. Whoever follows the cluster writes into it; the screen reads it. */
import type { RequestRecord } from '../../components/api/request-record.ts'
import type { SlimEvent, SlimNode, SlimPod } from '../protocol/live.ts'
import type { SlimLease } from '../slim/slim-node.ts'

/** A pod, and what it requests of its node. */
export interface PodRow extends SlimPod {
  readonly cpuMilli: number
  readonly memoryBytes: number
}

/** What the pods of a node request together. */
export interface NodeUse {
  readonly pods: number
  readonly cpuMilli: number
  readonly memoryBytes: number
}

export type PaneName = 'nodes' | 'pods' | 'requests' | 'events'

/** What is new to a table: rows by key; undefined for a row that is gone. */
type Change<R> = readonly [key: string, row: R | undefined]

/** Rows that are kept of what never ends. */
export const mostRequests = 1000
export const mostEvents = 2000

const noUse: NodeUse = { pods: 0, cpuMilli: 0, memoryBytes: 0 }

/** Pods that have ended keep their place in the list, but no room on the node. */
const hasEnded = ({ status }: PodRow): boolean =>
  status === 'Completed' || status === 'Succeeded' || status === 'Failed' || status === 'Evicted'

export class LiveTables {
  readonly nodes = new Map<string, SlimNode>()
  readonly leases = new Map<string, SlimLease>()
  readonly pods = new Map<string, PodRow>()
  readonly events = new Map<string, SlimEvent>()
  /** The newest last. */
  requests: RequestRecord[] = []
  /** Why a pane is empty, or not whole. */
  readonly notices = new Map<PaneName, string>()
  readonly #use = new Map<string, NodeUse>()
  readonly #versions = { nodes: 0, pods: 0, requests: 0, events: 0 }
  #onChange: () => void = () => {}

  /** Called after every change. */
  set onChange(callback: () => void) {
    this.#onChange = callback
  }

  /** Grows with every change of the pane's rows. */
  version(pane: PaneName): number {
    return this.#versions[pane]
  }

  useOf(node: string): NodeUse {
    return this.#use.get(node) ?? noUse
  }

  setNotice(pane: PaneName, text: string | undefined): void {
    if (this.notices.get(pane) === text) return
    if (text === undefined) this.notices.delete(pane)
    else this.notices.set(pane, text)
    this.#onChange()
  }

  putNodes(changes: readonly Change<SlimNode>[]): void {
    this.#put(this.nodes, changes)
    this.#changed('nodes')
  }

  putLeases(changes: readonly Change<SlimLease>[]): void {
    this.#put(this.leases, changes)
    this.#changed('nodes')
  }

  putPods(changes: readonly Change<PodRow>[]): void {
    for (const [key, row] of changes) {
      this.#count(this.pods.get(key), -1)
      this.#count(row, 1)
      if (row === undefined) this.pods.delete(key)
      else this.pods.set(key, row)
    }
    this.#changed('pods')
    this.#versions.nodes += 1
  }

  /** Keeps the newest when there are more than the limit. */
  putEvents(changes: readonly Change<SlimEvent>[]): void {
    this.#put(this.events, changes)
    // Twice the limit before it sorts: most calls bring one event.
    if (this.events.size > 2 * mostEvents) {
      const sorted = [...this.events].toSorted(([, a], [, b]) => a.atMs - b.atMs)
      for (const [key] of sorted.slice(0, -mostEvents)) this.events.delete(key)
    }
    this.#changed('events')
  }

  addRequests(records: readonly RequestRecord[]): void {
    this.requests.push(...records)
    if (this.requests.length > 2 * mostRequests) this.requests = this.requests.slice(-mostRequests)
    this.#changed('requests')
  }

  #put<R>(rows: Map<string, R>, changes: readonly Change<R>[]): void {
    for (const [key, row] of changes) {
      if (row === undefined) rows.delete(key)
      else rows.set(key, row)
    }
  }

  #count(row: PodRow | undefined, sign: 1 | -1): void {
    if (row === undefined || row.node === '' || hasEnded(row)) return
    const { pods, cpuMilli, memoryBytes } = this.useOf(row.node)
    this.#use.set(row.node, {
      pods: pods + sign,
      cpuMilli: cpuMilli + sign * row.cpuMilli,
      memoryBytes: memoryBytes + sign * row.memoryBytes,
    })
    if (pods + sign === 0) this.#use.delete(row.node)
  }

  #changed(pane: PaneName): void {
    this.#versions[pane] += 1
    this.#onChange()
  }
}
