/** Pods and nodes for the scheduler's tests, with only what a test says. */
import type { Node, Pod, PodSpec, Taint } from '../../components/api/generated/types.ts'
import { dialects } from '../../components/api/dialect.ts'
import { createNodeFinder } from '../../components/scheduler/find-node.ts'
import { defaultPlugins } from '../../components/scheduler/plugins.ts'
import { Snapshot } from '../../components/scheduler/snapshot.ts'

export interface PodWishes extends Partial<PodSpec> {
  name?: string
  cpu?: string
  memory?: string
  hostPort?: number
}

let serial = 0

export function pod(wishes: PodWishes = {}): Pod {
  serial += 1
  const { name = `p${serial}`, cpu, memory, hostPort, ...spec } = wishes
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: {
      containers: [
        {
          name: 'main',
          image: 'app',
          resources: {
            requests: { ...(cpu ? { cpu } : {}), ...(memory ? { memory } : {}) },
          },
          ...(hostPort === undefined ? {} : { ports: [{ containerPort: hostPort, hostPort }] }),
        },
      ],
      ...spec,
    },
    status: {},
  } as Pod
}

export interface NodeWishes {
  cpu?: string
  memory?: string
  pods?: string
  labels?: Record<string, string>
  taints?: Taint[]
  unschedulable?: boolean
  allocatable?: Record<string, string>
}

export function node(name: string, wishes: NodeWishes = {}): Node {
  const { cpu = '4', memory = '8Gi', pods = '110', labels = {}, taints, unschedulable } = wishes
  return {
    metadata: { name, uid: `uid-${name}`, labels: { ...labels } },
    spec: { ...(taints ? { taints } : {}), ...(unschedulable ? { unschedulable } : {}) },
    status: { allocatable: { cpu, memory, pods, ...wishes.allocatable } },
  } as Node
}

/** A snapshot of these nodes, and the decision function of the default plugins over it. */
export function cluster(...nodes: Node[]) {
  const snapshot = new Snapshot()
  for (const each of nodes) snapshot.setNode(each)
  const plugins = defaultPlugins(dialects.kubernetes)
  return { snapshot, plugins, findNode: createNodeFinder({ plugins, snapshot }) }
}
