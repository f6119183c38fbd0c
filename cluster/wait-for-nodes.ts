/** Waiting until nodes are Ready, by watching them. */
import { resourcesOf } from '../components/api/resources.ts'
import type { Client } from '../components/client/client.ts'
import type { KubeObject } from '../components/machinery/objects/object.ts'
import { nodeNames } from './plan/cluster-config.ts'
import type { NodeConfig } from './plan/cluster-config.ts'
import { ClusterError } from './cluster-error.ts'
import { lastLines, readableLine } from './log-tail.ts'
import { observe } from './observe.ts'
import type { Change } from './observe.ts'
import { logOf } from './state/state-dir.ts'
import type { StatePaths } from './state/state-dir.ts'

interface Condition {
  readonly type: string
  readonly status: string
  readonly message?: string
  readonly lastHeartbeatTime?: string
}

/** Conditions that nodes reported before their agents started do not count. */
export interface FreshStart {
  /** When the agents were started. */
  readonly startedMs: number
  /** Resolves when every agent has reported; heartbeats, which count in whole seconds, need not be looked at any more then. */
  readonly reported: Promise<void>
}

/** The node's Ready condition, if it has one yet. */
export function readyCondition(node: KubeObject): Condition | undefined {
  const status = node['status'] as { conditions?: readonly Condition[] } | undefined
  return status?.conditions?.find((condition) => condition.type === 'Ready')
}

/** Why a node does not count as Ready; undefined when it does. `sinceMs`: only a heartbeat from then on counts. */
export function whyNotReady(node: KubeObject | undefined, sinceMs: number): string | undefined {
  if (node === undefined) return 'has not registered'
  const condition = readyCondition(node)
  if (condition?.status !== 'True') {
    return condition?.message ? `is not Ready: ${condition.message}` : 'is not Ready'
  }
  const isOld = sinceMs > 0 && !(Date.parse(condition.lastHeartbeatTime ?? '') >= sinceMs)
  return isOld ? 'has not reported since this start' : undefined
}

/** Resolves when every node is Ready at once. Rejects with `signal.reason`. */
async function watchNodes(
  names: readonly string[],
  options: WaitForNodesOptions & { readonly missing: Map<string, string> },
): Promise<void> {
  const { client, missing, fresh } = options
  const wanted = new Set(names)
  const told = new Set<string>()
  let sinceMs = fresh?.startedMs ?? 0
  let seen: ReadonlyMap<string, KubeObject> | undefined
  const judge = (name: string, node: KubeObject | undefined): void => {
    const why = whyNotReady(node, sinceMs)
    if (why !== undefined) {
      missing.set(name, why)
      return
    }
    missing.delete(name)
    if (!told.has(name)) options.onReady?.(name)
    told.add(name)
  }
  const lookAtAll = (nodes: ReadonlyMap<string, KubeObject>): true | undefined => {
    seen = nodes
    for (const name of wanted) judge(name, nodes.get(name))
    return missing.size === 0 ? true : undefined
  }
  // An event costs nothing for the other nodes, of which there may be thousands.
  const look = (
    nodes: ReadonlyMap<string, KubeObject>,
    change: Change<KubeObject> | undefined,
  ): true | undefined => {
    if (change === undefined) return lookAtAll(nodes)
    const { name = '' } = change.object.metadata
    if (wanted.has(name)) judge(name, nodes.get(name))
    return missing.size === 0 ? true : undefined
  }
  const nodes = client.resource(resourcesOf(client.dialect).nodes)
  const watched = observe({ client: nodes, clock: client.clock, signal: options.signal }, look)
  const lookAgain = async (): Promise<true> => {
    await fresh?.reported
    sinceMs = 0
    return (seen !== undefined && lookAtAll(seen)) || (await watched)
  }
  await Promise.race(fresh === undefined ? [watched] : [watched, lookAgain()])
}

export interface WaitForNodesOptions {
  readonly client: Client
  readonly paths: StatePaths
  readonly nodes: readonly NodeConfig[]
  readonly waitMs: number
  readonly signal: AbortSignal
  /** Given when the nodes may be there from an earlier start. */
  readonly fresh?: FreshStart | undefined
  /** Hears the name of each Node the first time it is Ready. */
  readonly onReady?: ((name: string) => void) | undefined
}

/**
 * Resolves when all Node objects of these configurations are Ready. Rejects with a ClusterError of kind `timeout` that
 * names those that are not, each with its reason, and shows the last lines of the first one's log.
 */
export async function waitForNodes(options: WaitForNodesOptions): Promise<void> {
  const { nodes, waitMs, signal, client } = options
  const names = nodes.flatMap(nodeNames)
  if (names.length === 0) return
  const missing = new Map<string, string>()
  const end = new AbortController()
  const cancel = client.clock.after(waitMs, () => end.abort(lateNodes(options, missing)))
  try {
    const either = AbortSignal.any([end.signal, signal])
    await watchNodes(names, { ...options, missing, signal: either })
  } finally {
    cancel()
    end.abort(new Error('seen enough'))
  }
}

function lateNodes(
  { paths, nodes, waitMs }: WaitForNodesOptions,
  missing: ReadonlyMap<string, string>,
): ClusterError {
  const unseen = missing.size === 0 ? nodes.flatMap(nodeNames) : []
  const reasons = [
    ...[...missing].map(([name, why]) => `node ${name} ${why}`),
    ...unseen.map((name) => `node ${name} was not checked yet`),
  ]
  const shown = reasons.slice(0, 5)
  if (reasons.length > shown.length) shown.push(`and ${reasons.length - shown.length} more`)
  const [first = ''] = missing.keys()
  const culprit = nodes.find((node) => nodeNames(node).includes(first))
  const log = culprit === undefined ? [] : lastLines(logOf(paths, culprit.name), 10)
  return new ClusterError('timeout', `not all nodes were Ready after ${waitMs / 1000} s`, {
    details: [...shown, ...log.map((line) => readableLine(line))],
    hint: 'allow more time with --wait',
  })
}
