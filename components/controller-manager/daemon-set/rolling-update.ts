/** One step of a DaemonSet's rolling update (upstream: daemon/update.go rollingUpdate; KEP-1591 surge). Pure. */
import type { Pod } from '../../api/generated/types.ts'
import { podHash } from './daemon-pods.ts'
import type { DaemonFacts, NodePods } from './node-pods.ts'
import {
  desiredDaemons,
  isAvailable,
  isTerminating,
  maxSurge,
  maxUnavailable,
} from './node-pods.ts'

export interface UpdateStep {
  /** Names of nodes that get a pod beside the old one. */
  readonly creates: readonly string[]
  readonly deletes: readonly Pod[]
}

interface Generations {
  readonly node: NodePods
  readonly newPod: Pod | undefined
  readonly oldPod: Pod | undefined
}

/** The pods of the current revision and before on each node; undefined where there are several of one generation. */
function generations(facts: DaemonFacts): (Generations | undefined)[] {
  return facts.nodes
    .filter(({ shouldRun, pods }) => shouldRun || pods.length > 0)
    .map((node) => {
      const alive = node.pods.filter((pod) => !isTerminating(pod))
      const [newPod, secondNew] = alive.filter((pod) => podHash(pod) === facts.hash)
      const [oldPod, secondOld] = alive.filter((pod) => podHash(pod) !== facts.hash)
      if (secondNew !== undefined || secondOld !== undefined) return undefined
      return { node, newPod, oldPod }
    })
}

/** Old pods go first where they are not available anyway, then as many as may be missing. */
function replaceInPlace(facts: DaemonFacts): UpdateStep {
  let unavailable = 0
  const broken: Pod[] = []
  const candidates: Pod[] = []
  for (const found of generations(facts)) {
    const { newPod, oldPod } = found ?? {}
    if ((newPod === undefined) === (oldPod === undefined)) unavailable += 1
    else if (newPod !== undefined) unavailable += isAvailable(facts, newPod) ? 0 : 1
    else if (oldPod !== undefined && !isAvailable(facts, oldPod)) {
      broken.push(oldPod)
      unavailable += 1
    } else if (oldPod !== undefined) candidates.push(oldPod)
  }
  const room = Math.max(0, maxUnavailable(facts) - unavailable)
  return { creates: [], deletes: [...broken, ...candidates.slice(0, room)] }
}

/** New pods come beside the old ones; an old one goes when its new one is available. */
function replaceBySurge(facts: DaemonFacts): UpdateStep {
  let surge = 0
  let available = 0
  const deletes: Pod[] = []
  const unwanted: Pod[] = []
  const broken: string[] = []
  const candidates: string[] = []
  for (const found of generations(facts)) {
    if (found === undefined) {
      surge += 1
      continue
    }
    const { node, newPod, oldPod } = found
    const counted = oldPod ?? newPod
    if (counted !== undefined && isAvailable(facts, counted)) available += 1
    if (oldPod === undefined) continue
    if (newPod !== undefined) {
      if (isAvailable(facts, newPod)) deletes.push(oldPod)
      else surge += 1
    } else if (isAvailable(facts, oldPod)) {
      if (node.shouldRun) candidates.push(node.name)
      else unwanted.push(oldPod)
    } else if (node.shouldRun) broken.push(node.name)
    else deletes.push(oldPod)
  }
  // The last available pods of nodes that no longer qualify stay until others are available in their stead.
  const spare = Math.max(0, available - desiredDaemons(facts))
  const room = Math.max(0, maxSurge(facts) - surge)
  return {
    creates: [...broken, ...candidates.slice(0, room)],
    deletes: [...deletes, ...unwanted.slice(0, spare)],
  }
}

export function updateStep(facts: DaemonFacts): UpdateStep {
  if (facts.set.spec?.updateStrategy?.type === 'OnDelete') return { creates: [], deletes: [] }
  return maxSurge(facts) === 0 ? replaceInPlace(facts) : replaceBySurge(facts)
}
