/** body-kind: whether a body is of the kind a request wants, with upstream's messages for every way in which it is not. */
import { formerVersions } from '../api/lifecycles/former-versions.ts'
import { packageOfVersion, resourcesOf } from '../api/resources.ts'
import { findSchema } from '../api/schemas.ts'
import type { Dialect } from '../api/dialect.ts'
import { invalidValue } from '../machinery/field-errors.ts'
import type { KubeObject } from '../machinery/object.ts'
import type { CustomKind } from '../machinery/resource.ts'
import { badRequest, invalid, type StatusError } from '../machinery/status-error.ts'

/** The kind whose form a body to this resource or sub-resource has. */
export interface BodyKind {
  readonly kind: string
  readonly apiVersion: string
  readonly schema: string
  /** Set for custom kinds, which have no schema of that name. */
  readonly custom?: CustomKind | undefined
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

/** Objects of custom kinds say what they are. */
function checkCustomKind(value: Record<string, unknown>, wanted: BodyKind): void {
  const { kind = '', apiVersion = '' } = value as Partial<KubeObject>
  if (kind === '') {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${wanted.kind}): Object 'Kind' is missing in '${JSON.stringify(value)}'`,
    )
  }
  if (apiVersion !== wanted.apiVersion) throw otherVersion(apiVersion, wanted)
  if (kind === wanted.kind) return
  const name = (value as Partial<KubeObject>).metadata?.name
  const [group = ''] = wanted.apiVersion.split('/')
  throw invalid({ group, kind: wanted.kind }, typeof name === 'string' ? name : '', [
    invalidValue('kind', { value: kind, detail: `must be ${wanted.kind}` }),
  ])
}

/** Throws a 400 unless the value is, or does not say that it is not, of that kind and version. */
export function checkKind(
  value: Record<string, unknown>,
  wanted: BodyKind,
  dialect: Dialect,
): void {
  const sentKind = value['kind']
  const sentVersion = value['apiVersion']
  if (sentKind !== undefined && typeof sentKind !== 'string') {
    throw badRequest("couldn't get version/kind; json parse error: kind is not a string")
  }
  if (sentVersion !== undefined && typeof sentVersion !== 'string') {
    throw badRequest("couldn't get version/kind; json parse error: apiVersion is not a string")
  }
  if (wanted.custom !== undefined) {
    checkCustomKind(value, wanted)
    return
  }
  const kind = sentKind || wanted.kind
  const apiVersion = sentVersion || wanted.apiVersion
  const isAccepted =
    apiVersion === wanted.apiVersion || wanted.alsoAccepted?.includes(apiVersion) === true
  if (kind === wanted.kind && isAccepted) return
  if (!isRegistered(kind, apiVersion, dialect)) {
    throw unusable(
      { kind, apiVersion },
      wanted,
      `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/api/legacyscheme/scheme.go:30"`,
    )
  }
  if (kind === wanted.kind) throw otherVersion(apiVersion, wanted)
  const hub = wanted.schema.slice(0, wanted.schema.indexOf('/'))
  throw unusable(
    { kind, apiVersion },
    wanted,
    `converting (${versionPart(apiVersion)}.${kind}) to (${hub}.${wanted.kind}): unknown conversion`,
  )
}

function unusable(
  sent: { kind: string; apiVersion: string },
  wanted: BodyKind,
  why: string,
): StatusError {
  return badRequest(
    `${sent.kind} in version "${versionPart(sent.apiVersion)}" cannot be handled as a ${wanted.kind}: ${why}`,
  )
}
