/** The storage class of a claim, and the default one (upstream: component-helpers/storage/volume, pkg/volume/util/storageclass.go). */
import { labelKey, type Dialect } from './dialect.ts'
import type { PersistentVolumeClaim, StorageClass } from './generated/types.ts'

/** The annotation of old clients wins over the field; '' for a claim of no class. */
export function claimClassName(
  { metadata, spec }: PersistentVolumeClaim,
  dialect: Dialect,
): string {
  return metadata.annotations?.[oldClassAnnotation(dialect)] ?? spec?.storageClassName ?? ''
}

/** Whether the claim says which class it wants, even if that is none. */
export function namesClass({ metadata, spec }: PersistentVolumeClaim, dialect: Dialect): boolean {
  const annotation = metadata.annotations?.[oldClassAnnotation(dialect)]
  return annotation !== undefined || (spec?.storageClassName ?? undefined) !== undefined
}

function oldClassAnnotation(dialect: Dialect): string {
  return labelKey(dialect, 'volume.beta', 'storage-class')
}

/** The newest class that is marked as default; of those as old, the first by name. */
export function defaultStorageClass(
  classes: readonly StorageClass[],
  dialect: Dialect,
): StorageClass | undefined {
  const marks = ['storageclass', 'storageclass.beta'].map((subdomain) =>
    labelKey(dialect, subdomain, 'is-default-class'),
  )
  const created = ({ metadata }: StorageClass): number =>
    Date.parse(metadata.creationTimestamp ?? '')
  return classes
    .filter(({ metadata: { annotations } }) => marks.some((mark) => annotations?.[mark] === 'true'))
    .toSorted(
      (a, b) =>
        created(b) - created(a) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
    )[0]
}
