import { afterEach, describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../../../components/api/generated/types.ts'
import { persistentVolumeBinder } from '../../../components/controller-manager/persistent-volumes/binder.ts'
import { simulatedProvisionerController } from '../../../components/controller-manager/simulated-storage/simulated-provisioner.ts'
import { volumeProtection } from '../../../components/controller-manager/volume-protection/volume-protection.ts'
import { volumeExpander } from '../../../components/controller-manager/volume-expander.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'
import {
  claim,
  defaultClass,
  externalProvisioner,
  provisionedBy,
  selectedNode,
  storageClass,
} from '../../support/volumes.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

async function start(): Promise<void> {
  await harness.start(
    persistentVolumeBinder,
    simulatedProvisionerController,
    volumeExpander,
    volumeProtection,
  )
}

async function settled(
  claims: readonly PersistentVolumeClaim[],
  classes: readonly StorageClass[] = [defaultClass()],
): Promise<void> {
  harness = createReconcilerHarness()
  const { cluster, resources } = harness
  for (const one of classes) cluster.seed(resources.storageClasses, one)
  for (const one of claims) cluster.seed(resources.persistentVolumeClaims, one)
  await start()
}

function claimNow(name = 'c'): PersistentVolumeClaim {
  const found = harness.cluster.peek(harness.resources.persistentVolumeClaims, `default/${name}`)
  return found as PersistentVolumeClaim
}

function volumesNow(): PersistentVolume[] {
  return harness.cluster.all<PersistentVolume>(harness.resources.persistentVolumes)
}

function node(name: string, labels: Record<string, string>): void {
  harness.cluster.seed(harness.resources.nodes, { metadata: { name, labels } })
}

function annotate(name: string, annotations: Record<string, string>): void {
  harness.cluster.change(
    harness.resources.persistentVolumeClaims,
    `default/${name}`,
    ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, ...annotations }
    },
  )
}

function resize(size: string): void {
  harness.cluster.change(harness.resources.persistentVolumeClaims, 'default/c', (object) => {
    object['spec'].resources.requests.storage = size
  })
}

const ofClaim = (reason: string): string[] =>
  harness.events.filter((event) => event.includes(` ${reason} `))
const unnamed = { className: undefined }

describe('a claim', () => {
  it('is bound to a volume made for it, without any set-up but the default class', async () => {
    await settled([claim('c', { ...unnamed, size: '2Gi', modes: ['ReadWriteMany'] })])
    expect(claimNow().status).toEqual({
      phase: 'Bound',
      accessModes: ['ReadWriteMany'],
      capacity: { storage: '2Gi' },
    })
    const [volume] = volumesNow()
    expect(volume?.metadata).toMatchObject({
      name: 'pvc-c-uid',
      annotations: { [provisionedBy]: 'skiff.dev/simulated' },
      finalizers: [externalProvisioner, 'kubernetes.io/pv-protection'],
    })
    expect(volume?.spec).toMatchObject({
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteMany'],
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName: 'standard',
      volumeMode: 'Filesystem',
      claimRef: { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'c', uid: 'c-uid' },
    })
    expect(volume?.spec?.nodeAffinity).toBeUndefined()
    expect(volume?.status?.phase).toBe('Bound')
    expect(ofClaim('Provisioning')).toEqual([
      'Normal Provisioning PersistentVolumeClaim default/c: External provisioner is provisioning volume for claim "default/c"',
    ])
    expect(ofClaim('ProvisioningSucceeded')).toEqual([
      'Normal ProvisioningSucceeded PersistentVolumeClaim default/c: Successfully provisioned volume pvc-c-uid',
    ])
    expect(harness.complaints).toEqual([])
  })

  it('is bound in the dialect svc, by that dialect’s names', async () => {
    harness = createReconcilerHarness({ dialect: dialects.svc })
    const { cluster, resources } = harness
    const annotations = { 'storageclass.svc.io/is-default-class': 'true' }
    const metadata = { name: 'standard', annotations }
    cluster.seed(resources.storageClasses, storageClass('standard', { metadata }))
    cluster.seed(resources.persistentVolumeClaims, claim('c', unnamed))
    await start()
    expect(claimNow().status?.phase).toBe('Bound')
    expect(Object.keys(claimNow().metadata.annotations ?? {}).toSorted()).toEqual([
      'pv.svc.io/bind-completed',
      'pv.svc.io/bound-by-controller',
      'volume.beta.svc.io/storage-provisioner',
      'volume.svc.io/storage-provisioner',
    ])
  })

  it('of another provisioner is left to that', async () => {
    await settled(
      [claim('c', { className: 'other' })],
      [storageClass('other', { provisioner: 'example.com/disks' })],
    )
    expect(volumesNow()).toEqual([])
    expect(claimNow().status?.phase).toBe('Pending')
  })

  it('gets the class’s reclaim policy and mount options', async () => {
    const keep = storageClass('keep', { reclaimPolicy: 'Retain', mountOptions: ['ro'] })
    await settled([claim('c', { className: 'keep' })], [keep])
    const [volume] = volumesNow()
    expect(volume?.spec).toMatchObject({
      persistentVolumeReclaimPolicy: 'Retain',
      mountOptions: ['ro'],
    })
    expect(volume?.metadata.finalizers).toEqual(['kubernetes.io/pv-protection'])
  })

  it('with a data source is refused, once', async () => {
    const copy = claim('c', unnamed)
    const dataSource = { kind: 'PersistentVolumeClaim', name: 'other' }
    await settled([{ ...copy, spec: { ...copy.spec, dataSource } }])
    expect(new Set(ofClaim('ProvisioningFailed'))).toEqual(
      new Set([
        'Warning ProvisioningFailed PersistentVolumeClaim default/c: failed to provision volume with StorageClass "standard": skiff.dev/simulated does not support data sources',
      ]),
    )
    expect(volumesNow()).toEqual([])
  })
})

describe('a class that waits for the first consumer', () => {
  const local = (facts: Partial<StorageClass> = {}): StorageClass =>
    storageClass('local', { volumeBindingMode: 'WaitForFirstConsumer', ...facts })
  const zone = 'topology.kubernetes.io/zone'

  it.each<[string, Partial<StorageClass>, Record<string, string>, unknown]>([
    [
      'in its zone',
      {},
      { [zone]: 'a', host: 'n1' },
      [{ key: zone, operator: 'In', values: ['a'] }],
    ],
    ['anywhere, where nodes have no zone', {}, { host: 'n1' }, undefined],
    [
      'like the node by the labels that the class names',
      { parameters: { topologyKeys: 'host' } },
      { [zone]: 'a', host: 'n1' },
      [{ key: 'host', operator: 'In', values: ['n1'] }],
    ],
    [
      'by the topology that the class allows',
      { allowedTopologies: [{ matchLabelExpressions: [{ key: 'rack', values: ['1', '2'] }] }] },
      { rack: '2' },
      [{ key: 'rack', operator: 'In', values: ['2'] }],
    ],
  ])('gets a volume that the selected node reaches: %s', async (_, facts, labels, expected) => {
    await settled([claim('c', { className: 'local' })], [local(facts)])
    expect(volumesNow()).toEqual([])
    node('n1', labels)
    annotate('c', { [selectedNode]: 'n1' })
    await harness.step()
    expect(claimNow().status?.phase).toBe('Bound')
    const terms = volumesNow()[0]?.spec?.nodeAffinity?.required?.nodeSelectorTerms
    expect(terms?.[0]?.matchExpressions).toEqual(expected)
  })

  it('is given back to the scheduler when the selected node is gone', async () => {
    await settled(
      [claim('c', { className: 'local', annotations: { [selectedNode]: 'n1' } })],
      [local()],
    )
    expect(ofClaim('ProvisioningFailed')).toEqual([
      'Warning ProvisioningFailed PersistentVolumeClaim default/c: nodes "n1" not found',
    ])
    expect(claimNow().metadata.annotations?.[selectedNode]).toBeUndefined()
    expect(volumesNow()).toEqual([])
  })

  it('has volumes everywhere that it allows when it does not wait', async () => {
    const allowedTopologies = [{ matchLabelExpressions: [{ key: 'rack', values: ['1', '2'] }] }]
    await settled(
      [claim('c', { className: 'racks' })],
      [storageClass('racks', { allowedTopologies })],
    )
    expect(volumesNow()[0]?.spec?.nodeAffinity?.required?.nodeSelectorTerms).toEqual([
      { matchExpressions: [{ key: 'rack', operator: 'In', values: ['1', '2'] }] },
    ])
  })
})

describe('trouble on request', () => {
  const failed =
    'Warning ProvisioningFailed PersistentVolumeClaim default/c: failed to provision volume with StorageClass "standard": simulated fault'

  it('fails with growing delays until the claim no longer asks for it', async () => {
    await settled([claim('c', { ...unnamed, annotations: { 'skiff.dev/provision': 'fail' } })])
    expect(ofClaim('ProvisioningFailed')).toEqual([failed])
    await harness.step(60_000)
    // After 1, 3, 7, 15 and 31 s.
    expect(ofClaim('ProvisioningFailed')).toHaveLength(6)
    expect(volumesNow()).toEqual([])
    annotate('c', { 'skiff.dev/provision': '0s' })
    await harness.step()
    expect(claimNow().status?.phase).toBe('Bound')
  })

  it('comes from a parameter of the class, too, and a claim’s annotation wins', async () => {
    const flaky = { ...defaultClass(), parameters: { provision: 'fail' } }
    await settled(
      [
        claim('c', unnamed),
        claim('d', { ...unnamed, annotations: { 'skiff.dev/provision': '0s' } }),
      ],
      [flaky],
    )
    expect(ofClaim('ProvisioningFailed')).toEqual([failed])
    expect(claimNow('d').status?.phase).toBe('Bound')
  })

  it('takes time', async () => {
    await settled([claim('c', { ...unnamed, annotations: { 'skiff.dev/provision': '5s' } })])
    await harness.step(4999)
    expect(volumesNow()).toEqual([])
    await harness.step(1)
    expect(claimNow().status?.phase).toBe('Bound')
  })

  it('a claim that is deleted meanwhile leaves no volume', async () => {
    await settled([claim('c', { ...unnamed, annotations: { 'skiff.dev/provision': '5s' } })])
    harness.cluster.remove(harness.resources.persistentVolumeClaims, 'default/c')
    await harness.step(60_000)
    expect(volumesNow()).toEqual([])
  })

  it('a claim that is deleted just as its volume comes has it deleted', async () => {
    harness = createReconcilerHarness()
    const { cluster, resources } = harness
    cluster.seed(resources.storageClasses, defaultClass())
    cluster.seed(resources.persistentVolumeClaims, claim('c', unnamed))
    const stop = cluster.react('create', 'persistentvolumes', () => {
      stop()
      cluster.remove(resources.persistentVolumeClaims, 'default/c')
    })
    await start()
    await harness.step(1000)
    expect(volumesNow()).toEqual([])
  })
})

describe('a volume', () => {
  it('is deleted with its claim', async () => {
    await settled([claim('c', unnamed)])
    harness.cluster.remove(harness.resources.persistentVolumeClaims, 'default/c')
    await harness.step()
    expect(volumesNow()).toEqual([])
    expect(harness.complaints).toEqual([])
  })

  it('of a class with Retain is kept and Released', async () => {
    await settled(
      [claim('c', { className: 'keep' })],
      [storageClass('keep', { reclaimPolicy: 'Retain' })],
    )
    harness.cluster.remove(harness.resources.persistentVolumeClaims, 'default/c')
    await harness.step(60_000)
    expect(volumesNow().map(({ status }) => status?.phase)).toEqual(['Released'])
  })

  it('whose policy is changed is held for its provisioner only under Delete', async () => {
    await settled([claim('c', unnamed)])
    const { cluster, resources } = harness
    const change = (policy: string) =>
      cluster.change(resources.persistentVolumes, 'pvc-c-uid', (object) => {
        object['spec'].persistentVolumeReclaimPolicy = policy
      })
    const isHeld = () => volumesNow()[0]?.metadata.finalizers?.includes(externalProvisioner)
    change('Retain')
    await harness.step()
    expect(isHeld()).toBe(false)
    change('Delete')
    await harness.step()
    expect(isHeld()).toBe(true)
  })

  it('that is deleted while bound ends with its claim', async () => {
    await settled([claim('c', unnamed)])
    const { cluster, resources } = harness
    cluster.remove(resources.persistentVolumes, 'pvc-c-uid')
    await harness.step(60_000)
    expect(volumesNow()).toHaveLength(1)
    expect(claimNow().status?.phase).toBe('Bound')
    cluster.remove(resources.persistentVolumeClaims, 'default/c')
    await harness.step()
    expect(volumesNow()).toEqual([])
  })

  it('fails to be deleted as long as it asks for that', async () => {
    await settled([claim('c', unnamed)])
    const { cluster, resources } = harness
    const ask = (wish: string) =>
      cluster.change(resources.persistentVolumes, 'pvc-c-uid', ({ metadata }) => {
        metadata.annotations = { ...metadata.annotations, 'skiff.dev/delete': wish }
      })
    ask('fail')
    cluster.remove(resources.persistentVolumeClaims, 'default/c')
    await harness.step()
    expect(ofClaim('VolumeFailedDelete')).toEqual([
      'Warning VolumeFailedDelete PersistentVolume pvc-c-uid: simulated fault',
    ])
    expect(volumesNow()[0]?.status?.phase).toBe('Released')
    ask('0s')
    await harness.step()
    expect(volumesNow()).toEqual([])
  })
})

describe('an expansion', () => {
  it('raises the volume, then the claim, and tells of it', async () => {
    await settled([claim('c', unnamed)])
    resize('3Gi')
    await harness.step()
    expect(volumesNow()[0]?.spec?.capacity).toEqual({ storage: '3Gi' })
    expect(claimNow().status).toEqual({
      phase: 'Bound',
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '3Gi' },
      allocatedResources: { storage: '3Gi' },
    })
    const about = 'PersistentVolumeClaim default/c'
    expect(harness.events.slice(-3).toSorted()).toEqual([
      `Normal ExternalExpanding ${about}: waiting for an external controller to expand this PVC`,
      `Normal Resizing ${about}: External resizer is resizing volume pvc-c-uid`,
      `Normal VolumeResizeSuccessful ${about}: Resize volume succeeded`,
    ])
  })

  it('shows that it is under way while it takes time', async () => {
    await settled([claim('c', { ...unnamed, annotations: { 'skiff.dev/expand': '5s' } })])
    resize('3Gi')
    await harness.step(1000)
    expect(claimNow().status).toMatchObject({
      capacity: { storage: '1Gi' },
      allocatedResources: { storage: '3Gi' },
      allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
      conditions: [{ type: 'Resizing', status: 'True' }],
    })
    await harness.step(4000)
    expect(claimNow().status).toMatchObject({ capacity: { storage: '3Gi' } })
    expect(claimNow().status?.conditions).toBeUndefined()
  })

  it('that fails is tried again with growing delays, and ended by the old size', async () => {
    await settled([claim('c', { ...unnamed, annotations: { 'skiff.dev/expand': 'fail' } })])
    resize('3Gi')
    await harness.step()
    expect(ofClaim('VolumeResizeFailed')).toEqual([
      'Warning VolumeResizeFailed PersistentVolumeClaim default/c: resize volume "pvc-c-uid" by resizer "skiff.dev/simulated" failed: simulated fault',
    ])
    await harness.step(30_000)
    expect(ofClaim('VolumeResizeFailed')).toHaveLength(5)
    resize('1Gi')
    await harness.step()
    expect(claimNow().status?.conditions).toBeUndefined()
    expect(claimNow().status?.capacity).toEqual({ storage: '1Gi' })
  })
})

describe('under faults', () => {
  it.each(['TooManyRequests', 'InternalError'] as const)(
    'a server that answers %s for minutes delays everything and doubles nothing',
    async (reason) => {
      harness = createReconcilerHarness()
      const { cluster, resources } = harness
      cluster.seed(resources.storageClasses, defaultClass())
      for (const name of ['a', 'b', 'c'])
        cluster.seed(resources.persistentVolumeClaims, claim(name, unnamed))
      let isBroken = true
      cluster.react('*', '*', ({ verb }) => {
        if (!isBroken || !['create', 'update', 'delete'].includes(verb)) return undefined
        throw new StatusError(reason, 'broken')
      })
      await start()
      await harness.step(180_000)
      expect(volumesNow()).toEqual([])
      isBroken = false
      await harness.step(600_000)
      expect(['a', 'b', 'c'].map((name) => claimNow(name).status?.phase)).toEqual([
        'Bound',
        'Bound',
        'Bound',
      ])
      expect(volumesNow()).toHaveLength(3)
    },
  )

  it('a restart while volumes are made makes each once', async () => {
    await settled([claim('c', { ...unnamed, annotations: { 'skiff.dev/provision': '5s' } })])
    const { cluster } = harness
    await harness.step(3000)
    await harness.stop()
    harness = createReconcilerHarness({ cluster })
    await start()
    await harness.step(60_000)
    expect(volumesNow()).toHaveLength(1)
    expect(claimNow().status?.phase).toBe('Bound')
  })

  it('a watch that lags behind has no volume made twice', async () => {
    harness = createReconcilerHarness()
    const { cluster, resources } = harness
    cluster.seed(resources.storageClasses, defaultClass())
    cluster.seed(resources.persistentVolumeClaims, claim('c', unnamed))
    const lag = cluster.react('watch', 'persistentvolumes', () => {
      throw new StatusError('ServiceUnavailable', 'not now')
    })
    await start()
    for (let round = 0; round < 5; round += 1) {
      annotate('c', { round: String(round) })
      await harness.step(1000)
    }
    expect(cluster.writes.filter((write) => write.startsWith('create'))).toHaveLength(1)
    lag()
    await harness.step(60_000)
    expect(claimNow().status?.phase).toBe('Bound')
  })

  it('nothing is written when nothing changes', async () => {
    await settled([claim('c', unnamed), claim('d', { className: 'missing' })])
    const before = harness.cluster.writes.length
    await harness.step(600_000)
    expect(harness.cluster.writes.slice(before)).toEqual([])
  })
})
