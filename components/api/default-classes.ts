/** Classes that are marked as default, and the storage class of a claim (upstream: component-helpers/storage/volume, pkg/volume/util/storageclass.go). */
import type { KubeObject } from '../machinery/objects/object.ts'
import { labelKey, type Dialect } from './dialect.ts'
import type { PersistentVolumeClaim } from './generated/types.ts'

function oldClassAnnotation(dialect: Dialect): string {
  return labelKey(dialect, 'volume.beta', 'storage-class')
}

/** The annotation of old clients wins over the field; '' for a claim of no class. */
export function claimClassName(
  { metadata, spec }: PersistentVolumeClaim,
  dialect: Dialect,
): string {
  return metadata.annotations?.[oldClassAnnotation(dialect)] ?? spec?.storageClassName ?? ''
}

/** Whether the claim says which class it wants, even if it asks for no class. */
export function namesClass({ metadata, spec }: PersistentVolumeClaim, dialect: Dialect): boolean {
  const annotation = metadata.annotations?.[oldClassAnnotation(dialect)]
  return annotation !== undefined || (spec?.storageClassName ?? undefined) !== undefined
}

/** The newest of the classes with one of the annotations `true`; of those as new, the first by name. */
export function newestMarked<T extends KubeObject>(
  classes: readonly T[],
  marks: readonly string[],
): T | undefined {
  const created = ({ metadata }: T): number => Date.parse(metadata.creationTimestamp ?? '') || 0
  return classes
    .filter(({ metadata: { annotations } }) => marks.some((mark) => annotations?.[mark] === 'true'))
    .toSorted(
      (a, b) =>
        created(b) - created(a) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
    )[0]
}

export function defaultStorageClass<T extends KubeObject>(
  classes: readonly T[],
  dialect: Dialect,
): T | undefined {
  const marks = ['storageclass', 'storageclass.beta'].map((subdomain) =>
    labelKey(dialect, subdomain, 'is-default-class'),
  )
  return newestMarked(classes, marks)
}
