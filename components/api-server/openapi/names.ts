/** The names of OpenAPI: definitions (`io.k8s.api.core.v1.Pod`), operations (`listCoreV1NamespacedPod`), tags. */
import type { Dialect } from '../../api/dialect.ts'

/** The prefix of vendor extensions. Clients look for these very names, in both dialects. */
export const extension = 'x-kubernetes-'

/** Packages that upstream keeps outside its main API module. */
const elsewhere: Readonly<Record<string, string>> = {
  meta: 'apimachinery.pkg.apis.meta',
  apiextensions: 'apiextensions-apiserver.pkg.apis.apiextensions',
  apiregistration: 'kube-aggregator.pkg.apis.apiregistration',
}

const machinery: Readonly<Record<string, string>> = {
  Time: 'pkg.apis.meta.v1.Time',
  MicroTime: 'pkg.apis.meta.v1.MicroTime',
  Duration: 'pkg.apis.meta.v1.Duration',
  FieldsV1: 'pkg.apis.meta.v1.FieldsV1',
  Patch: 'pkg.apis.meta.v1.Patch',
  Quantity: 'pkg.api.resource.Quantity',
  IntOrString: 'pkg.util.intstr.IntOrString',
  RawExtension: 'pkg.runtime.RawExtension',
  Info: 'pkg.version.Info',
}

function reversed(domain: string): string {
  return domain.split('.').toReversed().join('.')
}

/** `core/v1.Pod` -> `io.k8s.api.core.v1.Pod`. */
export function definitionName(dialect: Dialect, schemaName: string): string {
  const slash = schemaName.indexOf('/')
  const group = schemaName.slice(0, slash)
  const place = Object.hasOwn(elsewhere, group) ? elsewhere[group] : `api.${group}`
  return `${reversed(dialect.apiDomain)}.${place}.${schemaName.slice(slash + 1)}`
}

/** The name of a type that is no struct: a time, a quantity, a patch. */
export function scalarDefinitionName(dialect: Dialect, kind: string): string {
  if (kind === 'JSON') return definitionName(dialect, 'apiextensions/v1.JSON')
  return `${reversed(dialect.apiDomain)}.apimachinery.${machinery[kind]}`
}

/** The name of a custom resource's definition: `com.example.v1.Widget`. */
export function customDefinitionName(group: string, version: string, kind: string): string {
  return `${reversed(group)}.${version}.${kind}`
}

/** The group in names of operations: `core`, `rbacAuthorization`; without the cluster's own domain. */
function groupWords(dialect: Dialect, group: string): string {
  if (group === '') return 'core'
  const own = `.${dialect.apiDomain}`
  const words = (group.endsWith(own) ? group.slice(0, -own.length) : group).split(/[.-]/)
  return words.map((word, index) => (index === 0 ? word : capital(word))).join('')
}

/** `rbacAuthorization_v1`; without a version the group's own tag. */
export function tagOf(dialect: Dialect, group: string, version?: string): string {
  const words = groupWords(dialect, group)
  return version === undefined ? words : `${words}_${version}`
}

/** `RbacAuthorizationV1`. */
export function operationGroup(dialect: Dialect, group: string, version: string): string {
  return capital(groupWords(dialect, group)) + capital(version)
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
