/** What `skiff why` finds about claims and volumes. */
import { persistentVolumeClaim as claim } from '../../../cluster/why/kinds/persistent-volume-claim.ts'
import { persistentVolume as volume } from '../../../cluster/why/kinds/persistent-volume.ts'
import { itExplains } from './cases.ts'
import { event, object } from './objects.ts'

const pending = (spec: object, metadata: object = {}) =>
  object('PersistentVolumeClaim', 'data', {
    metadata,
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } }, ...spec },
    status: { phase: 'Pending' },
  })
const gold = (mode: string) =>
  object('StorageClass', 'gold', { provisioner: 'example.com/disk', volumeBindingMode: mode })
const free = (storage: string) =>
  object('PersistentVolume', 'v1', {
    spec: { capacity: { storage }, accessModes: ['ReadWriteOnce'], storageClassName: '' },
    status: { phase: 'Available' },
  })

const volumeOf = (name: string, spec: object) =>
  object('PersistentVolume', name, {
    spec: { capacity: { storage: '9Gi' }, accessModes: ['ReadWriteOnce'], ...spec },
    status: { phase: 'Available' },
  })

itExplains([
  [
    'a claim without a class or a volume that is large enough',
    claim,
    pending({ storageClassName: '' }),
    { persistentVolumes: [free('1Gi')] },
    ['NoStorageClass'],
    ['has only 1Gi', 'create a PersistentVolume'],
  ],
  [
    'a claim without a class, and no default',
    claim,
    pending({}),
    {},
    ['NoStorageClass'],
    ['mark a StorageClass as default'],
  ],
  [
    'a claim that waits for its first pod',
    claim,
    pending({ storageClassName: 'gold' }),
    { storageClasses: [gold('WaitForFirstConsumer')] },
    ['WaitForFirstConsumer'],
    ['no pod uses it', 'create a pod'],
  ],
  [
    'a pod that has ended is not waited for',
    claim,
    pending({ storageClassName: 'gold' }),
    {
      storageClasses: [gold('WaitForFirstConsumer')],
      pods: [
        object('Pod', 'old', {
          spec: { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'data' } }] },
          status: { phase: 'Succeeded' },
        }),
      ],
    },
    ['WaitForFirstConsumer'],
    ['no pod uses it'],
  ],
  [
    'a provisioner that fails',
    claim,
    pending({ storageClassName: 'gold' }),
    {
      storageClasses: [gold('Immediate')],
      events: [event('PersistentVolumeClaim', 'data', 'ProvisioningFailed', 'out of disks')],
    },
    ['ProvisioningFailed'],
    ['out of disks', 'example.com/disk'],
  ],
  [
    'a provisioner that says nothing',
    claim,
    pending({ storageClassName: 'gold' }),
    { storageClasses: [gold('Immediate')] },
    ['WaitsForProvisioner'],
    ['check that the provisioner example.com/disk runs'],
  ],
  [
    'a class that makes no volumes needs one that is made by hand',
    claim,
    pending({ storageClassName: 'local' }),
    {
      storageClasses: [
        object('StorageClass', 'local', { provisioner: 'kubernetes.io/no-provisioner' }),
      ],
      events: [
        event('PersistentVolumeClaim', 'data', 'ProvisioningFailed', 'no volume plugin matched'),
      ],
    },
    ['NoProvisioner'],
    ['makes no volumes', 'create a PersistentVolume'],
    ['tries again'],
  ],
  [
    'a class that could not be read is not missed',
    claim,
    pending({ storageClassName: 'gold' }),
    { incomplete: new Set(['storageClasses']) },
    ['Pending'],
    ['class gold'],
    ['does not exist'],
  ],
  [
    'a free volume of another mode, or for another claim, does not satisfy the claim',
    claim,
    pending({ storageClassName: '' }),
    {
      persistentVolumes: [
        volumeOf('raw', { volumeMode: 'Block' }),
        volumeOf('kept', { claimRef: { namespace: 'shop', name: 'other' } }),
      ],
    },
    ['NoStorageClass'],
    ['has the volume mode Block', 'is for the claim shop/other'],
    ['and satisfies the claim'],
  ],
  [
    'a volume that the claim names says why it does not take it',
    claim,
    pending({ storageClassName: '', volumeName: 'v1' }),
    {
      persistentVolumes: [
        {
          ...volumeOf('v1', { claimRef: { namespace: 'shop', name: 'other' } }),
          status: { phase: 'Bound' },
        },
      ],
    },
    ['NamedVolume'],
    ['is for the claim shop/other', 'skiff why pv v1'],
  ],
  [
    'a named volume that could not be read is not missed',
    claim,
    pending({ volumeName: 'v9' }),
    { incomplete: new Set(['persistentVolumes']) },
    ['NamedVolume'],
    [],
    ['does not exist'],
  ],
  [
    'a volume that the claim names and that does not exist',
    claim,
    pending({ volumeName: 'v9' }),
    {},
    ['NamedVolume'],
    ['does not exist'],
  ],
  [
    'a claim that does not grow',
    claim,
    object('PersistentVolumeClaim', 'data', {
      spec: { resources: { requests: { storage: '4Gi' } } },
      status: { phase: 'Bound', capacity: { storage: '2Gi' } },
    }),
    { events: [event('PersistentVolumeClaim', 'data', 'VolumeResizeFailed', 'no room')] },
    ['NotExpanded'],
    ['asks for 4Gi and has 2Gi', 'no room'],
  ],
  [
    'a claim whose volume is gone',
    claim,
    object('PersistentVolumeClaim', 'data', {
      spec: { volumeName: 'v1' },
      status: { phase: 'Lost' },
    }),
    {},
    ['Lost'],
    ['volume v1'],
  ],
  [
    'a released volume keeps its data for somebody to free it',
    volume,
    object('PersistentVolume', 'v1', {
      spec: { claimRef: { namespace: 'shop', name: 'data' } },
      status: { phase: 'Released' },
    }),
    {},
    ['Released'],
    ['shop/data', '"claimRef":null'],
  ],
])
