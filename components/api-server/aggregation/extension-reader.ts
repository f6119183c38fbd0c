/**
 * ExtensionReader: the requests of this server itself to extension API servers: short, bounded reads as system:kube-
 * aggregator.
 */
import { realOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { RemoteApiService } from './api-service-table.ts'
import { authorityOf, type ExtensionConnections, type Place } from './extension-connections.ts'
import { identityHeaders } from './identity-headers.ts'

const timeoutMs = 5000
/** OpenAPI documents are large. */
const mostBytes = 32 * 1024 * 1024

/** May do everything, as upstream. */
const aggregator = { name: 'system:kube-aggregator', groups: ['system:masters'] }

export interface ExtensionAnswer {
  readonly status: number
  readonly contentType: string
  readonly etag: string | undefined
  readonly body: Buffer
}

export interface ExtensionReader {
  /**
   * Rejects with an Error when the answer is not complete in time. `isTrusting` skips the verification of the server's
   * certificate.
   */
  get(
    remote: RemoteApiService,
    ask: {
      readonly path: string
      readonly accept?: string
      /** Answered 304 when the document still has this tag. */
      readonly etag?: string | undefined
      readonly place?: Place
      readonly isTrusting?: boolean
      readonly signal: AbortSignal
    },
  ): Promise<ExtensionAnswer>
}

export function createExtensionReader(
  connections: ExtensionConnections,
  clock: Clock,
): ExtensionReader {
  return {
    async get(remote, { path, accept, etag, place, isTrusting = false, signal }) {
      const late = new AbortController()
      const cancel = realOf(clock).after(timeoutMs, () => late.abort())
      try {
        const at = place ?? connections.placeOf(remote)
        const incoming = await connections.send(remote, {
          place: at,
          isTrusting,
          ask: {
            method: 'GET',
            path,
            headers: {
              host: authorityOf(at),
              ...(accept === undefined ? {} : { accept }),
              ...(etag === undefined ? {} : { 'if-none-match': etag }),
              ...identityHeaders(aggregator, false),
            },
            signal: AbortSignal.any([signal, late.signal]),
          },
        })
        const chunks: Buffer[] = []
        let size = 0
        for await (const chunk of incoming as AsyncIterable<Buffer>) {
          size += chunk.length
          if (size > mostBytes) throw new Error(`the answer is larger than ${mostBytes} bytes`)
          chunks.push(chunk)
        }
        const { statusCode = 0, headers } = incoming
        return {
          status: statusCode,
          contentType: headers['content-type'] ?? '',
          etag: headers.etag,
          body: Buffer.concat(chunks),
        }
      } catch (error) {
        if (!late.signal.aborted || signal.aborted) throw error
        const why = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
        throw new Error(why, { cause: error })
      } finally {
        cancel()
      }
    },
  }
}
