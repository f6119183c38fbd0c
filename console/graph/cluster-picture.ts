/** Cluster picture: the parts of the control plane, the nodes, and their pods by owner, as data for a diagram. */
import type { Node, Pod } from '../../components/api/generated/types.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { ComponentState } from '../../cluster/control-protocol.ts'
import type { Health } from '../family/object-state.ts'
import type { SlimNode, SlimPod } from '../protocol/live.ts'
import { readRows } from '../slim/read-rows.ts'
import { slimNode } from '../slim/slim-node.ts'
import { slimPod } from '../slim/slim-pod.ts'
import type { Target } from '../../cluster/cli/target.ts'

/** As many nodes, and owners on a node, as are drawn. */
const mostNodes = 200
const mostOwners = 12

export interface PicturePart {
  readonly name: string
  readonly text: string
  readonly health: Health
}

export interface PictureNode {
  readonly name: string
  readonly text: string
  readonly health: Health
  /** Pods by owner: `ReplicaSet shop/web-5d4 ×3`. */
  readonly pods: readonly PicturePart[]
}

export interface ClusterPicture {
  readonly title: string
  readonly parts: readonly PicturePart[]
  /** Sorted by name; pods that have no node are below one without a name. */
  readonly nodes: readonly PictureNode[]
  /** What a limit left out. */
  readonly leftOut: readonly string[]
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const componentHealth = (state: ComponentState): Health =>
  state === 'ready' ? 'good' : state === 'stuck' || state === 'failed' ? 'bad' : 'waiting'

/** Of a cluster of this machine its processes, but for node agents; of any other, its address alone. */
async function partsOf({ client, cluster }: Target): Promise<PicturePart[]> {
  if (cluster === undefined) {
    return [{ name: 'API server', text: client.rest.server, health: 'good' }]
  }
  const { components } = await cluster.control.call('status', {})
  return components
    .filter(({ program }) => program !== 'node-agent')
    .map(({ name, state }) => ({ name, text: state, health: componentHealth(state) }))
    .toSorted((a, b) => byText(a.name, b.name))
}

export function nodeHealth({ ready, trouble, unschedulable }: SlimNode): Health {
  if (ready !== 'True' || trouble.length > 0) return 'bad'
  return unschedulable ? 'waiting' : 'good'
}

export function nodeText({ ready, trouble, unschedulable }: SlimNode): string {
  const state = ready === 'True' ? 'Ready' : ready === 'False' ? 'NotReady' : 'Unknown'
  return [state, ...trouble, ...(unschedulable ? ['SchedulingDisabled'] : [])].join(', ')
}

const waitingStatuses = new Set(['Pending', 'ContainerCreating', 'Running', 'Terminating', ''])

export function podHealth({ ready, status }: SlimPod): Health {
  if (ready || status === 'Completed' || status === 'Succeeded') return 'good'
  return waitingStatuses.has(status) || status.startsWith('Init:') ? 'waiting' : 'bad'
}

const order: readonly Health[] = ['unknown', 'good', 'waiting', 'bad']

function worst(all: readonly Health[]): Health {
  return all.reduce((a, b) => (order.indexOf(b) > order.indexOf(a) ? b : a), 'unknown')
}

/** `Running`, or `2 Running, 1 Pending`. */
function statusText(pods: readonly SlimPod[]): string {
  const counts = new Map<string, number>()
  for (const { status } of pods) counts.set(status, (counts.get(status) ?? 0) + 1)
  const sorted = [...counts].toSorted(([a], [b]) => byText(a, b))
  if (sorted.length === 1) return sorted[0]?.[0] ?? ''
  return sorted.map(([status, count]) => `${count} ${status}`).join(', ')
}

function ownerOf({ key, owner }: SlimPod): string {
  if (owner === undefined) return `Pod ${key}`
  const [namespace = ''] = key.split('/')
  const [kind = '', name = ''] = owner.split('/')
  return `${kind} ${namespace}/${name}`
}

function podsByOwner(pods: readonly SlimPod[]): PicturePart[] {
  const groups = Map.groupBy(pods, ownerOf)
  const parts = [...groups].map(([owner, group]) => ({
    name: group.length === 1 ? owner : `${owner} ×${group.length}`,
    text: statusText(group),
    health: worst(group.map(podHealth)),
  }))
  const sorted = parts.toSorted((a, b) => byText(a.name, b.name))
  if (sorted.length <= mostOwners) return sorted
  const more = sorted.slice(mostOwners)
  const rest = {
    name: `${more.length} more owners`,
    text: '',
    health: worst(more.map((one) => one.health)),
  }
  return [...sorted.slice(0, mostOwners), rest]
}

/** Pure: rows as a picture. */
export function pictureOf(
  title: string,
  of: {
    readonly parts: readonly PicturePart[]
    readonly nodes: readonly SlimNode[]
    readonly pods: readonly SlimPod[]
  },
): ClusterPicture {
  const byNode = Map.groupBy(of.pods, ({ node }) => node)
  const sorted = of.nodes.toSorted((a, b) => byText(a.name, b.name))
  const nodes = sorted.slice(0, mostNodes).map((node) => ({
    name: node.name,
    text: nodeText(node),
    health: nodeHealth(node),
    pods: podsByOwner(byNode.get(node.name) ?? []),
  }))
  const unbound = podsByOwner(byNode.get('') ?? [])
  const more = sorted.length - nodes.length
  return {
    title,
    parts: of.parts,
    nodes: [
      ...nodes,
      ...(unbound.length === 0
        ? []
        : [{ name: '', text: 'pods without a node', health: 'waiting' as const, pods: unbound }]),
    ],
    leftOut: more > 0 ? [`${more} more nodes are not drawn`] : [],
  }
}

export async function readPicture(target: Target): Promise<ClusterPicture> {
  const { client, title } = target
  const resources = resourcesOf(client.dialect)
  const [parts, nodes, pods] = await Promise.all([
    partsOf(target),
    readRows(client.resource<Node>(resources.nodes), slimNode),
    readRows(client.resource<Pod>(resources.pods), slimPod),
  ])
  const picture = pictureOf(title, { parts, nodes: nodes.rows, pods: pods.rows })
  const cut = pods.isCut ? ['pods beyond the first 100,000 are not drawn'] : []
  return { ...picture, leftOut: [...picture.leftOut, ...cut] }
}
