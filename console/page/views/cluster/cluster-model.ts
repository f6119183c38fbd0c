/** ClusterModel: what the map shows, kept from one change to the next: pods by node, glows, heartbeats, pods that move. */
import type { SlimNode, SlimPod } from '../../../protocol/live.ts'
import { Glows } from './glows.ts'
import type { NodeToPlace } from './layout.ts'

const movesMs = 500

/** A pod on its way from where it waited to its node. */
export interface Move {
  readonly key: string
  readonly startMs: number
}

/** Name of the place of pods that have no node. */
export const waiting = ''

interface Heartbeat {
  readonly renewedMs: number | undefined
  readonly seenMs: number
}

/** Rows of a channel (`app/live.ts`). */
interface PodRows {
  readonly rows: ReadonlyMap<string, SlimPod>
  /** Undefined: all of them may be others. */
  readonly changed: ReadonlySet<string> | undefined
  /** Grows by one with each change. */
  readonly version: number
}

const byName = new Intl.Collator('en', { numeric: true })

function byKey(one: SlimPod, other: SlimPod): number {
  return one.key < other.key ? -1 : 1
}

export class ClusterModel {
  readonly glows = new Glows()
  #nodes: ReadonlyMap<string, SlimNode> = new Map()
  readonly #byNode = new Map<string, SlimPod[]>()
  readonly #nodeOf = new Map<string, string>()
  #names: readonly string[] = []
  #podsVersion = -1
  readonly #heartbeats = new Map<string, Heartbeat>()
  #moves: Move[] = []
  #version = 0

  /** Grows with each change that the map shows. Pods that wait have no place on it. */
  get version(): number {
    return this.#version
  }

  get nodes(): ReadonlyMap<string, SlimNode> {
    return this.#nodes
  }

  /** Pods of a node, or those that wait, in order of their keys. */
  podsOf(node: string): readonly SlimPod[] {
    return this.#byNode.get(node) ?? []
  }

  /** In order of their names, numbers by their value: `node-2` before `node-10`. */
  toPlace(): NodeToPlace[] {
    if (this.#names.length !== this.#nodes.size) {
      this.#names = [...this.#nodes.keys()].toSorted(byName.compare)
    }
    return this.#names.map((name) => ({ name, pods: this.podsOf(name).length }))
  }

  setNodes(
    nodes: ReadonlyMap<string, SlimNode>,
    changed: ReadonlySet<string> | undefined,
    nowMs: number,
    /** The time of a heartbeat, by the clock that `heartbeatAgeMs` goes by. */
    seenAt: (renewedMs: number | undefined) => number = () => nowMs,
  ): void {
    const isSame =
      nodes.size === this.#heartbeats.size &&
      [...nodes.keys()].every((name) => this.#heartbeats.has(name))
    if (!isSame) this.#names = []
    this.#nodes = nodes
    this.#version += 1
    for (const { name, renewedMs } of nodes.values()) {
      const known = this.#heartbeats.get(name)
      if (known === undefined || known.renewedMs !== renewedMs) {
        this.#heartbeats.set(name, { renewedMs, seenMs: seenAt(renewedMs) })
      } else if (changed?.has(name) === true) this.glows.touch(`node ${name}`, nowMs)
    }
    for (const name of this.#heartbeats.keys()) if (!nodes.has(name)) this.#heartbeats.delete(name)
  }

  /** `live` may have skipped versions: pages that are busy see several changes as one. */
  setPods({ rows, changed, version }: PodRows, nowMs: number): void {
    const before = new Map<string, string | undefined>()
    for (const key of changed ?? []) before.set(key, this.#nodeOf.get(key))
    const isNext = changed !== undefined && version === this.#podsVersion + 1
    this.#podsVersion = version
    if (isNext) this.#update(rows, changed)
    else this.#replace(rows)
    if (!isNext) this.#version += 1
    for (const [key, node = waiting] of before) {
      const isBound = (this.#nodeOf.get(key) ?? waiting) !== waiting
      if (isBound) this.glows.touch(key, nowMs)
      if (isBound || node !== waiting) this.#version += 1
      if (before.get(key) === waiting && isBound) this.#moves.push({ key, startMs: nowMs })
    }
  }

  #replace(pods: ReadonlyMap<string, SlimPod>): void {
    this.#byNode.clear()
    this.#nodeOf.clear()
    for (const pod of pods.values()) this.#put(pod)
    for (const list of this.#byNode.values()) list.sort(byKey)
  }

  #update(pods: ReadonlyMap<string, SlimPod>, changed: ReadonlySet<string>): void {
    const touched = new Set<string>()
    for (const key of changed) {
      const node = this.#nodeOf.get(key)
      if (node !== undefined) this.#take(key, node)
      const pod = pods.get(key)
      if (pod === undefined) continue
      this.#put(pod)
      touched.add(pod.node)
    }
    for (const node of touched) this.#byNode.get(node)?.sort(byKey)
  }

  #put(pod: SlimPod): void {
    const list = this.#byNode.get(pod.node)
    if (list === undefined) this.#byNode.set(pod.node, [pod])
    else list.push(pod)
    this.#nodeOf.set(pod.key, pod.node)
  }

  #take(key: string, node: string): void {
    const left = this.podsOf(node).filter((pod) => pod.key !== key)
    if (left.length === 0) this.#byNode.delete(node)
    else this.#byNode.set(node, left)
    this.#nodeOf.delete(key)
  }

  nodeOfPod(key: string): string | undefined {
    return this.#nodeOf.get(key)
  }

  /** Time since the page saw the node's last heartbeat; undefined for a node without a lease. */
  heartbeatAgeMs(name: string, nowMs: number): number | undefined {
    const beat = this.#heartbeats.get(name)
    return beat?.renewedMs === undefined ? undefined : Math.max(0, nowMs - beat.seenMs)
  }

  /** Pods that move, each with how far it has come, from 0 to 1. */
  moves(nowMs: number): { readonly key: string; readonly share: number }[] {
    this.#moves = this.#moves.filter(({ startMs }) => nowMs - startMs < movesMs)
    return this.#moves.map(({ key, startMs }) => ({ key, share: (nowMs - startMs) / movesMs }))
  }

  /** Whether the next frame would look different without a change. */
  isMoving(nowMs: number): boolean {
    return this.moves(nowMs).length > 0 || this.glows.isActive(nowMs)
  }
}
