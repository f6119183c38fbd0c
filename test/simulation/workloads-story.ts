/** A story for simulations: a StatefulSet grows and shrinks in order, and a Job runs to its end. */
import type { KubernetesObject, SimulationContext, SimulationOptions } from '../../library/index.ts'

const container = { name: 'main', image: 'main:1' }

function podTemplate(app: string, spec: object) {
  return { metadata: { labels: { app } }, spec: { terminationGracePeriodSeconds: 5, ...spec } }
}

const database = (replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db' },
  spec: {
    replicas,
    serviceName: 'db',
    selector: { matchLabels: { app: 'db' } },
    template: podTemplate('db', { containers: [container] }),
  },
})

/** Its pods work for twenty seconds of the cluster's time. */
const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'count' },
  spec: {
    completions: 4,
    parallelism: 2,
    backoffLimit: 20,
    template: {
      metadata: { labels: { app: 'count' } },
      spec: { restartPolicy: 'Never', containers: [{ ...container, command: ['sleep', '20'] }] },
    },
  },
}

async function listed(
  { client, eventually }: Pick<SimulationContext, 'client' | 'eventually'>,
  kind: string,
  app?: string,
): Promise<KubernetesObject[]> {
  const labelSelector = app === undefined ? {} : { labelSelector: `app=${app}` }
  return await eventually(async () => await client.list({ kind, ...labelSelector }))
}

const namesOf = (objects: readonly KubernetesObject[]): string =>
  objects
    .map(({ metadata }) => metadata?.name ?? '')
    .toSorted()
    .join()

export const workloadsStory = {
  story: async (context) => {
    const { client, sleep, eventually } = context
    await eventually(async () => await client.apply(database(3)))
    await eventually(async () => await client.apply(job))
    await sleep('40s')
    await eventually(async () => await client.apply(database(5)))
    await sleep('40s')
    await eventually(async () => await client.apply(database(2)))
  },
  check: async (context) => {
    const pods = await listed(context, 'Pod', 'db')
    if (namesOf(pods) !== 'db-0,db-1') throw new Error(`the pods of db are ${namesOf(pods)}`)
    const [count] = await listed(context, 'Job')
    if (count?.['status'].succeeded !== 4)
      throw new Error(`of the Job, ${count?.['status'].succeeded} pods have succeeded, not 4`)
  },
} satisfies SimulationOptions
