/** A story for simulations: owners go with their dependents, before them, and without them, of built-in kinds and of a custom one. */
import type { KubernetesObject, SimulationContext, SimulationOptions } from '../../library/index.ts'

const definition: KubernetesObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'teams.example.com' },
  spec: {
    group: 'example.com',
    names: { kind: 'Team', plural: 'teams', singular: 'team' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
}

const team: KubernetesObject = {
  apiVersion: 'example.com/v1',
  kind: 'Team',
  metadata: { name: 'team' },
}

const deployment = (name: string): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { terminationGracePeriodSeconds: 5, containers: [{ name: 'main', image: 'main:1' }] },
    },
  },
})

/** Its owner waits for it when it goes in the foreground. */
const configMap = (name: string, owner: KubernetesObject): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name,
    ownerReferences: [
      {
        apiVersion: owner.apiVersion ?? '',
        kind: owner.kind ?? '',
        name: owner.metadata?.name ?? '',
        uid: owner.metadata?.uid ?? '',
        blockOwnerDeletion: true,
      },
    ],
  },
})

type Going = Pick<SimulationContext, 'client' | 'eventually'>
type Policy = 'Orphan' | 'Background' | 'Foreground'

async function goes({ client, eventually }: Going, object: KubernetesObject, policy: Policy) {
  const { apiVersion = '', kind = '', metadata } = object
  const name = metadata?.name ?? ''
  await eventually(async () => {
    await client.delete({ apiVersion, kind, name }, { propagationPolicy: policy }).catch(() => {})
    const left = await client.list({ apiVersion, kind })
    if (left.some((one) => one.metadata?.name === name)) throw new Error('it is still there')
  })
}

export const ownersStory = {
  story: async (context) => {
    const { client, sleep, eventually } = context
    const applied = async (object: KubernetesObject): Promise<KubernetesObject> =>
      await eventually(async () => await client.apply(object))
    await applied(definition)
    const owner = await applied(team)
    const first = await applied(configMap('first', owner))
    const second = await applied(configMap('second', first))
    await applied(configMap('third', second))
    for (const name of ['kept', 'gone']) await applied(deployment(name))
    await sleep('40s')
    await goes(context, deployment('kept'), 'Orphan')
    await goes(context, deployment('gone'), 'Foreground')
    await sleep('10s')
    await goes(context, team, 'Foreground')
    await applied(deployment('kept'))
  },
  check: async ({ client, eventually }) => {
    const list = async (kind: string): Promise<KubernetesObject[]> =>
      await eventually(async () => await client.list({ kind }))
    const maps = (await list('ConfigMap')).filter(({ metadata }) => metadata?.ownerReferences)
    if (maps.length > 0) throw new Error(`${maps.length} ConfigMaps are left`)
    const sets = await list('ReplicaSet')
    const [kept] = await list('Deployment')
    const owners = sets.map(({ metadata }) => metadata?.ownerReferences?.[0]?.uid)
    if (owners.join() !== kept?.metadata?.uid)
      throw new Error(`${sets.length} ReplicaSets, of ${owners.join()}, not ${kept?.metadata?.uid}`)
    const pods = await list('Pod')
    if (pods.length !== 2) throw new Error(`${pods.length} pods, not 2`)
  },
} satisfies SimulationOptions
