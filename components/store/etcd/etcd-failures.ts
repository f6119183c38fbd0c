/** What failures of etcd mean for a store, by status codes and alarms; messages are only passed on. */
import { grpcCode, GrpcError } from '../../component-base/grpc/grpc-error.ts'
import { messageOf } from '../../component-base/log.ts'
import { StoreError } from '../store.ts'
import type { Alarms } from './etcd-messages.ts'

/** Why one endpoint cannot be used. */
export interface ConnectionFailure {
  /** Waiting does not help: somebody must change a certificate, a password or a version. */
  readonly isLasting: boolean
  readonly message: string
}

/** No endpoint can be used. */
export class EtcdUnreachableError extends Error {
  readonly failures: readonly ConnectionFailure[]
  constructor(failures: readonly ConnectionFailure[]) {
    super(failures.map(({ message }) => message).join('; '))
    this.name = 'EtcdUnreachableError'
    this.failures = failures
  }
}

/** The connection was lost, or time ran out, while etcd had the call: it may have been done, or may be done yet. */
export class OutcomeUnknownError extends Error {
  constructor(cause: unknown) {
    super('the connection to etcd was lost during the call', { cause })
    this.name = 'OutcomeUnknownError'
  }
}

/** OpenSSL's and Node's codes of certificates that are not taken. */
const certificateCode =
  /^(ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA)/

function isOfCertificates(error: GrpcError): boolean {
  const { cause } = error
  return (
    cause instanceof Error &&
    'code' in cause &&
    typeof cause.code === 'string' &&
    certificateCode.test(cause.code)
  )
}

export function connectionFailure(url: string, error: unknown): ConnectionFailure {
  const why = messageOf(error)
  if (!(error instanceof GrpcError)) return { isLasting: false, message: `${url}: ${why}` }
  if (isOfCertificates(error)) {
    const hint = 'check the certificate authority, the client certificate and its key'
    return { isLasting: true, message: `${url} does not take part in TLS: ${why}: ${hint}` }
  }
  switch (error.code) {
    case grpcCode.unimplemented:
      return { isLasting: true, message: `${url} is no etcd that can be used: ${why}` }
    case grpcCode.invalidArgument:
    case grpcCode.unauthenticated:
    case grpcCode.permissionDenied:
      return {
        isLasting: true,
        message: `${url} refuses the user: ${why}: check the name and the password`,
      }
    default:
      return { isLasting: false, message: `${url}: ${why}` }
  }
}

/** The error that a store rejects with for one of a call; other errors stay as they are. `alarms` asks etcd. */
export async function storeFailure(
  error: unknown,
  alarms: () => Promise<Alarms>,
): Promise<unknown> {
  if (error instanceof StoreError || !(error instanceof Error)) return error
  if (!(error instanceof GrpcError)) {
    const isKnown = error instanceof EtcdUnreachableError || error instanceof OutcomeUnknownError
    return isKnown ? unavailable(error) : error
  }
  switch (error.code) {
    case grpcCode.dataLoss:
      return new StoreError('damaged', `etcd is damaged: ${error.message}`, { cause: error })
    case grpcCode.resourceExhausted:
      return await exhausted(error, alarms)
    case grpcCode.invalidArgument:
      return error
    default:
      return unavailable(error)
  }
}

function unavailable(error: Error): StoreError {
  return new StoreError('unavailable', `etcd does not answer: ${messageOf(error)}`, {
    reason: 'etcd does not answer',
    cause: error,
  })
}

async function exhausted(error: GrpcError, alarms: () => Promise<Alarms>): Promise<StoreError> {
  const { isOutOfSpace } = await alarms()
  return isOutOfSpace ? noSpace(error) : unavailable(error)
}

export function noSpace(cause?: unknown): StoreError {
  return new StoreError(
    'no-space',
    'etcd is out of space: delete objects, compact and defragment it, then clear its alarm with "etcdctl alarm disarm"',
    { reason: 'etcd is out of space', cause },
  )
}
