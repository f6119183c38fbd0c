/** Rules of the volume sources that Pods and PersistentVolumes have in common; the two differ in how they name secrets. */
import type {
  AzureDiskVolumeSource,
  FCVolumeSource,
  FlockerVolumeSource,
  HostPathVolumeSource,
  ISCSIPersistentVolumeSource,
  ISCSIVolumeSource,
  PersistentVolumeSource,
  QuobyteVolumeSource,
  Volume,
} from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { goList } from '../../../../machinery/values/go-syntax.ts'
import { label1123, rangeMessage, subdomain } from '../../../../machinery/validation/names.ts'
import { pathMustBeAbsolute, validateNoBacksteps, validateOneOf } from '../../rules/field-rules.ts'
import type { PodRules } from './pod-rules.ts'

/** A source by its field name, as either holder has it. */
export type AnySource = Volume | PersistentVolumeSource

export interface SourceRules {
  /** The volume's or the PersistentVolume's name. */
  readonly name: string
  readonly dialect: PodRules['dialect']
  /** References to secrets need a namespace. */
  readonly isPersistent: boolean
}

type SourceValidator = (source: AnySource, at: FieldPath, rules: SourceRules) => void

function requireFields<T>(source: T, names: readonly (keyof T & string)[], at: FieldPath): void {
  for (const name of names) {
    const value = source[name]
    if (!value || (Array.isArray(value) && value.length === 0)) at.child(name).required()
  }
}

interface SecretName {
  readonly name?: string
  readonly namespace?: string
}

function requireSecretName(
  secret: SecretName | undefined,
  at: FieldPath,
  { isPersistent }: SourceRules,
): void {
  if (secret === undefined) return
  if (!secret.name) at.child('secretRef').child('name').required()
  if (isPersistent && !secret.namespace) at.child('secretRef').child('namespace').required()
}

function validatePartition(partition: number | undefined, at: FieldPath): void {
  if (partition === undefined || (partition >= 0 && partition <= 255)) return
  at.child('partition').invalid(partition, rangeMessage(1, 255))
}

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
]

function validateHostPath({ path, type }: HostPathVolumeSource, at: FieldPath): void {
  if (!path) {
    at.child('path').required()
    return
  }
  validateNoBacksteps(path, at.child('path'))
  validateOneOf(type, hostPathTypes, at.child('type'))
}

const iscsiForms = {
  iqn: /^iqn\.\d{4}-\d{2}\.([A-Za-z0-9-.]+)(:[^,;*&$|\s]+)$/,
  eui: /^eui.[A-Za-z0-9]{16}$/,
  naa: /^naa.[A-Za-z0-9]{32}$/,
}

function validateIscsiName(name: string, at: FieldPath): void {
  for (const [prefix, form] of Object.entries(iscsiForms)) {
    if (!name.startsWith(prefix)) continue
    if (!form.test(name)) at.invalid(name, 'must be valid format')
    return
  }
  at.invalid(name, 'must be valid format starting with iqn, eui, or naa')
}

function validateIscsi(
  iscsi: ISCSIVolumeSource & ISCSIPersistentVolumeSource,
  at: FieldPath,
  rules: SourceRules,
): void {
  const { targetPortal, iqn, lun, initiatorName, secretRef } = iscsi
  if (!targetPortal) at.child('targetPortal').required()
  if (!iqn) at.child('iqn').required()
  else validateIscsiName(iqn, at.child('iqn'))
  if (lun < 0 || lun > 255) at.child('lun').invalid(lun, rangeMessage(0, 255))
  if ((iscsi.chapAuthDiscovery || iscsi.chapAuthSession) && !secretRef) {
    at.child('secretRef').required()
  }
  if (secretRef && rules.isPersistent && !secretRef.name) {
    at.child('secretRef').child('name').required()
  }
  if (initiatorName === undefined) return
  validateIscsiName(initiatorName, at.child('initiatorname'))
  if (`${rules.name}:${targetPortal}`.length > 64) {
    at.child('targetportal').invalid(
      targetPortal,
      'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
    )
  }
}

function validateFibreChannel({ targetWWNs = [], wwids = [], lun }: FCVolumeSource, at: FieldPath) {
  const wwnsAt = at.child('targetWWNs')
  if (targetWWNs.length === 0 && wwids.length === 0) {
    wwnsAt.required('must specify either targetWWNs or wwids, but not both')
  }
  if (targetWWNs.length > 0 && wwids.length > 0) {
    wwnsAt.invalid(goList(targetWWNs), 'targetWWNs and wwids can not be specified simultaneously')
  }
  if (targetWWNs.length === 0) return
  if (lun === undefined) at.child('lun').required('lun is required if targetWWNs is specified')
  else if (lun < 0 || lun > 255) at.child('lun').invalid(lun, rangeMessage(0, 255))
}

const hostPort = /^(\[[^\]]*\]|[^:[\]]*):[^:]*$/
const hostPortText = 'must be a host:port pair or multiple pairs separated by commas'

function validateQuobyte({ registry, tenant = '', volume }: QuobyteVolumeSource, at: FieldPath) {
  if (!registry) at.child('registry').required(hostPortText)
  else if (tenant.length >= 65) {
    at.child('tenant').required('must be a UUID and may not exceed a length of 64 characters')
  } else {
    for (const pair of registry.split(',')) {
      if (!hostPort.test(pair)) at.child('registry').invalid(registry, hostPortText)
    }
  }
  if (!volume) at.child('volume').required()
}

function validateFlocker(
  { datasetName = '', datasetUUID = '' }: FlockerVolumeSource,
  at: FieldPath,
) {
  if (datasetName === '' && datasetUUID === '') {
    at.required('one of datasetName and datasetUUID is required')
  }
  if (datasetName !== '' && datasetUUID !== '') {
    at.invalid('resource', 'datasetName and datasetUUID can not be specified simultaneously')
  }
  if (datasetName.includes('/')) {
    at.child('datasetName').invalid(datasetName, "must not contain '/'")
  }
}

const managedDiskUri =
  '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}'
const blobDiskUri = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd'

function validateAzureDisk(disk: AzureDiskVolumeSource, at: FieldPath): void {
  requireFields(disk, ['diskName', 'diskURI'], at)
  validateOneOf(disk.cachingMode, ['None', 'ReadOnly', 'ReadWrite'], at.child('cachingMode'))
  validateOneOf(disk.kind, ['Dedicated', 'Managed', 'Shared'], at.child('kind'))
  const { kind, diskURI = '' } = disk
  if (kind === 'Managed' && !diskURI.startsWith('/subscriptions/')) {
    at.child('diskURI').unsupported(diskURI, [managedDiskUri])
  }
  if (kind !== undefined && kind !== 'Managed' && !diskURI.startsWith('https://')) {
    at.child('diskURI').unsupported(diskURI, [blobDiskUri])
  }
}

function validateFlexOptions(
  options: Readonly<Record<string, string>> | undefined,
  at: FieldPath,
  { dialect }: SourceRules,
): void {
  const reserved = [dialect.labelDomain, dialect.apiDomain]
  for (const key in options) {
    const domain = `.${(key.split('/')[0] ?? '').toLowerCase()}`
    if (!reserved.some((name) => domain.endsWith(`.${name}`))) continue
    at.key(key).invalid(key, `${reserved.join(' and ')} namespaces are reserved`)
  }
}

/** The name of a CSI driver. */
export function validateCsiDriverName(name: string, at: FieldPath): void {
  if (!name) at.required()
  if (name.length > 63) at.tooLong(63)
  at.invalidEach(name, subdomain(name.toLowerCase()))
}

/**
 * Every source both holders may have, by field, in upstream's order, with the field where its faults are reported when
 * that has another name.
 */
export const sharedSources: Readonly<
  Record<string, { readonly reportedAs?: string; readonly validate: SourceValidator }>
> = {
  hostPath: { validate: ({ hostPath }, at) => hostPath && validateHostPath(hostPath, at) },
  gcePersistentDisk: {
    reportedAs: 'persistentDisk',
    validate: ({ gcePersistentDisk }, at) => {
      requireFields(gcePersistentDisk ?? { pdName: '' }, ['pdName'], at)
      validatePartition(gcePersistentDisk?.partition, at)
    },
  },
  awsElasticBlockStore: {
    validate: ({ awsElasticBlockStore }, at) => {
      requireFields(awsElasticBlockStore ?? { volumeID: '' }, ['volumeID'], at)
      validatePartition(awsElasticBlockStore?.partition, at)
    },
  },
  nfs: {
    validate: ({ nfs }, at) => {
      if (nfs === undefined) return
      requireFields(nfs, ['server', 'path'], at)
      if (!nfs.path?.startsWith('/')) at.child('path').invalid(nfs.path ?? '', pathMustBeAbsolute)
    },
  },
  iscsi: {
    validate: ({ iscsi }, at, rules) => {
      if (iscsi) validateIscsi(iscsi as ISCSIPersistentVolumeSource, at, rules)
    },
  },
  glusterfs: {
    validate: ({ glusterfs }, at) =>
      glusterfs && requireFields(glusterfs, ['endpoints', 'path'], at),
  },
  flocker: { validate: ({ flocker }, at) => flocker && validateFlocker(flocker, at) },
  rbd: { validate: ({ rbd }, at) => rbd && requireFields(rbd, ['monitors', 'image'], at) },
  cinder: {
    validate: ({ cinder }, at, rules) => {
      if (cinder === undefined) return
      requireFields(cinder, ['volumeID'], at)
      requireSecretName(cinder.secretRef, at, rules)
    },
  },
  cephfs: { validate: ({ cephfs }, at) => cephfs && requireFields(cephfs, ['monitors'], at) },
  quobyte: { validate: ({ quobyte }, at) => quobyte && validateQuobyte(quobyte, at) },
  fc: { validate: ({ fc }, at) => fc && validateFibreChannel(fc, at) },
  flexVolume: {
    validate: ({ flexVolume }, at, rules) => {
      if (flexVolume === undefined) return
      requireFields(flexVolume, ['driver'], at)
      validateFlexOptions(flexVolume.options, at.child('options'), rules)
    },
  },
  azureFile: {
    validate: ({ azureFile }, at) =>
      azureFile && requireFields(azureFile, ['secretName', 'shareName'], at),
  },
  vsphereVolume: {
    validate: ({ vsphereVolume }, at) =>
      vsphereVolume && requireFields(vsphereVolume, ['volumePath'], at),
  },
  photonPersistentDisk: {
    validate: ({ photonPersistentDisk: disk }, at) => disk && requireFields(disk, ['pdID'], at),
  },
  portworxVolume: {
    validate: ({ portworxVolume }, at) =>
      portworxVolume && requireFields(portworxVolume, ['volumeID'], at),
  },
  azureDisk: { validate: ({ azureDisk }, at) => azureDisk && validateAzureDisk(azureDisk, at) },
  storageos: {
    validate: ({ storageos }, at, rules) => {
      if (storageos === undefined) return
      const { volumeName, volumeNamespace } = storageos
      if (!volumeName) at.child('volumeName').required()
      else at.child('volumeName').invalidEach(volumeName, label1123(volumeName))
      if (volumeNamespace) {
        at.child('volumeNamespace').invalidEach(volumeNamespace, label1123(volumeNamespace))
      }
      requireSecretName(storageos.secretRef, at, rules)
    },
  },
  scaleIO: {
    validate: ({ scaleIO }, at) =>
      scaleIO && requireFields(scaleIO, ['gateway', 'system', 'volumeName'], at),
  },
}
