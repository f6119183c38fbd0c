/** StatusError: the one error that crosses the wire, with upstream's closed set of reasons. */
import { qualifiedName, type Resource } from './resource.ts'

/** Reason -> HTTP code (upstream: apimachinery pkg/apis/meta/v1 StatusReason). */
export const reasonCodes = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  StorageReadError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
  ServerTimeout: 500,
  '': 500,
} as const

export type Reason = keyof typeof reasonCodes

export interface StatusCause {
  reason?: string
  message?: string
  field?: string
}

export interface StatusDetails {
  name?: string
  group?: string
  kind?: string
  uid?: string
  causes?: StatusCause[]
  retryAfterSeconds?: number
}

export interface Status {
  kind: 'Status'
  apiVersion: 'v1'
  metadata: Record<string, unknown>
  status: 'Success' | 'Failure'
  message?: string
  reason?: Reason
  details?: StatusDetails
  code: number
}

/** One fault in an object. `type` is upstream's field.ErrorType; `message` is the text after the path. */
export interface FieldError {
  readonly field: string
  readonly type:
    | 'FieldValueNotFound'
    | 'FieldValueRequired'
    | 'FieldValueDuplicate'
    | 'FieldValueInvalid'
    | 'FieldValueNotSupported'
    | 'FieldValueForbidden'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueTypeInvalid'
    | 'InternalError'
  /** The whole body without the path: `Required value: name or generateName is required`. */
  readonly message: string
}

export class StatusError extends Error {
  readonly reason: Reason
  readonly code: number
  readonly details: StatusDetails | undefined
  /** With an expired page: the token that goes on from there, without being consistent with the pages before. */
  readonly continue: string | undefined

  constructor(
    reason: Reason,
    message: string,
    more: { details?: StatusDetails; code?: number; continue?: string; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'StatusError'
    this.reason = reason
    this.code = more.code ?? reasonCodes[reason]
    this.details = more.details
    this.continue = more.continue
  }

  /** The body that goes on the wire. */
  toStatus(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.continue === undefined ? {} : { continue: this.continue },
      status: 'Failure',
      message: this.message,
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    }
  }

  /** Rebuilds the error from a received Status body; unknown reasons become ''. */
  static fromStatus(status: Partial<Status>, httpCode: number): StatusError {
    const reason = status.reason !== undefined && status.reason in reasonCodes ? status.reason : ''
    const token = status.metadata?.['continue']
    return new StatusError(reason, status.message ?? `the server answered ${httpCode}`, {
      code: status.code ?? httpCode,
      ...(status.details === undefined ? {} : { details: status.details }),
      ...(typeof token === 'string' ? { continue: token } : {}),
    })
  }
}

type Named = Pick<Resource, 'group' | 'plural'>

function detailsOf(resource: Named, name: string): StatusDetails {
  return {
    ...(name === '' ? {} : { name }),
    ...(resource.group === '' ? {} : { group: resource.group }),
    kind: resource.plural,
  }
}

/** The server is overloaded; Retry-After says when to retry. */
export function tooManyRequests(retryAfterSeconds = 1): StatusError {
  return new StatusError('TooManyRequests', 'Too many requests, please try again later.', {
    details: { retryAfterSeconds },
  })
}

export function badRequest(message: string): StatusError {
  return new StatusError('BadRequest', message)
}

export function notFound(resource: Named, name: string): StatusError {
  return new StatusError('NotFound', `${qualifiedName(resource)} "${name}" not found`, {
    details: detailsOf(resource, name),
  })
}

/** The generic 404 of a path that no resource serves. */
export function noSuchResource(): StatusError {
  return new StatusError('NotFound', 'the server could not find the requested resource', {
    details: {},
  })
}

export function methodNotAllowed(): StatusError {
  return new StatusError(
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    { details: {} },
  )
}

export function alreadyExists(resource: Named, name: string): StatusError {
  return new StatusError('AlreadyExists', `${qualifiedName(resource)} "${name}" already exists`, {
    details: detailsOf(resource, name),
  })
}

export function conflict(resource: Named, name: string, why: string): StatusError {
  return new StatusError(
    'Conflict',
    `Operation cannot be fulfilled on ${qualifiedName(resource)} "${name}": ${why}`,
    { details: detailsOf(resource, name) },
  )
}

/** The text of every lost optimistic-concurrency race. */
export const objectModified =
  'the object has been modified; please apply your changes to the latest version and try again'

export function forbidden(resource: Named, name: string, why: string): StatusError {
  const what = name === '' ? qualifiedName(resource) : `${qualifiedName(resource)} "${name}"`
  return new StatusError('Forbidden', `${what} is forbidden: ${why}`, {
    details: detailsOf(resource, name),
  })
}

/** Texts of several errors as one, each once: one alone as it is, more in brackets (upstream: util/errors NewAggregate). */
export function joinedErrors(texts: readonly string[]): string {
  const distinct = [...new Set(texts)]
  return distinct.length === 1 ? distinct.join('') : `[${distinct.join(', ')}]`
}

/** 422 with one cause per field error; `kind` is the object's kind, as upstream. */
export function invalid(
  kind: { group: string; kind: string },
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const shown = errorsShown(errors)
  // A finding made twice is one line of the message and two causes, as upstream.
  const lines = [...new Set(shown.map((error) => `${error.field}: ${error.message}`))]
  if (shown.length < errors.length) lines.push(`and ${errors.length - shown.length} more`)
  const list = joinedErrors(lines)
  const qualifiedKind = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`
  const shownName = cut(name, longestName)
  return new StatusError('Invalid', `${qualifiedKind} "${shownName}" is invalid: ${list}`, {
    details: {
      ...(shownName === '' ? {} : { name: shownName }),
      ...(kind.group === '' ? {} : { group: kind.group }),
      ...(kind.kind === '' ? {} : { kind: kind.kind }),
      causes: shown.map(({ type, message, field }) => ({ reason: type, message, field })),
    },
  })
}

/** No name that is valid is as long. */
const longestName = 1024
const longestText = 64 * 1024
/** All texts of one refusal together, in characters. */
const mostText = 512 * 1024

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}...`
}

/** As many as a person could read: a small request can have a hundred thousand faults, and each repeats what it found. */
function errorsShown(errors: readonly FieldError[]): readonly FieldError[] {
  const shown: FieldError[] = []
  let length = 0
  for (const error of errors) {
    const { field, message } = error
    length += Math.min(field.length, longestText) + Math.min(message.length, longestText)
    if (length > mostText) break
    const isShort = field.length <= longestText && message.length <= longestText
    shown.push(
      isShort
        ? error
        : { ...error, field: cut(field, longestText), message: cut(message, longestText) },
    )
  }
  return shown
}

export function unauthorized(): StatusError {
  return new StatusError('Unauthorized', 'Unauthorized')
}

export function internalError(why: string, cause?: unknown): StatusError {
  return new StatusError('InternalError', `Internal error occurred: ${why}`, {
    details: { causes: [{ message: why }] },
    ...(cause === undefined ? {} : { cause }),
  })
}

/** `token` lets a client go on with an expired page. */
export function expired(message: string, token?: string): StatusError {
  return new StatusError('Expired', message, token === undefined ? {} : { continue: token })
}

export function isStatusError(error: unknown, ...reasons: Reason[]): error is StatusError {
  return error instanceof StatusError && (reasons.length === 0 || reasons.includes(error.reason))
}
