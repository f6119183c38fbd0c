/** Registration: the agent's Node object, made if it is not there, brought up to date if it is. */
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { Node, NodeStatus, Taint } from '../../api/generated/types.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { backoffDelay } from '../../component-base/backoff.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { HostInfo } from './host-info.ts'

export interface Registration {
  readonly nodeName: string
  /** Given by flags; topology and instance type are known only from here. */
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  readonly isUnschedulable: boolean
  readonly providerId: string | undefined
}

/** The labels every node has, with those of the flags. */
export function nodeLabels(
  dialect: Dialect,
  host: HostInfo,
  registration: Pick<Registration, 'labels' | 'nodeName'>,
): Record<string, string> {
  const key = (name: string): string => labelKey(dialect, '', name)
  const beta = (name: string): string => labelKey(dialect, 'beta', name)
  return {
    [beta('arch')]: host.architecture,
    [beta('os')]: host.operatingSystem,
    [key('arch')]: host.architecture,
    [key('hostname')]: registration.nodeName,
    [key('os')]: host.operatingSystem,
    ...registration.labels,
  }
}

/** `key=value:Effect` or `key:Effect`. Throws an Error for the operator. */
export function parseTaint(text: string): Taint {
  const match = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text)
  const [, key, value, effect] = match ?? []
  if (key === undefined || effect === undefined) {
    throw new Error(
      `invalid taint "${text}": want key=value:Effect with NoSchedule, PreferNoSchedule or NoExecute`,
    )
  }
  return { key, ...(value ? { value } : {}), effect }
}

function newNode(labels: Record<string, string>, status: NodeStatus, wanted: Registration): Node {
  const { nodeName, taints, isUnschedulable, providerId } = wanted
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: nodeName, labels },
    spec: {
      ...(taints.length === 0 ? {} : { taints: [...taints] }),
      ...(isUnschedulable ? { unschedulable: true } : {}),
      ...(providerId === undefined ? {} : { providerID: providerId }),
    },
    status,
  }
}

/** Labels that an existing node lacks or has otherwise; undefined when all are right. */
function labelChanges(
  node: Node,
  labels: Readonly<Record<string, string>>,
): Record<string, string> | undefined {
  const wrong = Object.entries(labels).filter(
    ([key, value]) => node.metadata.labels?.[key] !== value,
  )
  return wrong.length === 0 ? undefined : Object.fromEntries(wrong)
}

const retryBackoff = { initialMs: 100, maxMs: 7000 }

/** A Node that is there. */
export interface Registered {
  readonly node: Node
  /** It was created with the status of the options. */
  readonly isNew: boolean
}

/**
 * Creates the Node, or mends the labels of the one that is there (its taints and the rest are others' to change). Tries
 * until it works or the signal aborts.
 */
export async function registerNode(
  options: {
    nodes: ResourceClient<Node>
    registration: Registration
    labels: Record<string, string>
    status: () => NodeStatus
    clock: Clock
    log: Log
  },
  signal: AbortSignal,
): Promise<Registered> {
  const { nodes, registration, labels, clock, log } = options
  const ref = { name: registration.nodeName }

  const attempt = async (): Promise<Registered> => {
    try {
      const node = await nodes.create(newNode(labels, options.status(), registration), { signal })
      log.info('node registered')
      return { node, isNew: true }
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) throw error
    }
    const existing = await nodes.get(ref, { signal })
    const changes = labelChanges(existing, labels)
    if (changes === undefined) {
      log.info('node was registered before')
      return { node: existing, isNew: false }
    }
    log.info('node was registered before; its labels are brought up to date', { labels: changes })
    const patch = { metadata: { labels: changes } }
    return { node: await nodes.patch(ref, patch, { type: 'merge', signal }), isNew: false }
  }

  for (let tries = 0; ; tries++) {
    try {
      return await attempt()
    } catch (error) {
      signal.throwIfAborted()
      const retryMs = backoffDelay(retryBackoff, tries)
      log.warn('registering the node failed', { retryMs, error: String(error) })
      await clock.sleep(retryMs, signal)
    }
  }
}
