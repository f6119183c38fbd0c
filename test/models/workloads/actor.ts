/** Does the steps of a workload story. What a user would be refused with is no failure; an invalid request is. */
import type { ResourceKey } from '../../../components/api/resources.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { Client } from '../../../components/client/client.ts'
import { ConnectionError } from '../../../components/client/connection-error.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { autoscaler, budget, daemonSet, deployment, job, quota, statefulSet } from './manifests.ts'
import type { Step } from './steps.ts'

const prefixes: Partial<Record<ResourceKey, string>> = {
  statefulSets: 'set',
  deployments: 'web',
  daemonSets: 'each',
  jobs: 'job',
}

/** No such object, one too many, no room for it, a budget in the way; or a server that is away or just back. */
function isRefusal(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.code !== 'untrusted'
  if (!(error instanceof StatusError)) return false
  return [403, 404, 409, 429].includes(error.code) || error.code >= 500
}

export interface Actor {
  /** Rejects when the server says that the request is wrong in itself. */
  act(step: Step): Promise<void>
}

export function createActor(client: Client, namespace: string): Actor {
  const resources = resourcesOf(client.dialect)
  const of = (key: ResourceKey) => client.resource(resources[key])
  const create = async (key: ResourceKey, object: KubeObject): Promise<void> => {
    await of(key).create(object)
  }
  const patch = async (key: ResourceKey, name: string, body: object): Promise<void> => {
    await of(key).patch({ namespace, name: `${prefixes[key]}-${name}` }, body, { type: 'merge' })
  }
  const evict = async ({ metadata: { name = '' } }: KubeObject): Promise<void> => {
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } }
    await of('pods').createSubresource({ namespace, name }, 'eviction', eviction)
  }
  const podAt = async (which: number): Promise<KubeObject | undefined> => {
    const { items } = await of('pods').list({ namespace })
    return items[which % Math.max(1, items.length)]
  }
  const nodeAt = async (which: number): Promise<string> => {
    const { items } = await of('nodes').list()
    return items[which % Math.max(1, items.length)]?.metadata.name ?? ''
  }
  const cordon = async (which: number, unschedulable: boolean): Promise<string> => {
    const name = await nodeAt(which)
    await of('nodes').patch({ name }, { spec: { unschedulable } }, { type: 'merge' })
    return name
  }
  const drain = async (which: number): Promise<void> => {
    const node = await cordon(which, true)
    const { items } = await of('pods').list({ namespace, fieldSelector: `spec.nodeName=${node}` })
    // As kubectl: all at once, each by itself.
    await Promise.all(items.map((pod) => tolerant(() => evict(pod))))
  }
  const roll = (key: ResourceKey, name: string, image: number): Promise<void> => {
    const containers = [{ name: 'main', image: `example.com/app:${image}` }]
    const body = { spec: { template: { spec: { containers } } } }
    const at = { namespace, name: `${prefixes[key]}-${name}` }
    return of(key)
      .patch(at, body, { type: 'strategic' })
      .then(() => {})
  }

  const make = (step: Step): Promise<void> | undefined => {
    switch (step.kind) {
      case 'create-set':
        return create('statefulSets', statefulSet({ namespace, name: step.name }, step))
      case 'create-deployment':
        return create('deployments', deployment({ namespace, name: step.name }, step.replicas))
      case 'create-daemon-set':
        return create('daemonSets', daemonSet({ namespace, name: step.name }))
      case 'create-job':
        return create('jobs', job({ namespace, name: step.name }, step))
      case 'create-budget': {
        const app = `${prefixes[step.of]}-${step.name}`
        const { minAvailable } = step
        const place = { namespace, name: step.name }
        return create('podDisruptionBudgets', budget(place, { app, minAvailable }))
      }
      case 'create-quota':
        return create('resourceQuotas', quota(namespace, step.pods))
      case 'create-autoscaler':
        return create('horizontalPodAutoscalers', autoscaler({ namespace, name: step.name }))
      default:
        return undefined
    }
  }
  const change = async (step: Step): Promise<void> => {
    switch (step.kind) {
      case 'scale':
        return patch(step.of, step.name, { spec: { replicas: step.replicas } })
      case 'roll':
        return roll(step.of, step.name, step.image)
      case 'suspend':
        return patch('jobs', step.name, { spec: { suspend: step.suspended } })
      case 'parallelize':
        return patch('jobs', step.name, { spec: { parallelism: step.parallelism } })
      case 'delete': {
        const at = { namespace, name: `${prefixes[step.of]}-${step.name}` }
        await of(step.of).delete(at, { propagationPolicy: step.propagation })
        return
      }
      case 'delete-budget':
        await of('podDisruptionBudgets').delete({ namespace, name: step.name })
        return
      case 'cordon':
        await cordon(step.which, step.cordoned)
        return
      case 'drain':
        return drain(step.which)
      case 'evict':
      case 'delete-pod': {
        const pod = await podAt(step.which)
        if (pod === undefined) return
        if (step.kind === 'evict') return evict(pod)
        await of('pods').delete({ namespace, name: pod.metadata.name ?? '' })
        return
      }
      default:
    }
  }
  return { act: (step) => tolerant(() => make(step) ?? change(step)) }
}

async function tolerant(attempt: () => Promise<void>): Promise<void> {
  try {
    await attempt()
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
}
