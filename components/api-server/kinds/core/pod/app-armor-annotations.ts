/**
 * AppArmor profiles of containers as annotations and as fields: a new Pod gets what it lacks of both, so that nodes of any
 * release read it (upstream: pkg/registry/core/pod/strategy.go applyAppArmorVersionSkew; KEP-24).
 */
import type { Dialect } from '../../../../api/dialect.ts'
import { labelKey } from '../../../../api/dialect.ts'
import type { AppArmorProfile, Container, Pod } from '../../../../api/generated/types.ts'
import { deepEqual } from '../../../../machinery/objects/object.ts'
import { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { containersOf } from './pod-os-validation.ts'
import { validateAppArmor } from './security-context-validation.ts'

const localhost = 'localhost/'

/** Keys end with a container's name. */
export function appArmorPrefix(dialect: Dialect): string {
  return labelKey(dialect, 'container.apparmor.security.beta', '')
}

/** Undefined for a field that no annotation says. */
function annotationFor({ type, localhostProfile }: AppArmorProfile): string | undefined {
  if (type === 'Unconfined') return 'unconfined'
  if (type === 'RuntimeDefault') return 'runtime/default'
  return type === 'Localhost' && localhostProfile !== undefined
    ? `${localhost}${localhostProfile}`
    : undefined
}

/** Undefined for an annotation without a valid field. */
function fieldFor(annotation: string): AppArmorProfile | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' }
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' }
  if (!annotation.startsWith(localhost)) return undefined
  const profile = { type: 'Localhost', localhostProfile: annotation.slice(localhost.length) }
  const root = FieldPath.root()
  validateAppArmor(profile, root)
  return root.errors.length === 0 ? profile : undefined
}

interface Annotated {
  readonly container: Container
  readonly key: string
  readonly annotation: string | undefined
}

function annotatedContainers({ metadata, spec }: Pod, dialect: Dialect): Annotated[] {
  if (spec === undefined || spec.os?.name === 'windows') return []
  return containersOf(spec, FieldPath.root()).map(({ container }) => {
    const key = `${appArmorPrefix(dialect)}${container.name}`
    return { container, key, annotation: metadata.annotations?.[key] }
  })
}

const isFieldMissing = ({ container, annotation }: Annotated): boolean =>
  annotation !== undefined && container.securityContext?.appArmorProfile === undefined

/** Warnings about annotations of a new Pod without their fields. Ask before `syncAppArmor`. */
export function appArmorWarnings(pod: Pod, dialect: Dialect): string[] {
  const ofPod = pod.spec?.securityContext?.appArmorProfile
  return annotatedContainers(pod, dialect)
    .filter(isFieldMissing)
    .filter(({ annotation = '' }) => {
      const field = fieldFor(annotation)
      return field === undefined || !deepEqual(field, ofPod)
    })
    .map(
      ({ key }) =>
        `metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`,
    )
}

/** Changes the draft of a new Pod: annotations that its fields say, and fields that its annotations say. */
export function syncAppArmor(pod: Pod, dialect: Dialect): void {
  const ofPod = pod.spec?.securityContext?.appArmorProfile
  for (const each of annotatedContainers(pod, dialect)) {
    const { container, key, annotation } = each
    const field = container.securityContext?.appArmorProfile ?? ofPod
    const added = field && annotation === undefined ? annotationFor(field) : undefined
    if (added !== undefined)
      pod.metadata.annotations = { ...pod.metadata.annotations, [key]: added }
    if (!isFieldMissing(each)) continue
    const appArmorProfile = fieldFor(annotation ?? '')
    if (appArmorProfile !== undefined && !deepEqual(appArmorProfile, ofPod))
      container.securityContext = { ...container.securityContext, appArmorProfile }
  }
}
