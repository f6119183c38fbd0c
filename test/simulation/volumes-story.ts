/** A story for simulations: the claims of a StatefulSet grow and go with their pods, a volume made beforehand is kept for its claim, and one of a class waits for its pod. */
import type { KubernetesObject, SimulationOptions } from '../../library/index.ts'

const storageClass: KubernetesObject = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'late' },
  provisioner: 'skiff.dev/simulated',
  volumeBindingMode: 'WaitForFirstConsumer',
  allowVolumeExpansion: true,
}

const size = (storage: string) => ({ resources: { requests: { storage } } })
const accessModes = ['ReadWriteOnce']

const madeBefore: readonly KubernetesObject[] = [
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'before' },
    spec: {
      capacity: { storage: '5Gi' },
      accessModes,
      storageClassName: 'by-hand',
      persistentVolumeReclaimPolicy: 'Retain',
      hostPath: { path: '/data' },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'before' },
    spec: { accessModes, storageClassName: 'by-hand', ...size('2Gi') },
  },
]

const database = (replicas: number): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db' },
  spec: {
    replicas,
    serviceName: 'db',
    podManagementPolicy: 'Parallel',
    persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete', whenDeleted: 'Retain' },
    selector: { matchLabels: { app: 'db' } },
    template: {
      metadata: { labels: { app: 'db' } },
      spec: {
        terminationGracePeriodSeconds: 5,
        containers: [
          {
            name: 'main',
            image: 'main:1',
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          },
        ],
      },
    },
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: { accessModes, storageClassName: 'late', ...size('1Gi') },
      },
    ],
  },
})

export const volumesStory = {
  story: async ({ client, sleep, eventually }) => {
    const apply = async (object: KubernetesObject): Promise<unknown> =>
      await eventually(async () => await client.apply(object))
    await apply(storageClass)
    for (const object of madeBefore) await apply(object)
    await apply(database(3))
    await sleep('40s')
    await eventually(
      async () =>
        await client.patch(
          { kind: 'PersistentVolumeClaim', name: 'data-db-0' },
          { spec: size('3Gi') },
          { type: 'merge' },
        ),
    )
    await apply(database(1))
    await sleep('40s')
    await apply(database(2))
    await eventually(async () => {
      const [set] = await client.list({ kind: 'StatefulSet' })
      const { observedGeneration, replicas, readyReplicas } = set?.['status'] ?? {}
      const isSeen = observedGeneration === set?.metadata?.generation
      if (!isSeen || replicas !== 2 || readyReplicas !== 2)
        throw new Error('its two pods are not ready yet')
    })
    await eventually(async () => {
      await client.delete({ kind: 'StatefulSet', name: 'db' }).catch(() => {})
      const left = await client.list({ kind: 'StatefulSet' })
      if (left.length > 0) throw new Error('it is still there')
    })
  },
  check: async ({ client, eventually }) => {
    const list = async (kind: string): Promise<KubernetesObject[]> =>
      await eventually(async () => await client.list({ kind }))
    const claims = (await list('PersistentVolumeClaim')).map(
      ({ metadata, status }) =>
        `${metadata?.name} ${status.phase} ${status.capacity?.storage ?? '-'}`,
    )
    if (claims.toSorted().join() !== 'before Bound 5Gi,data-db-0 Bound 3Gi,data-db-1 Bound 1Gi')
      throw new Error(`the claims are ${claims.toSorted().join()}`)
    const volumes = (await list('PersistentVolume')).map(({ status }) => status.phase)
    if (volumes.join() !== 'Bound,Bound,Bound') throw new Error(`volumes are ${volumes.join()}`)
    const pods = await list('Pod')
    if (pods.length > 0) throw new Error(`${pods.length} pods are left`)
    const attachments = await list('VolumeAttachment')
    if (attachments.length > 0) throw new Error(`${attachments.length} attachments are left`)
  },
} satisfies SimulationOptions
