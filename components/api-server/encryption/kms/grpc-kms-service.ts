/**
 * A KMS plugin behind a Unix socket (upstream: envelope/kmsv2/grpc_service.go). A call waits for a plugin that does not listen
 * yet or starts anew, as upstream's do, for as long as the call may take.
 */
import type { Clock } from '../../../component-base/clock.ts'
import { GrpcClient } from '../../../component-base/grpc/grpc-client.ts'
import { grpcCode, GrpcError } from '../../../component-base/grpc/grpc-error.ts'
import { messageOf } from '../../../component-base/log.ts'
import {
  decryptRequest,
  encryptRequest,
  readDecryptResponse,
  readEncryptResponse,
  readStatusResponse,
  statusRequest,
} from './kms-messages.ts'
import { KmsError, type KmsService } from './kms-service.ts'

const retryMs = 100

/** Codes as Go's library names them, which metrics and errors show. */
const codeNames = new Map<number, string>(
  Object.entries(grpcCode).map(([name, code]) => [
    code,
    code === grpcCode.ok
      ? 'OK'
      : code === grpcCode.cancelled
        ? 'Canceled'
        : `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
  ]),
)

function codeName(code: number): string {
  return codeNames.get(code) ?? `Code(${code})`
}

export interface GrpcKmsOptions {
  /** Of the socket; a NUL at the start makes it an abstract one. */
  readonly path: string
  readonly timeoutMs: number
  readonly clock: Clock
  /** Told of each call. `status` is a gRPC code's name, `unknown-non-grpc` for an answer that is no message. */
  readonly observe: (call: { method: string; status: string; seconds: number }) => void
}

export function createGrpcKmsService(options: GrpcKmsOptions): KmsService {
  const { path, timeoutMs, clock, observe } = options
  const closing = new AbortController()
  let client: GrpcClient | undefined

  function connection(): GrpcClient {
    if (client?.isOpen !== true) client = new GrpcClient({ address: { path }, clock })
    return client
  }

  async function answerOf(method: string, message: Buffer): Promise<Buffer> {
    const startMs = clock.elapsed()
    for (;;) {
      const leftMs = Math.max(1, timeoutMs - (clock.elapsed() - startMs))
      try {
        const { signal } = closing
        return await connection().unary(method, message, { deadlineMs: leftMs, signal })
      } catch (error) {
        if (!(error instanceof GrpcError) || closing.signal.aborted) throw error
        // Every call may be repeated, so a connection that broke is no answer.
        if (!error.isUnsent && client?.isOpen === true) throw error
        if (clock.elapsed() - startMs + retryMs >= timeoutMs) {
          const what = `no plugin listened within ${timeoutMs} ms: ${error.message}`
          throw new GrpcError(grpcCode.deadlineExceeded, what, { cause: error })
        }
      }
      await clock.sleep(retryMs, closing.signal)
    }
  }

  async function call<T>(name: string, message: Buffer, read: (answer: Buffer) => T): Promise<T> {
    const method = `/v2.KeyManagementService/${name}`
    const startMs = clock.elapsed()
    let status = 'unknown-non-grpc'
    try {
      const answer = read(await answerOf(method, message))
      status = codeName(grpcCode.ok)
      return answer
    } catch (error) {
      if (error instanceof GrpcError) status = codeName(error.code)
      else if (closing.signal.aborted) status = codeName(grpcCode.cancelled)
      // A socket's NUL would end the line in some terminals.
      const what = messageOf(error).replaceAll('\0', '@')
      throw new KmsError(`rpc error: code = ${status} desc = ${what}`, error, status)
    } finally {
      observe({ method, status, seconds: (clock.elapsed() - startMs) / 1000 })
    }
  }

  return {
    status: () => call('Status', statusRequest, readStatusResponse),
    encrypt: (uid, plaintext) =>
      call('Encrypt', encryptRequest(uid, plaintext), readEncryptResponse),
    decrypt: (uid, encrypted) =>
      call('Decrypt', decryptRequest(uid, encrypted), readDecryptResponse),
    close: () => {
      closing.abort(new Error('the KMS provider is no longer in use'))
      client?.close()
    },
  }
}
