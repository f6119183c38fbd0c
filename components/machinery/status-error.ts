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
  StoreReadError: 500,
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

  constructor(
    reason: Reason,
    message: string,
    more: { details?: StatusDetails; code?: number; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'StatusError'
    this.reason = reason
    this.code = more.code ?? reasonCodes[reason]
    this.details = more.details
  }

  /** The body that goes on the wire. */
  toStatus(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
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
    return new StatusError(reason, status.message ?? `the server answered ${httpCode}`, {
      code: status.code ?? httpCode,
      ...(status.details === undefined ? {} : { details: status.details }),
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

/** 422 with one cause per field error; `kind` is the object's kind, as upstream. */
export function invalid(
  kind: { group: string; kind: string },
  name: string,
  errors: readonly FieldError[],
): StatusError {
  // A finding made twice is one line of the message and two causes, as upstream.
  const lines = [...new Set(errors.map((error) => `${error.field}: ${error.message}`))]
  const list = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`
  const qualifiedKind = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`
  return new StatusError('Invalid', `${qualifiedKind} "${name}" is invalid: ${list}`, {
    details: {
      ...(name === '' ? {} : { name }),
      ...(kind.group === '' ? {} : { group: kind.group }),
      kind: kind.kind,
      causes: errors.map(({ type, message, field }) => ({ reason: type, message, field })),
    },
  })
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

export function expired(message: string): StatusError {
  return new StatusError('Expired', message)
}

export function isStatusError(error: unknown, ...reasons: Reason[]): error is StatusError {
  return error instanceof StatusError && (reasons.length === 0 || reasons.includes(error.reason))
}
