/** Rules of a claim's spec, which PersistentVolumeClaims and templates of them share. */
import type { Dialect } from '../../../api/dialect.ts'
import type { FeatureGates } from '../../../api/feature-gates.ts'
import type {
  PersistentVolumeClaimSpec,
  TypedObjectReference,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { GoText } from '../../../machinery/values/go-syntax.ts'
import { validateLabelSelector } from '../../../machinery/validation/label-validation.ts'
import { label1123, subdomain } from '../../../machinery/validation/names.ts'
import { validateOneOf } from '../rules/field-rules.ts'
import { compareAmounts, shownQuantity } from '../rules/quantities.ts'
import { validateResourceAmount } from '../rules/resource-list.ts'

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
export const volumeModes = ['Block', 'Filesystem']

/** Access modes are known ones, and the exclusive one stands alone. */
export function validateAccessModes(modes: readonly string[], at: FieldPath): void {
  for (const mode of modes) validateOneOf(mode, accessModes, at)
  const known = modes.filter((mode) => accessModes.includes(mode))
  if (known.includes('ReadWriteOncePod') && known.some((mode) => mode !== 'ReadWriteOncePod')) {
    at.forbidden('may not use ReadWriteOncePod with other access modes')
  }
}

export function validateClaimSpec(
  spec: PersistentVolumeClaimSpec,
  at: FieldPath,
  { dialect, gates }: { readonly dialect: Dialect; readonly gates?: FeatureGates },
): void {
  const modes = spec.accessModes ?? []
  if (modes.length === 0) at.child('accessModes').required('at least 1 access mode is required')
  validateLabelSelector(spec.selector, at.child('selector'))
  validateAccessModes(modes, at.child('accessModes'))

  const storageAt = at.child('resources').key('storage')
  const amount = spec.resources?.requests?.['storage']
  if (amount === undefined) storageAt.required()
  else if (compareAmounts(amount, '0') <= 0) {
    storageAt.invalid(shownQuantity(amount), 'must be greater than zero')
  } else validateResourceAmount({ name: 'storage', amount, dialect }, storageAt)

  if (spec.storageClassName) {
    at.child('storageClassName').invalidEach(
      spec.storageClassName,
      subdomain(spec.storageClassName),
    )
  }
  validateOneOf(spec.volumeMode, volumeModes, at.child('volumeMode'))
  const { volumeAttributesClassName: attributesClass } = spec
  if (attributesClass && gates?.VolumeAttributesClass === true) {
    at.child('volumeAttributesClassName').invalidEach(attributesClass, subdomain(attributesClass))
  }
  validateDataSources(spec, at)
}

function validateDataSources(spec: PersistentVolumeClaimSpec, at: FieldPath): void {
  const { dataSource, dataSourceRef } = spec
  if (dataSource) validateDataSource(dataSource, at.child('dataSource'))
  if (dataSourceRef) validateDataSource(dataSourceRef, at.child('dataSourceRef'))
  if (!dataSource || !dataSourceRef) return
  const shown = new GoText(at.child('dataSource').toString())
  if (dataSourceRef.namespace) {
    at.invalid(shown, 'may not be specified when dataSourceRef.namespace is specified')
  } else if (
    dataSource.apiGroup !== dataSourceRef.apiGroup ||
    dataSource.kind !== dataSourceRef.kind ||
    dataSource.name !== dataSourceRef.name
  ) {
    at.invalid(shown, 'must match dataSourceRef')
  }
}

function validateDataSource(source: TypedObjectReference, at: FieldPath): void {
  const { name, kind, apiGroup, namespace } = source
  if (!name) at.child('name').required()
  if (!kind) at.child('kind').required()
  if (apiGroup) at.child('apiGroup').invalidEach(apiGroup, subdomain(apiGroup))
  else if (kind !== 'PersistentVolumeClaim') {
    at.invalid(kind ?? '', "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
  }
  if (namespace) at.child('namespace').invalidEach(namespace, label1123(namespace))
}
