/** The resource names of an EncryptionConfiguration: `secrets`, `deployments.apps`, `*.apps`, `*.` (the core group), `*.*`. */
import { apiGroup, type Dialect } from '../../api/dialect.ts'
import { invalidValue } from '../../machinery/validation/field-errors.ts'
import { goQuote, GoText } from '../../machinery/values/go-syntax.ts'
import type { FieldError } from '../../machinery/objects/status-error.ts'

/** A name's two parts; either may be `*`. */
export interface GroupResource {
  readonly group: string
  readonly resource: string
}

/** `roles.rbac.authorization.k8s.io` -> its parts; without a dot the core group (upstream: schema.ParseGroupResource). */
export function parseGroupResource(name: string): GroupResource {
  const dot = name.indexOf('.')
  return dot < 0
    ? { group: '', resource: name }
    : { group: name.slice(dot + 1), resource: name.slice(0, dot) }
}

/** The name as the file spells it: `*.` has its dot. */
export function groupResourceName({ group, resource }: GroupResource): string {
  return group === '' && resource !== '*' ? resource : `${resource}.${group}`
}

/** Types that the store holds and the API does not serve. */
const withoutApi = new Set([
  'apiserveripinfo',
  'serviceipallocations',
  'servicenodeportallocations',
])

function faultOf(name: string, dialect: Dialect): string | undefined {
  if (name.toLowerCase() !== name) return 'resource name should not contain capital letters'
  if (name === '*') {
    return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
  }
  if (withoutApi.has(name)) return 'resources which do not have REST API/s cannot be encrypted'
  const { group, resource } = parseGroupResource(name)
  const events = apiGroup(dialect, 'events')
  if (group === events) {
    return `'*.${events}' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file`
  }
  if (group === 'extensions') {
    return "'extensions' group has been removed and cannot be used for encryption"
  }
  if (group === '*' && resource !== '*') {
    return 'encrypting the same resource across groups is not supported'
  }
  return undefined
}

/** Names of one list must not overlap: their order would choose the provider. */
function overlaps(a: GroupResource, b: GroupResource): boolean {
  if (a.group === '*' && a.resource === '*') return true
  return a.group === b.group && (a.resource === '*' || b.resource === '*')
}

/** What is wrong with the names of one list. */
export function checkResourceNames(
  names: readonly string[],
  at: { path: string; dialect: Dialect },
): FieldError[] {
  const errors: FieldError[] = []
  const parsed = names.map(parseGroupResource)
  const shown = new GoText(`[]string{${names.map(goQuote).join(', ')}}`)
  if (new Set(names).size < names.length) {
    const detail = 'the same resource cannot be specified multiple times'
    errors.push(invalidValue(at.path, { value: shown, detail }))
  }
  const isHidden = parsed.some((a, i) =>
    parsed.some((b, j) => i !== j && names[i] !== names[j] && overlaps(a, b)),
  )
  if (isHidden) {
    const detail =
      "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked"
    errors.push(invalidValue(at.path, { value: shown, detail }))
  }
  for (const [index, name] of names.entries()) {
    const detail = faultOf(name, at.dialect)
    if (detail !== undefined) {
      errors.push(invalidValue(`${at.path}[${index}]`, { value: name, detail }))
    }
  }
  return errors
}
