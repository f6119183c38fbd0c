/** PersistentVolumeClaim (upstream: core/validation, pkg/registry/core/persistentvolumeclaim, pkg/api/persistentvolumeclaim). */
import { labelKey } from '../../../api/dialect.ts'
import type {
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goQuote } from '../../../machinery/values/go-syntax.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { fieldIsImmutable } from '../../../machinery/validation/object-meta-validation.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import { validateAttributesClassChange } from './attributes-class-change.ts'
import { validateClaimSpec } from './claim-spec-validation.ts'
import { semanticEqual, validateImmutable } from '../rules/field-rules.ts'
import { defaultClaimSpec } from './pod/volume-defaults.ts'
import {
  compareAmounts,
  isNegativeQuantity,
  isWholeQuantity,
  roundUpAmounts,
  shownQuantity,
} from '../rules/quantities.ts'
import { simulationWarnings } from '../rules/simulation-warnings.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { updateValidation, validation, type Change } from '../rules/strategy-checks.ts'

function validateClaim(
  { spec }: PersistentVolumeClaim,
  root: FieldPath,
  context: StrategyContext,
): void {
  validateClaimSpec(spec ?? {}, root.child('spec'), context)
}

/**
 * What may not change at all; size and class of attributes may change while the claim is bound, and volume and class be filled in
 * once.
 */
function fixedPart(
  spec: PersistentVolumeClaimSpec,
  { before, isBound }: { before: PersistentVolumeClaimSpec; isBound: boolean },
): PersistentVolumeClaimSpec {
  const fixed = { ...spec }
  if (!before.volumeName) delete fixed.volumeName
  if (before.storageClassName === undefined) delete fixed.storageClassName
  if (isBound) delete fixed.volumeAttributesClassName
  if (isBound && fixed.resources?.requests) {
    const { storage: _size, ...others } = fixed.resources.requests
    fixed.resources = { ...fixed.resources, requests: others }
  }
  return fixed
}

const fixedSpec =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'

function validateChange(
  { object, old }: Change<PersistentVolumeClaim>,
  root: FieldPath,
  context: StrategyContext,
): void {
  const { dialect } = context
  const at = root.child('spec')
  const [now, before] = [object.spec ?? {}, old.spec ?? {}]
  const classKey = labelKey(dialect, 'volume.beta', 'storage-class')
  const annotation = object.metadata.annotations?.[classKey] ?? ''
  if (annotation !== (old.metadata.annotations?.[classKey] ?? '')) {
    root.child('metadata').child('annotations').key(classKey).invalid(annotation, fieldIsImmutable)
  }
  const rules = { before, isBound: object.status?.phase === 'Bound' }
  const [fixed, oldFixed] = [fixedPart(now, rules), fixedPart(before, rules)]
  if (!semanticEqual(fixed, oldFixed)) {
    const difference = `- ${JSON.stringify(oldFixed)}\n+ ${JSON.stringify(fixed)}\n`
    at.forbidden(`${fixedSpec}\n${difference}`)
  }
  const size = now.resources?.requests?.['storage'] ?? '0'
  const oldSize = before.resources?.requests?.['storage'] ?? '0'
  const given = old.status?.capacity?.['storage'] ?? '0'
  if (compareAmounts(size, oldSize) < 0 && compareAmounts(size, given) <= 0) {
    at.child('resources')
      .child('requests')
      .child('storage')
      .forbidden('field can not be less than status.capacity')
  }
  // Upstream names the field without the spec.
  validateImmutable({ now: now.volumeMode, before: before.volumeMode }, root.child('volumeMode'))
  const classAt = at.child('volumeAttributesClassName')
  validateAttributesClassChange({ now, before }, classAt, context)
  const isEmptied = now.volumeAttributesClassName === '' && before.volumeAttributesClassName
  if (isEmptied && context.gates.VolumeAttributesClass) {
    classAt.forbidden('update from non-nil value to an empty string is forbidden')
  }
}

/** Upstream: GetWarningsForPersistentVolumeClaimSpec. */
function fractionWarnings({ spec }: PersistentVolumeClaim): string[] {
  return (['requests', 'limits'] as const).flatMap((list) => {
    const amount = spec?.resources?.[list]?.['storage']
    if (amount === undefined || isWholeQuantity(amount)) return []
    const shown = goQuote(shownQuantity(amount))
    return [
      `spec.resources.${list}[storage]: fractional byte value ${shown} is invalid, must be an integer`,
    ]
  })
}

type ClaimSpec = PersistentVolumeClaimSpec | undefined

/** The older field takes claims and snapshots alone; the newer one no source of another namespace (upstream: pkg/api/persistentvolumeclaim). */
function settleDataSources(spec: ClaimSpec, old: ClaimSpec, { dialect }: StrategyContext): void {
  if (!spec) return
  if (spec.dataSourceRef?.namespace && !old?.dataSourceRef) delete spec.dataSourceRef
  if (!old?.dataSource && !spec.dataSourceRef && spec.dataSource) {
    const { apiGroup, kind } = spec.dataSource
    const isClaim = !apiGroup && kind === 'PersistentVolumeClaim'
    const isSnapshot =
      apiGroup === `snapshot.storage.${dialect.apiDomain}` && kind === 'VolumeSnapshot'
    if (!isClaim && !isSnapshot) delete spec.dataSource
  }
  pairDataSources(spec)
}

/** A source in one field is in the other, too. */
function pairDataSources(spec: PersistentVolumeClaimSpec): void {
  const { dataSource, dataSourceRef } = spec
  if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource }
  else if (dataSourceRef && !dataSource && !dataSourceRef.namespace) {
    const { namespace: _none, ...source } = dataSourceRef
    spec.dataSource = source
  }
}

/** With the gate off, a claim gets no class of attributes that it does not have (KEP-3751). */
function dropAttributesClass(
  object: KubeObject,
  old: KubeObject | undefined,
  { gates }: StrategyContext,
): void {
  if (gates.VolumeAttributesClass) return
  const [claim, before] = [
    object as PersistentVolumeClaim,
    old as PersistentVolumeClaim | undefined,
  ]
  if (before?.spec?.volumeAttributesClassName === undefined) {
    delete claim.spec?.volumeAttributesClassName
  }
  for (const field of ['currentVolumeAttributesClassName', 'modifyVolumeStatus'] as const) {
    if (before?.status?.[field] === undefined) delete claim.status?.[field]
  }
}

function validateStatus({ object }: Change<PersistentVolumeClaim>, root: FieldPath): void {
  for (const field of ['capacity', 'allocatedResources'] as const) {
    const amounts = object.status?.[field]
    for (const name in amounts) {
      const amount = amounts[name] ?? ''
      if (!isNegativeQuantity(amount)) continue
      const at = root.child('status').child(field).key(name)
      at.invalid(shownQuantity(amount), 'must be a valid resource quantity')
    }
  }
}

export const persistentVolumeClaimStrategy: Strategy = {
  applyDefaults(object) {
    const { spec, status } = object as PersistentVolumeClaim
    if (status) status.phase ||= 'Pending'
    roundUpAmounts(status?.capacity)
    roundUpAmounts(status?.allocatedResources)
    if (spec) defaultClaimSpec(spec)
  },
  prepareForCreate(object, context) {
    object['status'] = { phase: 'Pending' }
    dropAttributesClass(object, undefined, context)
    settleDataSources((object as PersistentVolumeClaim).spec, undefined, context)
  },
  prepareForUpdate(object, old, context) {
    dropAttributesClass(object, old, context)
    const [now, before] = [object, old] as PersistentVolumeClaim[]
    settleDataSources(now?.spec, before?.spec, context)
  },
  ...validation<PersistentVolumeClaim>(validateClaim, validateChange),
  warnings: (object, old) => [
    ...fractionWarnings(object as PersistentVolumeClaim),
    ...simulationWarnings('PersistentVolumeClaim', object, old),
  ],
  subresources: {
    status: {
      prepareForUpdate(object, old, context) {
        restoreAllButStatus(object, old)
        dropAttributesClass(object, old, context)
      },
      validateUpdate: updateValidation<PersistentVolumeClaim>(validateStatus),
    },
  },
}
