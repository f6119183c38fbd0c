/** A story for simulations: pods of a higher priority take the places of others, which come back when these go. */
import type { KubernetesObject, SimulationOptions } from '../../library/index.ts'

const priorityClass = (name: string, value: number): KubernetesObject => ({
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  metadata: { name },
  value,
})

/** Two of its pods fill a node of four CPUs, with what the node keeps for itself. */
const deployment = (name: string, replicas: number): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        priorityClassName: name,
        terminationGracePeriodSeconds: 5,
        containers: [{ name: 'main', image: 'main:1', resources: { requests: { cpu: '1800m' } } }],
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'ScheduleAnyway',
            labelSelector: { matchLabels: { app: name } },
          },
        ],
      },
    },
  },
})

export const priorityStory = {
  nodes: 3,
  story: async ({ client, sleep, eventually }) => {
    const apply = async (object: KubernetesObject): Promise<unknown> =>
      await eventually(async () => await client.apply(object))
    await apply(priorityClass('low', 1))
    await apply(priorityClass('high', 1000))
    await apply(deployment('low', 6))
    await sleep('30s')
    await apply(deployment('high', 3))
    await sleep('1m')
    await apply(deployment('high', 1))
    await sleep('30s')
    await apply(deployment('high', 4))
  },
  check: async ({ client, eventually }) => {
    const running = async (app: string): Promise<number> => {
      const labelSelector = `app=${app}`
      const pods = await eventually(async () => await client.list({ kind: 'Pod', labelSelector }))
      return pods.filter(({ status }) => status.phase === 'Running').length
    }
    const [high, low] = [await running('high'), await running('low')]
    if (high !== 4 || low !== 2) throw new Error(`${high} high and ${low} low run, not 4 and 2`)
  },
} satisfies SimulationOptions
