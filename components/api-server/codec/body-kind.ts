/** body-kind: whether a body is of the kind a request wants, with upstream's messages for every way in which it is not. */
import { formerVersions } from '../../api/lifecycles/former-versions.ts'
import { packageOfVersion, resourcesOf } from '../../api/resources.ts'
import { findSchema } from '../../api/schemas.ts'
import type { Dialect } from '../../api/dialect.ts'
import { jsonKind } from '../../machinery/schema/decode-context.ts'
import { invalidValue } from '../../machinery/validation/field-errors.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { ObjectKind } from '../../machinery/objects/resource.ts'
import { badRequest, invalid, type StatusError } from '../../machinery/objects/status-error.ts'
import type { DecodeWording } from './decode-wording.ts'

/** The kind whose form a body to this resource or sub-resource has. */
export interface BodyKind {
  readonly kind: string
  readonly apiVersion: string
  readonly schema: string
  /** Of bodies that are objects of a resource. */
  readonly objects?: ObjectKind | undefined
  /** Other versions of the same form that a body may name. */
  readonly alsoAccepted?: readonly string[]
}

/** `v1`, or the part after the slash: how messages name a version. */
export function versionPart(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf('/') + 1)
}

/** Whether release 1.32 knows the kind in that version, served or not. */
function isRegistered(kind: string, apiVersion: string, dialect: Dialect): boolean {
  const packageName = packageOfVersion(apiVersion, resourcesOf(dialect))
  if (packageName === undefined) return false
  if (findSchema(`${packageName}.${kind}`) !== undefined) return true
  return formerVersions.some(
    (former) => former.kind === kind && former.groupVersion === packageName,
  )
}

function otherVersion(apiVersion: string, wanted: BodyKind): StatusError {
  return badRequest(
    `the API version in the data (${apiVersion}) does not match the expected API version (${wanted.apiVersion})`,
  )
}

/** For kinds whose bodies must name their kind and version. */
function checkNamedKind(
  value: Record<string, unknown>,
  wanted: BodyKind,
  wording: DecodeWording,
): void {
  const { kind = '', apiVersion = '' } = value as Partial<KubeObject>
  if (kind === '') {
    throw wording.unrecognized(`Object 'Kind' is missing in '${JSON.stringify(value)}'`)
  }
  if (apiVersion !== wanted.apiVersion) throw otherVersion(apiVersion, wanted)
  if (kind === wanted.kind) return
  const name = (value as Partial<KubeObject>).metadata?.name
  const [group = ''] = wanted.apiVersion.split('/')
  throw invalid({ group, kind: wanted.kind }, typeof name === 'string' ? name : '', [
    invalidValue('kind', { value: kind, detail: `must be ${wanted.kind}` }),
  ])
}

function textIn(
  value: Record<string, unknown>,
  field: 'kind' | 'apiVersion',
  wording: DecodeWording,
): string {
  const text = value[field] ?? ''
  if (typeof text === 'string') return text
  throw wording.unrecognized(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonKind(text)} into Go struct field .${field} of type string`,
  )
}

/** Throws unless the value is, or does not say that it is not, of that kind and version. */
export function checkKind(
  value: Record<string, unknown>,
  wanted: BodyKind,
  { dialect, wording }: { dialect: Dialect; wording: DecodeWording },
): void {
  const kind = textIn(value, 'kind', wording) || wanted.kind
  const apiVersion = textIn(value, 'apiVersion', wording) || wanted.apiVersion
  if (wanted.objects?.mustNameKind === true) {
    checkNamedKind(value, wanted, wording)
    return
  }
  const isAccepted =
    apiVersion === wanted.apiVersion || wanted.alsoAccepted?.includes(apiVersion) === true
  if (kind === wanted.kind && isAccepted) return
  if (!isRegistered(kind, apiVersion, dialect)) {
    throw wording.unusable(
      { kind, apiVersion },
      `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/api/legacyscheme/scheme.go:30"`,
    )
  }
  if (kind === wanted.kind) throw otherVersion(apiVersion, wanted)
  const hub = wanted.schema.slice(0, wanted.schema.indexOf('/'))
  throw wording.unusable(
    { kind, apiVersion },
    `converting (${versionPart(apiVersion)}.${kind}) to (${hub}.${wanted.kind}): unknown conversion`,
  )
}
