/** Waiting until nodes are Ready, by watching them. */
import { join } from 'node:path'
import { resourcesOf } from '../components/api/resources.ts'
import type { Client } from '../components/client/client.ts'
import type { KubeObject } from '../components/machinery/object.ts'
import { nodeNames } from './cluster-config.ts'
import type { NodeConfig } from './cluster-config.ts'
import { ClusterError } from './cluster-error.ts'
import { lastLines, readableLine } from './log-tail.ts'
import { observe } from './observe.ts'
import type { StatePaths } from './state-dir.ts'

interface Condition {
  readonly type: string
  readonly status: string
  readonly message?: string
}

/** The node's Ready condition, if it has one yet. */
export function readyCondition(node: KubeObject): Condition | undefined {
  const status = node['status'] as { conditions?: readonly Condition[] } | undefined
  return status?.conditions?.find((condition) => condition.type === 'Ready')
}

/** Resolves when every node is Ready at once. Rejects with `signal.reason`. */
async function watchNodes(
  names: readonly string[],
  options: WaitForNodesOptions & { readonly missing: Map<string, string> },
): Promise<void> {
  const { client, missing } = options
  const told = new Set<string>()
  const look = (nodes: ReadonlyMap<string, KubeObject>): true | undefined => {
    missing.clear()
    for (const name of names) {
      const node = nodes.get(name)
      const condition = node === undefined ? undefined : readyCondition(node)
      if (condition?.status === 'True') {
        if (!told.has(name)) options.onReady?.(name)
        told.add(name)
      } else {
        const why = node === undefined ? 'has not registered' : 'is not Ready'
        missing.set(name, condition?.message ? `${why}: ${condition.message}` : why)
      }
    }
    return missing.size === 0 ? true : undefined
  }
  const nodes = client.resource(resourcesOf(client.dialect).nodes)
  await observe({ client: nodes, clock: client.clock, signal: options.signal }, look)
}

export interface WaitForNodesOptions {
  readonly client: Client
  readonly paths: StatePaths
  readonly nodes: readonly NodeConfig[]
  readonly waitMs: number
  readonly signal: AbortSignal
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
  }
}

function lateNodes(
  { paths, nodes, waitMs }: WaitForNodesOptions,
  missing: ReadonlyMap<string, string>,
): ClusterError {
  const reasons = [...missing].map(([name, why]) => `node ${name} ${why}`)
  const shown = reasons.slice(0, 5)
  if (reasons.length > shown.length) shown.push(`and ${reasons.length - shown.length} more`)
  const [first = ''] = missing.keys()
  const culprit = nodes.find((node) => nodeNames(node).includes(first))
  const log = culprit === undefined ? [] : lastLines(join(paths.logs, `${culprit.name}.log`), 10)
  return new ClusterError('timeout', `not all nodes were Ready after ${waitMs / 1000} s`, {
    details: [...shown, ...log.map((line) => readableLine(line))],
  })
}
