/** kubectl on volumes: a Deployment with a claim on the default class, its expansion, and deletion while it is in use. */
import { beforeAll, describe, expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { kubectlFor, requireKubectl, tableOf } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path, test } = requireKubectl()

const labels = { app: 'db' }
const objects = [
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'db' },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            { name: 'main', image: 'db:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] },
          ],
          volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
        },
      },
    },
  },
]

describe('volumes', () => {
  let kubectl: Kubectl

  beforeAll(async () => {
    kubectl = await kubectlFor(await sharedCluster(), { path, namespace: 'volumes' })
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
    await kubectl.withInput(input).ok`apply -f -`
    await kubectl.ok`rollout status deployment/db --timeout=60s`
  })

  const field = async (name: string, template: string) =>
    await kubectl.ok`get ${name} -o jsonpath=${template}`

  test('get shows the claim, its volume and the default class', async () => {
    const [claim] = tableOf(await kubectl.ok`get pvc`)
    const volume = await field('pvc/data', '{.spec.volumeName}')
    expect(volume).toBe(`pvc-${await field('pvc/data', '{.metadata.uid}')}`)
    expect(claim).toMatchObject({
      NAME: 'data',
      STATUS: 'Bound',
      VOLUME: volume,
      CAPACITY: '1Gi',
      'ACCESS MODES': 'RWO',
      STORAGECLASS: 'standard',
    })
    const [shown] = tableOf(await kubectl.ok`get pv ${volume}`)
    expect(shown).toMatchObject({
      NAME: volume,
      CAPACITY: '1Gi',
      'RECLAIM POLICY': 'Delete',
      STATUS: 'Bound',
      CLAIM: 'volumes/data',
    })
    const [standard] = tableOf(await kubectl.ok`get sc standard`)
    expect(standard).toMatchObject({
      NAME: 'standard (default)',
      PROVISIONER: 'skiff.dev/simulated',
      RECLAIMPOLICY: 'Delete',
      VOLUMEBINDINGMODE: 'Immediate',
      ALLOWVOLUMEEXPANSION: 'true',
    })
  })

  test('describe tells how the volume came, and who uses it', async () => {
    await eventually(async () => {
      const text = await kubectl.ok`describe pvc data`
      expect(text).toMatch(/Used By: +db-/)
      expect(text).toMatch(/Normal +ProvisioningSucceeded .+Successfully provisioned volume pvc-/)
      expect(text).toMatch(/Normal +ExternalProvisioning .+persistentvolume-controller/)
    })
  })

  test('a larger request expands claim and volume', async () => {
    const patch = JSON.stringify({ spec: { resources: { requests: { storage: '2Gi' } } } })
    await kubectl.ok`patch pvc data -p ${patch}`
    await kubectl.ok`wait pvc/data --for=jsonpath={.status.capacity.storage}=2Gi --timeout=30s`
    const volume = await field('pvc/data', '{.spec.volumeName}')
    expect(await field(`pv/${volume}`, '{.spec.capacity.storage}')).toBe('2Gi')
  })

  test('a claim whose provisioner fails stays Pending and says why', async () => {
    const [claim] = objects
    const failing = {
      ...claim,
      metadata: { name: 'failing', annotations: { 'skiff.dev/provision': 'fail' } },
    }
    await kubectl.withInput(JSON.stringify(failing)).ok`create -f -`
    await eventually(async () => {
      expect(await kubectl.ok`describe pvc failing`).toMatch(
        /Warning +ProvisioningFailed .+failed to provision volume with StorageClass "standard": simulated fault/,
      )
    })
    expect(await field('pvc/failing', '{.status.phase}')).toBe('Pending')
    await kubectl.ok`delete pvc failing --timeout=30s`
  })

  test('a pod whose claim is missing waits, and says so', async () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'early' },
      spec: {
        containers: [{ name: 'main', image: 'db:1' }],
        volumes: [{ name: 'data', configMap: { name: 'later' } }],
      },
    }
    await kubectl.withInput(JSON.stringify(pod)).ok`create -f -`
    await eventually(async () => {
      expect(await kubectl.ok`describe pod early`).toMatch(
        /Warning +FailedMount .+MountVolume.SetUp failed for volume "data" : configmap "later" not found/,
      )
    })
    await kubectl.ok`create configmap later --from-literal=a=b`
    await kubectl.ok`wait pod/early --for=condition=Ready --timeout=60s`
  })

  test('a claim of a class that waits is bound where its first pod goes, and an ephemeral one with its pod', async () => {
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
    const waiting = [
      {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: { name: 'local' },
        provisioner: 'skiff.dev/simulated',
        parameters: { topologyKeys: 'kubernetes.io/hostname' },
        volumeBindingMode: 'WaitForFirstConsumer',
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'late' },
        spec: { ...spec, storageClassName: 'local' },
      },
    ]
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: waiting })
    await kubectl.withInput(input).ok`create -f -`
    await eventually(async () => {
      expect(await kubectl.ok`describe pvc late`).toMatch(
        /Normal +WaitForFirstConsumer .+waiting for first consumer to be created before binding/,
      )
    })
    const volumeClaimTemplate = { spec: { ...spec, storageClassName: 'local' } }
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'first' },
      spec: {
        containers: [{ name: 'main', image: 'db:1' }],
        volumes: [
          { name: 'data', persistentVolumeClaim: { claimName: 'late' } },
          { name: 'scratch', ephemeral: { volumeClaimTemplate } },
        ],
      },
    }
    await kubectl.withInput(JSON.stringify(pod)).ok`create -f -`
    await kubectl.ok`wait pod/first --for=condition=Ready --timeout=60s`
    const node = await field('pod/first', '{.spec.nodeName}')
    const volume = await field('pvc/late', '{.spec.volumeName}')
    expect(
      await field(
        `pv/${volume}`,
        '{.spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values}',
      ),
    ).toBe(JSON.stringify([node]))
    expect(await field('pvc/first-scratch', '{.status.phase}')).toBe('Bound')
    await kubectl.ok`delete pod first`
    await kubectl.ok`wait pvc/first-scratch --for=delete --timeout=60s`
    await kubectl.ok`delete pvc/late sc/local --timeout=30s`
  })

  test('a claim in use is Terminating until its last pod is gone, and its volume goes with it', async () => {
    const volume = await field('pvc/data', '{.spec.volumeName}')
    await kubectl.ok`delete pvc data --wait=false`
    expect(tableOf(await kubectl.ok`get pvc data`)[0]).toMatchObject({ STATUS: 'Terminating' })
    expect(await field('pvc/data', '{.metadata.finalizers}')).toContain('pvc-protection')
    await kubectl.ok`scale deployment db --replicas=0`
    await kubectl.ok`wait pvc/data --for=delete --timeout=60s`
    await kubectl.ok`wait pv/${volume} --for=delete --timeout=60s`
  })
})
