import { afterEach, describe, expect, it } from 'vitest'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../../../components/api/generated/types.ts'
import { persistentVolumeBinder } from '../../../components/controller-manager/persistent-volumes/binder.ts'
import { conflict, StatusError } from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'
import {
  bindCompleted,
  boundByController,
  claim,
  defaultClass,
  podWithClaim,
  provisionedBy,
  selectedNode,
  storageClass,
  storageProvisioner,
  volume,
} from '../../support/volumes.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

interface Objects {
  claims?: PersistentVolumeClaim[]
  volumes?: PersistentVolume[]
  classes?: StorageClass[]
}

function seed({ claims = [], volumes = [], classes = [] }: Objects): void {
  const { cluster, resources } = harness
  for (const one of claims) cluster.seed(resources.persistentVolumeClaims, one)
  for (const one of volumes) cluster.seed(resources.persistentVolumes, one)
  for (const one of classes) cluster.seed(resources.storageClasses, one)
}

async function settled(objects: Objects): Promise<void> {
  harness = createReconcilerHarness()
  seed(objects)
  await harness.start(persistentVolumeBinder)
}

function claimNow(name: string): PersistentVolumeClaim {
  const found = harness.cluster.peek(harness.resources.persistentVolumeClaims, `default/${name}`)
  return found as PersistentVolumeClaim
}

function volumeNow(name: string): PersistentVolume | undefined {
  return harness.cluster.peek<PersistentVolume>(harness.resources.persistentVolumes, name)
}

/** `phase volume` of a claim, and `phase claim/uid` of a volume. */
function shown(): string[] {
  const { cluster, resources } = harness
  const claims = cluster
    .all<PersistentVolumeClaim>(resources.persistentVolumeClaims)
    .map(({ metadata, spec, status }) =>
      [metadata.name, status?.phase, spec?.volumeName ?? '-'].join(' '),
    )
  const volumes = cluster
    .all<PersistentVolume>(resources.persistentVolumes)
    .map(({ metadata, spec, status }) => {
      const { name = '-', uid = '-' } = spec?.claimRef ?? {}
      return [metadata.name, status?.phase, name, uid].join(' ')
    })
  return [...claims, ...volumes].toSorted()
}

const completed = { [bindCompleted]: 'yes' }
const noClass = 'no persistent volumes available for this claim and no storage class is set'

describe('a claim and the volumes that there are', () => {
  it.each<[string, Objects, string[]]>([
    [
      'takes the smallest volume that is big enough',
      {
        claims: [claim('c', { size: '5Gi' })],
        volumes: [
          volume('v1', { size: '1Gi' }),
          volume('v10', { size: '10Gi' }),
          volume('v6', { size: '6Gi' }),
        ],
      },
      ['c Bound v6', 'v1 Available - -', 'v10 Available - -', 'v6 Bound c c-uid'],
    ],
    [
      'takes a volume with few access modes before a smaller one with many',
      {
        claims: [claim('c')],
        volumes: [
          volume('many', { modes: ['ReadWriteOnce', 'ReadWriteMany'] }),
          volume('one', { size: '2Gi' }),
        ],
      },
      ['c Bound one', 'many Available - -', 'one Bound c c-uid'],
    ],
    [
      'takes no volume without one of its access modes',
      { claims: [claim('c', { modes: ['ReadWriteMany'] })], volumes: [volume('v')] },
      ['c Pending -', 'v Available - -'],
    ],
    [
      'takes no volume of another class',
      { claims: [claim('c')], volumes: [volume('v', { className: 'fast' })] },
      ['c Pending -', 'v Available - -'],
    ],
    [
      'takes no block device for a filesystem',
      { claims: [claim('c')], volumes: [volume('v', { volumeMode: 'Block' })] },
      ['c Pending -', 'v Available - -'],
    ],
    [
      'takes only a volume that its selector matches',
      {
        claims: [claim('c', { labels: { disk: 'ssd' } })],
        volumes: [volume('hdd'), volume('ssd', { size: '9Gi', labels: { disk: 'ssd' } })],
      },
      ['c Bound ssd', 'hdd Available - -', 'ssd Bound c c-uid'],
    ],
    [
      'takes the volume that is reserved for it, though a smaller one is free',
      {
        claims: [claim('c')],
        volumes: [volume('free'), volume('kept', { size: '9Gi', claim: 'c' })],
      },
      ['c Bound kept', 'free Available - -', 'kept Bound c c-uid'],
    ],
    [
      'takes no volume that is reserved for another claim',
      { claims: [claim('c')], volumes: [volume('kept', { claim: 'other' })] },
      ['c Pending -', 'kept Available other -'],
    ],
    [
      'takes the volume that it names',
      {
        claims: [claim('c', { volumeName: 'big' })],
        volumes: [volume('big', { size: '9Gi' }), volume('small')],
      },
      ['big Bound c c-uid', 'c Bound big', 'small Available - -'],
    ],
    [
      'waits for the volume that it names',
      { claims: [claim('c', { volumeName: 'later' })], volumes: [volume('v')] },
      ['c Pending later', 'v Available - -'],
    ],
    [
      'finishes a binding that was cut short after the volume was written',
      {
        claims: [claim('c')],
        volumes: [volume('v', { claim: 'c c-uid', annotations: { [boundByController]: 'yes' } })],
      },
      ['c Bound v', 'v Bound c c-uid'],
    ],
    [
      'keeps one of two volumes that name it, and frees the other',
      {
        claims: [claim('c', { volumeName: 'a', annotations: completed })],
        volumes: [
          volume('a', { claim: 'c c-uid' }),
          volume('b', { claim: 'c c-uid', annotations: { [boundByController]: 'yes' } }),
        ],
      },
      ['a Bound c c-uid', 'b Available - -', 'c Bound a'],
    ],
    [
      'leaves the other volume reserved where a user did that',
      {
        claims: [claim('c', { volumeName: 'a', annotations: completed })],
        volumes: [volume('a', { claim: 'c c-uid' }), volume('b', { claim: 'c c-uid' })],
      },
      ['a Bound c c-uid', 'b Available c -', 'c Bound a'],
    ],
  ])('%s', async (_, objects, after) => {
    await settled(objects)
    expect(shown()).toEqual(after)
    expect(harness.complaints).toEqual([])
  })

  it('are bound by annotations, size and access modes as upstream writes them', async () => {
    await settled({
      claims: [claim('c')],
      volumes: [volume('v', { size: '3Gi', modes: ['ReadWriteOnce', 'ReadOnlyMany'] })],
    })
    expect(claimNow('c').metadata.annotations).toEqual({
      [bindCompleted]: 'yes',
      [boundByController]: 'yes',
    })
    expect(claimNow('c').status).toEqual({
      phase: 'Bound',
      accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
      capacity: { storage: '3Gi' },
    })
    expect(volumeNow('v')?.metadata.annotations).toEqual({ [boundByController]: 'yes' })
    expect(volumeNow('v')?.spec?.claimRef).toMatchObject({
      kind: 'PersistentVolumeClaim',
      apiVersion: 'v1',
      namespace: 'default',
      name: 'c',
      uid: 'c-uid',
    })
  })

  it('are not marked as the controller’s choice when users named each other', async () => {
    await settled({
      claims: [claim('c', { volumeName: 'v' })],
      volumes: [volume('v', { claim: 'c' })],
    })
    expect(claimNow('c').metadata.annotations).toEqual(completed)
    expect(volumeNow('v')?.metadata.annotations).toBeUndefined()
  })

  it.each<[string, PersistentVolume, string]>([
    ['too small', volume('v', { size: '1Mi' }), 'requested PV is too small'],
    ['of another class', volume('v', { className: 'fast' }), 'storageClassName does not match'],
    ['of another mode', volume('v', { volumeMode: 'Block' }), 'incompatible volumeMode'],
    [
      'without the access mode',
      volume('v', { modes: ['ReadOnlyMany'] }),
      'incompatible accessMode',
    ],
  ])('a named volume that is %s is refused with an event', async (_, found, why) => {
    await settled({ claims: [claim('c', { volumeName: 'v' })], volumes: [found] })
    expect(shown()).toEqual(['c Pending v', 'v Available - -'])
    expect(harness.events).toContain(
      `Warning VolumeMismatch PersistentVolumeClaim default/c: Cannot bind to requested volume "v": ${why}`,
    )
  })

  it('a named volume that another claim has is refused with an event', async () => {
    await settled({
      claims: [claim('c', { volumeName: 'v' })],
      volumes: [volume('v', { claim: 'other' })],
    })
    expect(harness.events).toContain(
      'Warning FailedBinding PersistentVolumeClaim default/c: volume "v" already bound to a different claim.',
    )
  })

  it('a claim without a class waits, says so, and is bound at once when a volume comes', async () => {
    await settled({ claims: [claim('c')] })
    expect(harness.events).toEqual([
      `Normal FailedBinding PersistentVolumeClaim default/c: ${noClass}`,
    ])
    seed({ volumes: [volume('v')] })
    await harness.step()
    expect(shown()).toEqual(['c Bound v', 'v Bound c c-uid'])
  })
})

describe('a class', () => {
  it('has its provisioner asked by annotations, once', async () => {
    await settled({
      claims: [claim('c', { className: 'fast' })],
      classes: [storageClass('fast', { provisioner: 'example.com/disks' })],
    })
    expect(claimNow('c').metadata.annotations).toEqual({
      [storageProvisioner]: 'example.com/disks',
      'volume.beta.kubernetes.io/storage-provisioner': 'example.com/disks',
    })
    expect(harness.events[0]).toBe(
      "Normal ExternalProvisioning PersistentVolumeClaim default/c: Waiting for a volume to be created either by the external provisioner 'example.com/disks' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.",
    )
    expect(harness.cluster.writes).toEqual(['update persistentvolumeclaims default/c'])
  })

  it.each([
    ['that does not exist', [], 'storageclasses.storage.k8s.io "fast" not found'],
    [
      'of an in-tree provisioner',
      [storageClass('fast', { provisioner: 'kubernetes.io/no-provisioner' })],
      'no volume plugin matched name: kubernetes.io/no-provisioner',
    ],
  ])('%s is an event', async (_, classes, message) => {
    await settled({ claims: [claim('c', { className: 'fast' })], classes })
    expect(harness.events).toEqual([
      `Warning ProvisioningFailed PersistentVolumeClaim default/c: ${message}`,
    ])
    expect(harness.cluster.writes).toEqual([])
  })

  it('that comes later is used at once', async () => {
    await settled({ claims: [claim('c', { className: 'fast' })] })
    seed({ classes: [storageClass('fast', { provisioner: 'example.com/disks' })] })
    await harness.step()
    expect(claimNow('c').metadata.annotations?.[storageProvisioner]).toBe('example.com/disks')
  })

  it('that is the default is given to claims that name none, later too', async () => {
    await settled({
      claims: [claim('unnamed', { className: undefined }), claim('none', { className: '' })],
    })
    expect(claimNow('unnamed').spec?.storageClassName).toBeUndefined()
    seed({ classes: [defaultClass()] })
    await harness.step()
    expect(claimNow('unnamed').spec?.storageClassName).toBe('standard')
    expect(claimNow('none').spec?.storageClassName).toBe('')
  })

  it('with WaitForFirstConsumer waits for a pod, names it, and asks once a node is selected', async () => {
    await settled({
      claims: [claim('c', { className: 'local' })],
      volumes: [volume('v', { className: 'local' })],
      classes: [storageClass('local', { volumeBindingMode: 'WaitForFirstConsumer' })],
    })
    const about = 'PersistentVolumeClaim default/c'
    expect(harness.events.at(-1)).toBe(
      `Normal WaitForFirstConsumer ${about}: waiting for first consumer to be created before binding`,
    )
    const { cluster, resources } = harness
    cluster.seed(resources.pods, podWithClaim('p', 'c'))
    await harness.step(15_000)
    expect(harness.events.at(-1)).toBe(
      `Normal WaitForPodScheduled ${about}: waiting for pod p to be scheduled`,
    )
    expect(shown()).toEqual(['c Pending -', 'v Available - -'])
    cluster.change(resources.persistentVolumeClaims, 'default/c', ({ metadata }) => {
      metadata.annotations = { [selectedNode]: 'n1' }
    })
    await harness.step()
    expect(claimNow('c').metadata.annotations?.[storageProvisioner]).toBe('skiff.dev/simulated')
  })

  it('with WaitForFirstConsumer is bound to the volume that the scheduler reserved', async () => {
    await settled({
      claims: [claim('c', { className: 'local' })],
      volumes: [volume('v', { className: 'local', claim: 'c c-uid' })],
      classes: [storageClass('local', { volumeBindingMode: 'WaitForFirstConsumer' })],
    })
    expect(shown()).toEqual(['c Bound v', 'v Bound c c-uid'])
  })
})

describe('a bound claim', () => {
  const bound = (volumeName?: string) =>
    claim('c', {
      annotations: completed,
      status: { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } },
      ...(volumeName === undefined ? {} : { volumeName }),
    })

  it.each<[string, Objects, string]>([
    [
      'that lost its volume’s name',
      { claims: [bound()] },
      'ClaimLost PersistentVolumeClaim default/c: Bound claim has lost reference to PersistentVolume. Data on the volume is lost!',
    ],
    [
      'whose volume is gone',
      { claims: [bound('v')] },
      'ClaimLost PersistentVolumeClaim default/c: Bound claim has lost its PersistentVolume. Data on the volume is lost!',
    ],
    [
      'whose volume names another claim',
      { claims: [bound('v')], volumes: [volume('v', { claim: 'd d-uid', phase: 'Released' })] },
      'ClaimMisbound PersistentVolumeClaim default/c: Two claims are bound to the same volume, this one is bound incorrectly',
    ],
  ])('%s is lost', async (_, objects, event) => {
    await settled(objects)
    expect(claimNow('c').status).toEqual({ phase: 'Lost' })
    expect(harness.events).toEqual([`Warning ${event}`])
  })

  it('whose volume forgot it is bound again', async () => {
    await settled({ claims: [bound('v')], volumes: [volume('v')] })
    expect(shown()).toEqual(['c Bound v', 'v Bound c c-uid'])
  })

  it('and its volume are not written again, however often they are looked at', async () => {
    await settled({ claims: [claim('c')], volumes: [volume('v')] })
    const before = harness.cluster.writes.length
    await harness.step(300_000)
    expect(harness.cluster.writes.slice(before)).toEqual([])
  })
})

describe('a volume whose claim is gone', () => {
  const orphan = (facts: object) => volume('v', { claim: 'c c-uid', phase: 'Bound', ...facts })

  it.each<[string, PersistentVolume, string, string[]]>([
    ['is kept under Retain', orphan({}), 'Released', []],
    [
      'is left to its provisioner under Delete',
      orphan({ policy: 'Delete', annotations: { [provisionedBy]: 'example.com/disks' } }),
      'Released',
      [],
    ],
    [
      'fails under Delete when nothing can delete it',
      orphan({ policy: 'Delete', path: '/data' }),
      'Failed',
      [
        'Warning VolumeFailedDelete PersistentVolume v: host_path deleter only supports /tmp/.+ but received provided /data',
      ],
    ],
    [
      'fails under Recycle',
      orphan({ policy: 'Recycle' }),
      'Failed',
      ['Warning VolumeFailedRecycle PersistentVolume v: No recycler plugin found for the volume!'],
    ],
    [
      'fails under a policy that there is not',
      orphan({ policy: 'Burn' }),
      'Failed',
      [
        'Warning VolumeUnknownReclaimPolicy PersistentVolume v: Volume has unrecognized PersistentVolumeReclaimPolicy',
      ],
    ],
  ])('%s', async (_, gone, phase, events) => {
    await settled({ volumes: [gone] })
    expect(volumeNow('v')?.status?.phase).toBe(phase)
    expect(harness.events).toEqual(events)
    const before = harness.cluster.writes.length
    await harness.step(60_000)
    expect(harness.cluster.writes.slice(before)).toEqual([])
  })

  it('is deleted under Delete when it is a host path below /tmp', async () => {
    await settled({ volumes: [orphan({ policy: 'Delete', path: '/tmp/x' })] })
    expect(volumeNow('v')).toBeUndefined()
  })

  it('is not given to a new claim of the same name', async () => {
    await settled({ claims: [claim('c', { uid: 'second' })], volumes: [orphan({})] })
    expect(shown()).toEqual(['c Pending -', 'v Released c c-uid'])
  })

  it('is not released while the server still has the claim', async () => {
    harness = createReconcilerHarness()
    seed({ volumes: [orphan({})] })
    const { cluster, resources } = harness
    // The claim's own watch lags behind.
    cluster.react('watch', 'persistentvolumeclaims', () => {
      throw new StatusError('ServiceUnavailable', 'not now')
    })
    cluster.react('get', 'persistentvolumeclaims', () => claim('c', { volumeName: 'v' }))
    await harness.start(persistentVolumeBinder)
    expect(cluster.peek<PersistentVolume>(resources.persistentVolumes, 'v')?.status?.phase).toBe(
      'Bound',
    )
  })
})

describe('under faults', () => {
  it.each([
    ['lost races', () => conflict(harness.resources.persistentVolumes, 'v', 'changed')],
    ['429', () => new StatusError('TooManyRequests', 'later')],
    ['500', () => new StatusError('InternalError', 'broken')],
  ])('%s delay a binding and change nothing about it', async (_, fault) => {
    harness = createReconcilerHarness()
    seed({
      claims: [claim('c', { size: '2Gi' }), claim('d')],
      volumes: [volume('v1', { size: '1Gi' }), volume('v2', { size: '2Gi' })],
    })
    let left = 7
    harness.cluster.react('*', '*', ({ verb }) => {
      if (!verb.startsWith('update') || left === 0) return undefined
      left -= 1
      throw fault()
    })
    await harness.start(persistentVolumeBinder)
    await harness.step(30_000)
    expect(shown()).toEqual(['c Bound v2', 'd Bound v1', 'v1 Bound d d-uid', 'v2 Bound c c-uid'])
  })

  it('two claims that want one volume: one gets it, the other waits', async () => {
    await settled({ claims: [claim('a'), claim('b')], volumes: [volume('v')] })
    const phases = [claimNow('a'), claimNow('b')].map(({ status }) => status?.phase)
    expect(phases.toSorted()).toEqual(['Bound', 'Pending'])
  })

  it('a restart in the middle of a binding finishes it with the same volume', async () => {
    harness = createReconcilerHarness()
    seed({ claims: [claim('c')], volumes: [volume('v', { size: '5Gi' })] })
    harness.cluster.react('update', 'persistentvolumeclaims', () => {
      throw new StatusError('InternalError', 'broken')
    })
    await harness.start(persistentVolumeBinder)
    const { cluster } = harness
    await harness.stop()
    harness = createReconcilerHarness({ cluster })
    // It would be the better choice, but the first volume is held for the claim.
    seed({ volumes: [volume('smaller')] })
    cluster.react('update', 'persistentvolumeclaims', () => undefined)
    await harness.start(persistentVolumeBinder)
    await harness.step(1000)
    expect(volumeNow('v')?.spec?.claimRef?.uid).toBe('c-uid')
    expect(volumeNow('smaller')?.spec?.claimRef).toBeUndefined()
  })
})

describe('the metrics of volumes', () => {
  it('count claims and volumes, and tell how long a volume took to be made and to be deleted', async () => {
    await settled({
      claims: [claim('c', { className: 'fast' }), claim('lone', { className: '' })],
      classes: [storageClass('fast', { provisioner: 'example.com/disks' })],
    })
    await harness.step(4000)
    const annotations = { [provisionedBy]: 'example.com/disks' }
    const facts = { className: 'fast', claim: 'c c-uid', policy: 'Delete', annotations }
    seed({ volumes: [volume('v', facts), volume('free')] })
    await harness.step()
    expect(claimNow('c').status?.phase).toBe('Bound')
    const shown = (name: string): string[] => harness.shown(`pv_collector_${name}`)
    const labels = (className: string): string =>
      `{namespace="default",storage_class="${className}",volume_attributes_class=""}`
    // The other claim has taken the free volume.
    expect(shown('bound_pvc_count').toSorted()).toEqual([`${labels('')} 1`, `${labels('fast')} 1`])
    expect(shown('unbound_pvc_count')).toEqual([])
    expect(shown('bound_pv_count').toSorted()).toEqual([
      '{storage_class=""} 1',
      '{storage_class="fast"} 1',
    ])
    expect(shown('total_pv_count')).toEqual([
      '{plugin_name="kubernetes.io/host-path",volume_mode="Filesystem"} 2',
    ])
    const times = (): string[] => harness.shown('volume_operation_total_seconds')
    const provision = '{plugin_name="example.com/disks",operation_name="provision"} 1, 4'
    expect(times()).toEqual([provision])
    harness.cluster.remove(harness.resources.persistentVolumeClaims, 'default/c')
    await harness.step(3000)
    expect(volumeNow('v')?.status?.phase).toBe('Released')
    expect(shown('unbound_pv_count')).toEqual(['{storage_class="fast"} 1'])
    harness.cluster.remove(harness.resources.persistentVolumes, 'v')
    await harness.step()
    expect(times()).toEqual([
      provision,
      '{plugin_name="example.com/disks",operation_name="delete"} 1, 3',
    ])
  })

  it('count default classes that were given later, and deletions that failed', async () => {
    await settled({
      claims: [claim('unnamed', { className: undefined })],
      volumes: [volume('v', { claim: 'gone gone-uid', policy: 'Delete', phase: 'Bound' })],
      classes: [defaultClass()],
    })
    expect(harness.shown('retroactive_storageclass_total')).toEqual(['1'])
    expect(harness.shown('retroactive_storageclass_errors_total')).toEqual(['0'])
    expect(volumeNow('v')?.status?.phase).toBe('Failed')
    expect(harness.shown('volume_operation_total_errors')[0]).toMatch(
      /^\{plugin_name="N\/A",operation_name="delete"\} [1-9]/,
    )
  })
})
