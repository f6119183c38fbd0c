/** Rules of environment variables and of the field references that also volumes use. */
import type {
  ConfigMapKeySelector,
  EnvFromSource,
  EnvVar,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import {
  configKey,
  environmentName,
  objectNamePrefix,
  qualifiedName,
  subdomain,
} from '../../../../machinery/validation/names.ts'
import { isZeroQuantity, shownQuantity } from '../../rules/quantities.ts'

const environmentFields = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]

export function validateEnvironment(variables: readonly EnvVar[], at: FieldPath): void {
  for (const [i, variable] of variables.entries()) {
    const { name, value, valueFrom } = variable
    if (!name) at.index(i).child('name').required()
    else {
      const messages = environmentName(name)
      if (messages.length > 0) at.index(i).child('name').invalidEach(name, messages)
    }
    if (valueFrom) validateSource(valueFrom, value, at.index(i).child('valueFrom'))
  }
}

function validateSource(
  source: NonNullable<EnvVar['valueFrom']>,
  value: string | undefined,
  at: FieldPath,
): void {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = source
  let sources = 0
  if (fieldRef) {
    sources++
    validateFieldReference(fieldRef, environmentFields, at.child('fieldRef'))
  }
  if (resourceFieldRef) {
    sources++
    validateResourceReference(resourceFieldRef, at.child('resourceFieldRef'))
  }
  if (configMapKeyRef) {
    sources++
    validateKeySelector(configMapKeyRef, at.child('configMapKeyRef'))
  }
  if (secretKeyRef) {
    sources++
    validateKeySelector(secretKeyRef, at.child('secretKeyRef'))
  }
  if (sources === 0) {
    at.invalid(
      '',
      'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`',
    )
  } else if (value) at.invalid('', 'may not be specified when `value` is not empty')
  else if (sources > 1) at.invalid('', 'may not have more than one field specified at a time')
}

// Besides those in the lists of supported ones; upstream converts exactly these labels.
const convertibleFields = new Set([
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.serviceAccountName',
  'spec.schedulerName',
  'status.phase',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
  'spec.host',
])

/** `fieldRef`: a path the downward API knows, perhaps with a subscript for one label or annotation. */
/** `metadata.labels['a']` in its parts (upstream: SplitMaybeSubscriptedPath). */
function splitSubscript(fieldPath: string): { path: string; subscript?: string } {
  const at = fieldPath.indexOf("['")
  if (at < 1 || !fieldPath.endsWith("']") || at + 4 > fieldPath.length) return { path: fieldPath }
  return { path: fieldPath.slice(0, at), subscript: fieldPath.slice(at + 2, -2) }
}

export function validateFieldReference(
  { apiVersion, fieldPath }: ObjectFieldSelector,
  supported: readonly string[],
  at: FieldPath,
): void {
  if (!apiVersion) {
    at.child('apiVersion').required()
    return
  }
  if (!fieldPath) {
    at.child('fieldPath').required()
    return
  }
  const { path, subscript } = splitSubscript(fieldPath)
  if (apiVersion !== 'v1') {
    const why = `unsupported pod version: ${apiVersion}`
    at.child('fieldPath').invalid(fieldPath, `error converting fieldPath: ${why}`)
    return
  }
  const mayHaveSubscript = path === 'metadata.annotations' || path === 'metadata.labels'
  if (subscript === undefined ? !convertibleFields.has(path) : !mayHaveSubscript) {
    const why =
      subscript === undefined
        ? `field label not supported: ${fieldPath}`
        : `field label does not support subscript: ${fieldPath}`
    at.child('fieldPath').invalid(fieldPath, `error converting fieldPath: ${why}`)
    return
  }
  if (subscript !== undefined) {
    const key = path === 'metadata.annotations' ? subscript.toLowerCase() : subscript
    at.invalidEach(key, qualifiedName(key))
  } else if (!supported.includes(path)) at.child('fieldPath').unsupported(path, supported)
}

const containerResources = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
]

/** `resourceFieldRef`. A volume has to name the container. */
export function validateResourceReference(
  reference: ResourceFieldSelector,
  at: FieldPath,
  { needsContainer = false } = {},
): void {
  const { containerName, resource } = reference
  if (needsContainer && !containerName) at.child('containerName').required()
  else if (!resource) at.child('resource').required()
  else if (!containerResources.includes(resource) && !isHugePages(resource)) {
    at.child('resource').unsupported(resource, containerResources)
  }
  validateDivisor(reference, at)
}

function isHugePages(resource: string): boolean {
  return resource.startsWith('limits.hugepages-') || resource.startsWith('requests.hugepages-')
}

const cpuDivisors = ['1m', '1']
const byteDivisors = [
  '1',
  '1k',
  '1M',
  '1G',
  '1T',
  '1P',
  '1E',
  '1Ki',
  '1Mi',
  '1Gi',
  '1Ti',
  '1Pi',
  '1Ei',
]

function validateDivisor({ resource, divisor }: ResourceFieldSelector, at: FieldPath): void {
  if (divisor === undefined || isZeroQuantity(divisor)) return
  const refuse = (supported: string, what: string) => {
    at.child('divisor').invalid(
      resource,
      `only divisor's values ${supported} are supported with the ${what} resource`,
    )
  }
  const shown = shownQuantity(divisor)
  const kind = resource.slice(resource.indexOf('.') + 1)
  if (kind === 'cpu') {
    if (!cpuDivisors.includes(shown)) refuse('1m and 1', 'cpu')
  } else if (byteDivisors.includes(shown)) return
  else if (kind === 'memory') refuse(byteDivisors.join(', '), 'memory')
  else if (kind === 'ephemeral-storage') {
    refuse(byteDivisors.join(', '), 'local ephemeral storage')
  } else if (isHugePages(resource)) refuse(byteDivisors.join(', '), 'hugepages')
}

function validateKeySelector({ name = '', key }: ConfigMapKeySelector, at: FieldPath): void {
  at.child('name').invalidEach(name, subdomain(name))
  if (!key) at.child('key').required()
  else at.child('key').invalidEach(key, configKey(key))
}

export function validateEnvironmentSources(sources: readonly EnvFromSource[], at: FieldPath): void {
  for (const [i, { prefix, configMapRef, secretRef }] of sources.entries()) {
    if (prefix) at.index(i).child('prefix').invalidEach(prefix, environmentName(prefix))
    for (const [field, reference] of Object.entries({ configMapRef, secretRef })) {
      if (reference === undefined) continue
      const nameAt = at.index(i).child(field).child('name')
      if (!reference.name) nameAt.required()
      else nameAt.invalidEach(reference.name, objectNamePrefix(reference.name, 'subdomain'))
    }
    if (!configMapRef && !secretRef) {
      at.invalid('', 'must specify one of: `configMapRef` or `secretRef`')
    } else if (configMapRef && secretRef) {
      at.invalid('', 'may not have more than one field specified at a time')
    }
  }
}
