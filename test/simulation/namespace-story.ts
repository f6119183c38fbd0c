/** A story for simulations: a namespace with a quota, volumes, a CronJob and a Service is filled, and goes with all that is in it. */
import type { KubernetesObject, SimulationOptions } from '../../library/index.ts'

const namespace = 'team'
const container = {
  name: 'main',
  image: 'main:1',
  resources: { requests: { cpu: '100m', memory: '64Mi' } },
}

const template = (app: string, spec: object = {}) => ({
  metadata: { labels: { app } },
  spec: { terminationGracePeriodSeconds: 5, containers: [container], ...spec },
})

const objects: readonly KubernetesObject[] = [
  {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'room', namespace },
    spec: { hard: { pods: '9', 'requests.cpu': '2', persistentvolumeclaims: '3' } },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace },
    spec: { replicas: 4, selector: { matchLabels: { app: 'web' } }, template: template('web') },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace },
    spec: {
      replicas: 2,
      serviceName: 'db',
      selector: { matchLabels: { app: 'db' } },
      template: template('db'),
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    },
  },
  {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'each-minute', namespace },
    spec: {
      schedule: '* * * * *',
      jobTemplate: {
        spec: {
          template: template('each-minute', {
            restartPolicy: 'Never',
            containers: [{ ...container, command: ['sleep', '5'] }],
          }),
        },
      },
    },
  },
]

export const namespaceStory = {
  story: async ({ client, sleep, eventually }) => {
    const created = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }
    await eventually(async () => await client.apply(created))
    for (const object of objects) await eventually(async () => await client.apply(object))
    await sleep('3m')
    const [quota] = await eventually(
      async () => await client.list({ kind: 'ResourceQuota', namespace }),
    )
    if (Number(quota?.['status'].used?.pods ?? 0) > 9)
      throw new Error('more pods than the quota has')
    await eventually(async () => {
      await client.delete({ kind: 'Namespace', name: namespace }).catch(() => {})
      const left = (await client.list({ kind: 'Namespace' })).map(({ metadata }) => metadata?.name)
      if (left.includes(namespace)) throw new Error('it is still there')
    })
  },
  check: async ({ client, eventually }) => {
    for (const kind of ['Pod', 'PersistentVolumeClaim', 'Job', 'EndpointSlice']) {
      const left = await eventually(async () => await client.list({ kind, namespace }))
      if (left.length > 0) throw new Error(`${left.length} of kind ${kind} are left`)
    }
    const volumes = await eventually(async () => await client.list({ kind: 'PersistentVolume' }))
    if (volumes.length > 0) throw new Error(`${volumes.length} volumes are left`)
  },
} satisfies SimulationOptions
