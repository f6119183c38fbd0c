/** One request on an open HTTP/2 connection, and its answer as chunks or as a whole. Faults are ConnectionErrors. */
import { constants } from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2'
import type { Clock } from '../component-base/clock.ts'
import { ConnectionError } from './connection-error.ts'
import type { ConnectionErrorCode } from './connection-error.ts'

/** An answer whose head has come. The rest is read once, in one of two ways. */
export interface Head {
  readonly headers: IncomingHttpHeaders
  readonly status: number
  /** The whole body. */
  body(): Promise<Buffer>
  /** Ends only when the server ended the answer. Leaving the loop cancels the request. */
  chunks(): AsyncIterable<Buffer>
}

const codes: Readonly<Record<string, ConnectionErrorCode>> = {
  ECONNREFUSED: 'refused',
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ETIMEDOUT: 'timeout',
}
const trustCodes = /CERT|SIGNED|ISSUER|ERR_TLS|SSL|VERIFY/

function connectionError(error: unknown, server: string): ConnectionError {
  if (error instanceof ConnectionError) return error
  // A stream that never began hides why its connection failed in its cause.
  const { cause } = error as Error
  const root = cause instanceof Error ? cause : (error as Error)
  if (root instanceof ConnectionError) return root
  const { code = '', message } = root as NodeJS.ErrnoException
  const kind = codes[code] ?? (trustCodes.test(code) ? 'untrusted' : 'lost')
  return new ConnectionError(kind, `${server}: ${message}`, root)
}

export interface Exchange {
  readonly server: string
  readonly headers: Record<string, string | number | string[]>
  readonly payload: Buffer | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
  readonly clock: Clock
}

/** Resolves with the answer's head. Rejects with `signal.reason` when aborted, else with a ConnectionError. */
export function exchange(session: ClientHttp2Session, options: Exchange): Promise<Head> {
  const { server, headers, payload, timeoutMs, signal, clock } = options
  return new Promise((resolve, reject) => {
    let stream: ClientHttp2Stream
    try {
      stream = session.request(headers, { endStream: payload === undefined })
    } catch (error) {
      reject(connectionError(error, server))
      return
    }
    let fault: unknown
    let hasAnswer = false
    const giveUp = (why: unknown): void => {
      fault = why
      // At once: a stream on a connection that is never made does not end by itself.
      reject(why as Error)
      stream.close(constants.NGHTTP2_CANCEL)
    }
    const abort = (): void => giveUp(signal?.reason)
    const cancelTimeout = clock.after(timeoutMs, () => {
      giveUp(new ConnectionError('timeout', `${server}: no answer in time`))
      if (session.connecting) session.destroy()
    })
    signal?.addEventListener('abort', abort, { once: true })
    stream.on('error', (error) => {
      fault ??= connectionError(error, server)
    })
    stream.on('close', () => {
      cancelTimeout()
      signal?.removeEventListener('abort', abort)
      if (hasAnswer) return
      if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) {
        const message = `${server}: the connection ended before the server took the request`
        reject(new ConnectionError('unprocessed', message, fault))
        return
      }
      reject((fault as Error) ?? new ConnectionError('lost', `${server}: the connection was lost`))
    })
    stream.on('response', (received) => {
      cancelTimeout()
      hasAnswer = true
      resolve({
        headers: received,
        status: Number(received[':status']),
        body: () => bodyOf(stream, server, signal),
        chunks: () => chunksOf(stream, server, signal),
      })
    })
    if (payload !== undefined) stream.end(payload)
  })
}

export function cutShort(server: string): ConnectionError {
  return new ConnectionError('lost', `${server}: the answer was cut short`)
}

/** A reset looks like an end to the stream itself. */
async function* chunksOf(
  stream: ClientHttp2Stream,
  server: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void> {
  try {
    for await (const chunk of stream) yield chunk as Buffer
    signal?.throwIfAborted()
    if ((stream.rstCode ?? 0) !== constants.NGHTTP2_NO_ERROR) throw cutShort(server)
  } catch (error) {
    signal?.throwIfAborted()
    throw connectionError(error, server)
  } finally {
    if (!stream.destroyed) stream.close(constants.NGHTTP2_CANCEL)
  }
}

function bodyOf(
  stream: ClientHttp2Stream,
  server: string,
  signal: AbortSignal | undefined,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    stream.on('data', (chunk: Buffer) => parts.push(chunk))
    stream.on('close', () => {
      const isWhole = stream.readableEnded && (stream.rstCode ?? 0) === constants.NGHTTP2_NO_ERROR
      if (isWhole) resolve(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts))
      else reject(signal?.aborted ? (signal.reason as Error) : cutShort(server))
    })
  })
}
