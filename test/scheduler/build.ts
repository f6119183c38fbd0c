/** Pods and nodes for the scheduler's tests, with only what a test says. */
import type { Node, Pod, PodSpec, Taint } from '../../components/api/generated/types.ts'
import { dialects } from '../../components/api/dialect.ts'
import type { Informer } from '../../components/client/informer.ts'
import { silentLog } from '../../components/component-base/log.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { keyOf } from '../../components/machinery/objects/object.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { Extender } from '../../components/scheduler/extender.ts'
import { NodeFinder } from '../../components/scheduler/find-node.ts'
import type { Decision } from '../../components/scheduler/find-node.ts'
import type { Handle, PostFilterResult } from '../../components/scheduler/plugin.ts'
import type { PodInfo } from '../../components/scheduler/pod-info.ts'
import type { ProfileSettings } from '../../components/scheduler/profile.ts'
import { createProfile, defaultProfile } from '../../components/scheduler/profile.ts'
import { Snapshot } from '../../components/scheduler/snapshot.ts'
import { FakeCluster } from '../support/fake-client.ts'
import { FakeClock } from '../support/fake-clock.ts'

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

/** Caches that hold just these objects, by the plural of their resource. */
export function fakeInformers(objects: Readonly<Record<string, readonly KubeObject[]>>) {
  return {
    informer<T extends KubeObject>(resource: Resource): Informer<T> {
      const list = (): readonly T[] => (objects[resource.plural] ?? []) as readonly T[]
      const indexes = new Map<string, (object: T) => readonly string[]>()
      return {
        resource,
        run: async () => {},
        ready: Promise.resolve(),
        get: (key) => list().find((object) => keyOf(object) === key),
        list,
        byIndex: (name, value) =>
          list().filter((object) => indexes.get(name)?.(object).includes(value)),
        addIndex: (name, valuesOf) => indexes.set(name, valuesOf),
        onEvent: () => {},
      }
    },
  }
}

/** What plugins are made with; they see just these other objects. */
export function handleFor(
  snapshot: Snapshot,
  objects: Readonly<Record<string, readonly KubeObject[]>> = {},
  extenders: readonly Extender[] = [],
): Handle {
  const clock = new FakeClock()
  return {
    dialect: dialects.kubernetes,
    client: new FakeCluster(clock).client(),
    informers: fakeInformers(objects),
    namespaces: snapshot,
    extenders,
    clock,
    log: silentLog,
  }
}

/** A snapshot of these nodes, and the decisions of a profile over it. */
export function clusterWith(
  {
    objects,
    extenders,
    ...settings
  }: Partial<ProfileSettings> & {
    objects?: Readonly<Record<string, readonly KubeObject[]>>
    extenders?: readonly Extender[]
  },
  ...nodes: Node[]
) {
  const snapshot = new Snapshot()
  for (const each of nodes) snapshot.setNode(each)
  const profile = createProfile(
    { ...defaultProfile('default-scheduler'), ...settings },
    handleFor(snapshot, objects, extenders),
  )
  const finder = new NodeFinder(snapshot)
  const findNode = (info: PodInfo): Decision => finder.find(profile, info)
  /** What the post-filters make of a pod that fits nowhere. */
  const postFilter = async (pod: PodInfo): Promise<PostFilterResult> => {
    const decision = findNode(pod)
    if (decision.ok) throw new Error(`it fits on ${decision.node.name}`)
    const [plugin] = profile.postFilters
    if (plugin === undefined) throw new Error('the profile has no post-filter')
    const { diagnosis } = decision
    const result = await plugin.postFilter({ pod, snapshot, filters: profile.filters, diagnosis })
    if (result === undefined) throw new Error(`${plugin.name} has nothing to do with the pod`)
    return result
  }
  return { snapshot, profile, finder, findNode, postFilter }
}

/** As clusterWith, with upstream's default profile. */
export function cluster(...nodes: Node[]) {
  return clusterWith({}, ...nodes)
}
