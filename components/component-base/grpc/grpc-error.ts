/** GrpcError: how a call failed (gRPC: doc/statuscodes.md). */

export const grpcCode = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const

export class GrpcError extends Error {
  /** One of `grpcCode`, or a number that the server made up. */
  readonly code: number
  /** The server cannot have begun the call, so that repeating it is safe. */
  readonly isUnsent: boolean
  constructor(
    code: number,
    message: string,
    more: { readonly isUnsent?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'GrpcError'
    this.code = code
    this.isUnsent = more.isUnsent ?? false
  }
}
