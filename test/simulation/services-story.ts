/** A story for simulations: a Service follows its pods and a DaemonSet its nodes, while a node is drained under a budget. */
import type { KubernetesObject, SimulationContext, SimulationOptions } from '../../library/index.ts'

const template = (app: string, spec: object = {}) => ({
  metadata: { labels: { app } },
  spec: {
    terminationGracePeriodSeconds: 5,
    containers: [{ name: 'main', image: 'main:1' }],
    ...spec,
  },
})

const objects: readonly KubernetesObject[] = [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: { replicas: 4, selector: { matchLabels: { app: 'web' } }, template: template('web') },
  },
  {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'web' },
    spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'web' } } },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'each' },
    spec: { selector: { matchLabels: { app: 'each' } }, template: template('each') },
  },
]

type Drained = Pick<SimulationContext, 'client' | 'eventually'>

/** As `kubectl drain`: no new pods, and those of the Deployment are evicted until none is there. */
async function drain({ client, eventually }: Drained, name: string): Promise<void> {
  const type = 'merge'
  const cordon = { spec: { unschedulable: true } }
  await eventually(async () => await client.patch({ kind: 'Node', name }, cordon, { type }))
  await eventually(async () => {
    const pods = await client.list({ kind: 'Pod', labelSelector: 'app=web' })
    const here = pods.filter(({ spec }) => spec.nodeName === name)
    for (const pod of here) {
      const { namespace = '', name: podName = '' } = pod.metadata ?? {}
      const eviction = {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: podName, namespace },
      }
      const path = `/api/v1/namespaces/${namespace}/pods/${podName}/eviction`
      await client.request({ method: 'POST', path, body: eviction })
    }
    if (here.length > 0) throw new Error(`${here.length} pods are still there`)
  })
}

export const servicesStory = {
  nodes: 3,
  story: async (context) => {
    const { client, node, addNode, sleep, eventually } = context
    for (const object of objects) await eventually(async () => await client.apply(object))
    await sleep('30s')
    await addNode({ name: 'node-4' })
    await drain(context, 'node-1')
    await eventually(async () => await node('node-1').remove())
    await sleep('30s')
  },
  check: async ({ client, eventually }) => {
    const list = async (kind: string, labelSelector?: string): Promise<KubernetesObject[]> =>
      await eventually(
        async () =>
          await client.list({ kind, ...(labelSelector === undefined ? {} : { labelSelector }) }),
      )
    const web = await list('Pod', 'app=web')
    const ips = web.map(({ status }) => status.podIP as string).toSorted()
    const slices = await list('EndpointSlice', 'kubernetes.io/service-name=web')
    const endpoints = slices
      .flatMap((slice) => slice['endpoints'] ?? [])
      .filter(({ conditions }) => conditions.ready)
      .flatMap(({ addresses }) => addresses as string[])
      .toSorted()
    if (ips.length !== 4 || ips.join() !== endpoints.join())
      throw new Error(`the pods have ${ips.join()}, the Service has ${endpoints.join()}`)
    const each = await list('Pod', 'app=each')
    const on = each.map(({ spec }) => spec.nodeName as string).toSorted()
    if (on.join() !== 'node-2,node-3,node-4') throw new Error(`the DaemonSet is on ${on.join()}`)
  },
} satisfies SimulationOptions
