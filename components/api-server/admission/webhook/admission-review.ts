/** AdmissionReview: builds the reviews for webhooks and reads their answers (upstream: plugin/webhook/request). */
import { apiGroup, type Dialect } from '../../../api/dialect.ts'
import { apiVersionOf, type Resource } from '../../../machinery/objects/resource.ts'
import type { AdmissionRequest } from '../admission.ts'
import { kindOf, namespaceOf, optionsOf } from './reviewed-request.ts'

/** The request in the version that a webhook's rules matched. */
export interface Invocation {
  readonly matched: Resource
  readonly object: unknown
  readonly old: unknown
  readonly isNameHidden: boolean
}

/** The `request` of a review, in upstream's order of fields. */
export function reviewRequestOf(
  request: AdmissionRequest,
  invocation: Invocation,
  more: { readonly uid: string; readonly dialect: Dialect },
): Record<string, unknown> {
  const { resource, subresource, operation, user, dryRun } = request
  const { matched, object, old, isNameHidden } = invocation
  const namespace = namespaceOf(request)
  const name = isNameHidden ? '' : request.name
  const isNamespace = matched.group === '' && matched.plural === 'namespaces'
  const resourceOf = ({ group, version, plural }: Resource) => ({
    group,
    version,
    resource: plural,
  })
  return {
    uid: more.uid,
    kind: kindOf(matched, subresource),
    resource: resourceOf(matched),
    ...(subresource === '' ? {} : { subResource: subresource }),
    requestKind: kindOf(resource, subresource),
    requestResource: resourceOf(resource),
    ...(subresource === '' ? {} : { requestSubResource: subresource }),
    ...(name === '' ? {} : { name }),
    ...(namespace === '' || (isNamespace && name === '') ? {} : { namespace }),
    operation,
    userInfo: {
      username: user.name,
      ...(user.uid ? { uid: user.uid } : {}),
      ...(user.groups.length === 0 ? {} : { groups: user.groups }),
      ...(Object.keys(user.extra ?? {}).length === 0 ? {} : { extra: user.extra }),
    },
    object: object ?? null,
    oldObject: old ?? null,
    dryRun,
    options: optionsOf(request, more.dialect),
  }
}

export function reviewApiVersion(dialect: Dialect, version: string): string {
  return apiVersionOf({ group: apiGroup(dialect, 'admission'), version })
}

export interface Verdict {
  readonly allowed: boolean
  /** A Status, as sent. */
  readonly result: Readonly<Record<string, unknown>> | undefined
  /** Base64. */
  readonly patch: string
  readonly patchType: string
  readonly warnings: readonly string[]
  readonly auditAnnotations: Readonly<Record<string, string>>
}

interface Answered {
  readonly apiVersion?: unknown
  readonly kind?: unknown
  readonly response?: Readonly<Record<string, unknown>> | null
}

function checkV1(
  review: Answered,
  response: Readonly<Record<string, unknown>>,
  asked: { uid: string; apiVersion: string; isMutating: boolean },
): void {
  const { uid, patch, patchType } = response
  if (uid !== asked.uid) {
    throw new Error(`expected response.uid="${asked.uid}", got ${JSON.stringify(uid ?? '')}`)
  }
  if (review.apiVersion !== asked.apiVersion || review.kind !== 'AdmissionReview') {
    const shown = (value: unknown) => (typeof value === 'string' ? value : '')
    const got = `${shown(review.apiVersion)}, Kind=${shown(review.kind)}`
    throw new Error(
      `expected webhook response of ${asked.apiVersion}, Kind=AdmissionReview, got ${got}`,
    )
  }
  if (!asked.isMutating) return
  if (patch && (patchType === undefined || patchType === null)) {
    throw new Error('webhook returned response.patch but not response.patchType')
  }
  if (!patch && patchType !== undefined && patchType !== null) {
    throw new Error('webhook returned response.patchType but not response.patch')
  }
  if (patch && patchType === '')
    throw new Error('webhook returned invalid response.patchType of ""')
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textList(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

/** A webhook's verdict. Throws an Error for an invalid answer. v1beta1 webhooks need not repeat uid and version. */
export function verdictOf(
  value: unknown,
  asked: { uid: string; apiVersion: string; isMutating: boolean },
): Verdict {
  if (!isRecord(value)) throw new Error('webhook response was absent')
  const { response } = value as Answered
  if (!isRecord(response)) throw new Error('webhook response was absent')
  if (asked.apiVersion.endsWith('/v1')) checkV1(value, response, asked)
  const { allowed, status, patch, patchType, warnings, auditAnnotations } = response
  const isPatched = asked.isMutating && typeof patch === 'string' && patch !== ''
  const annotations = isRecord(auditAnnotations) ? Object.entries(auditAnnotations) : []
  return {
    allowed: allowed === true,
    result: isRecord(status) ? status : undefined,
    patch: isPatched ? patch : '',
    patchType: typeof patchType === 'string' ? patchType : 'JSONPatch',
    warnings: textList(warnings),
    auditAnnotations: Object.fromEntries(
      annotations.filter((one): one is [string, string] => typeof one[1] === 'string'),
    ),
  }
}
