/** Rules of PersistentVolumes (upstream: core/validation ValidatePersistentVolume, ValidatePersistentVolumeUpdate). */
import type {
  CSIPersistentVolumeSource,
  PersistentVolume,
  PersistentVolumeSpec,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { GoText } from '../../../machinery/values/go-syntax.ts'
import type { StrategyContext } from '../strategy.ts'
import { validateAttributesClassChange } from './attributes-class-change.ts'
import { validateAccessModes, volumeModes } from './claim-spec-validation.ts'
import {
  goJson,
  semanticEqual,
  validateImmutable,
  validateNoBacksteps,
  validateOneOf,
  validateSubdomain,
} from '../rules/field-rules.ts'
import { validateNodeSelector } from './pod/affinity-validation.ts'
import { sharedSources, validateCsiDriverName } from './pod/volume-source-validation.ts'
import { compareAmounts, isNegativeQuantity, shownQuantity } from '../rules/quantities.ts'
import type { Change } from '../rules/strategy-checks.ts'

const reclaimPolicies = ['Delete', 'Recycle', 'Retain']

/** Fields of the spec that are not sources of the volume. */
const otherFields = new Set([
  'capacity',
  'accessModes',
  'claimRef',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'mountOptions',
  'volumeMode',
  'nodeAffinity',
  'volumeAttributesClassName',
])

/** The part of the spec that says what the volume is. */
function sourceOf(spec: PersistentVolumeSpec): Record<string, unknown> {
  return Object.fromEntries(Object.entries(spec).filter(([field]) => !otherFields.has(field)))
}

export function validateVolume(
  { metadata, spec }: PersistentVolume,
  root: FieldPath,
  { dialect, gates }: StrategyContext,
): void {
  const at = root.child('spec')
  const volume = spec ?? {}
  const modes = volume.accessModes ?? []
  if (modes.length === 0) at.child('accessModes').required()
  validateAccessModes(modes, at.child('accessModes'))
  validateCapacity(volume.capacity, at.child('capacity'))
  const reclaim = volume.persistentVolumeReclaimPolicy || undefined
  validateOneOf(reclaim, reclaimPolicies, at.child('persistentVolumeReclaimPolicy'))
  const affinityAt = at.child('nodeAffinity')
  if (volume.nodeAffinity?.required) {
    validateNodeSelector(volume.nodeAffinity.required, affinityAt.child('required'))
  } else if (volume.nodeAffinity) {
    affinityAt.child('required').required('must specify required node constraints')
  }
  validateSources(volume, at, { name: metadata.name ?? '', dialect, isPersistent: true })
  if (volume.hostPath && isRoot(volume.hostPath.path) && reclaim === 'Recycle') {
    const detail = "may not be 'recycle' for a hostPath mount of '/'"
    at.child('persistentVolumeReclaimPolicy').forbidden(detail)
  }
  if (volume.storageClassName) {
    validateSubdomain(volume.storageClassName, at.child('storageClassName'))
  }
  validateOneOf(volume.volumeMode, volumeModes, at.child('volumeMode'))
  if (gates.VolumeAttributesClass) validateAttributesClass(volume, at)
}

/** What of a volume stands in an attachment itself, without a PersistentVolume (upstream: ValidatePersistentVolumeSpec, inline). */
export function validateInlineVolume(
  volume: PersistentVolumeSpec,
  at: FieldPath,
  { dialect }: StrategyContext,
): void {
  const forbid = (field: string): void =>
    at.child(field).forbidden('may not be specified in the context of inline volumes')
  if (volume.claimRef) forbid('claimRef')
  if (volume.capacity !== undefined) forbid('capacity')
  if (volume.csi === undefined) {
    at.child('csi').required('has to be specified in the context of inline volumes')
  }
  const modes = volume.accessModes ?? []
  if (modes.length === 0) at.child('accessModes').required()
  validateAccessModes(modes, at.child('accessModes'))
  const reclaim = volume.persistentVolumeReclaimPolicy || 'Retain'
  if (reclaim !== 'Retain') {
    const detail = 'may only be Retain in the context of inline volumes'
    at.child('persistentVolumeReclaimPolicy').forbidden(detail)
  }
  if (volume.nodeAffinity) forbid('nodeAffinity')
  validateSources(volume, at, { name: '', dialect, isPersistent: true })
  if (volume.storageClassName) forbid('storageClassName')
  if (volume.volumeMode !== undefined && volume.volumeMode !== 'Filesystem') {
    const detail =
      'may not specify volumeMode other than Filesystem in the context of inline volumes'
    at.child('volumeMode').forbidden(detail)
  }
}

/** Only volumes of CSI drivers have a class of attributes (KEP-3751). */
function validateAttributesClass(
  { volumeAttributesClassName: name, csi }: PersistentVolumeSpec,
  at: FieldPath,
): void {
  if (name === undefined) return
  const nameAt = at.child('volumeAttributesClassName')
  if (name === '') nameAt.required('an empty string is disallowed')
  else validateSubdomain(name, nameAt)
  if (csi === undefined) {
    at.child('csi').required('has to be specified when using volumeAttributesClassName')
  }
}

function isRoot(path: string): boolean {
  return /^\/(\.?\/)*\.?$/.test(path)
}

function validateCapacity(
  given: Readonly<Record<string, string>> | undefined,
  at: FieldPath,
): void {
  const capacity = given ?? {}
  const names = Object.keys(capacity)
  const shown = given === undefined ? new GoText('core.ResourceList(nil)') : goJson(capacity)
  if (names.length === 0) at.required()
  if (names.length !== 1 || names[0] !== 'storage') at.unsupported(shown, ['storage'])
  for (const name of names) {
    const amount = capacity[name] ?? ''
    if (isNegativeQuantity(amount)) {
      at.key(name).invalid(shownQuantity(amount), 'must be a valid resource quantity')
    }
    if (compareAmounts(amount, '0') <= 0) {
      at.key(name).invalid(shownQuantity(amount), 'must be greater than zero')
    }
  }
}

type SourceRules = Parameters<(typeof sharedSources)[string]['validate']>[2]

function validateSources(spec: PersistentVolumeSpec, at: FieldPath, rules: SourceRules): void {
  const given = new Set(Object.keys(sourceOf(spec)))
  let count = 0
  const checkOne = (field: string, check: () => void) => {
    if (!given.has(field)) return
    count += 1
    if (count > 1) at.child(field).forbidden('may not specify more than 1 volume type')
    else check()
  }
  for (const [field, { reportedAs = field, validate }] of Object.entries(sharedSources)) {
    checkOne(field, () => validate(spec, at.child(reportedAs), rules))
  }
  checkOne('local', () => {
    const path = spec.local?.path ?? ''
    const pathAt = at.child('local').child('path')
    if (path === '') pathAt.required()
    else validateNoBacksteps(path, pathAt)
    if (!spec.nodeAffinity) at.child('nodeAffinity').required('Local volume requires node affinity')
  })
  checkOne('csi', () => {
    if (spec.csi) validateCsiSource(spec.csi, at.child('csi'))
  })
  if (count === 0) at.required('must specify a volume type')
}

const secretReferences = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodeStageSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
] as const

function validateCsiSource(csi: CSIPersistentVolumeSource, at: FieldPath): void {
  validateCsiDriverName(csi.driver ?? '', at.child('driver'))
  if (!csi.volumeHandle) at.child('volumeHandle').required()
  for (const field of secretReferences) {
    const reference = csi[field]
    if (!reference) continue
    if (!reference.name) at.child(field).child('name').required()
    if (!reference.namespace) at.child(field).child('namespace').required()
  }
}

export function validateVolumeChange(
  { object, old }: Change<PersistentVolume>,
  root: FieldPath,
  context: StrategyContext,
): void {
  const [now, before] = [object.spec ?? {}, old.spec ?? {}]
  const [source, oldSource] = [sourceOf(now), sourceOf(before)]
  // A missing secret for expansion may be added later.
  if (now.csi && before.csi && before.csi.controllerExpandSecretRef === undefined) {
    const { controllerExpandSecretRef: _added, ...csi } = now.csi
    source['csi'] = csi
  }
  if (!semanticEqual(source, oldSource)) {
    const difference = `- ${JSON.stringify(oldSource)}\n+ ${JSON.stringify(source)}\n`
    root
      .child('spec')
      .child('persistentvolumesource')
      .forbidden(`spec.persistentvolumesource is immutable after creation\n${difference}`)
  }
  // Upstream names these two fields without the spec.
  validateImmutable({ now: now.volumeMode, before: before.volumeMode }, root.child('volumeMode'))
  if (before.nodeAffinity) {
    const change = { now: now.nodeAffinity, before: before.nodeAffinity }
    validateImmutable(change, root.child('nodeAffinity'))
  }
  const nameAt = root.child('spec').child('volumeAttributesClassName')
  validateAttributesClassChange({ now, before }, nameAt, context)
}
