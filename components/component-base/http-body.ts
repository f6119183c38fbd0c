/** Reading a request's body: bounded in bytes and in time, for both HTTP versions. */
import type { Readable } from 'node:stream'
import { BodyTooLargeError, RequestAbortedError } from './http.ts'

export interface BodyLimits {
  readonly maxBytes: number
  /** The whole body must have come this long after reading began. */
  readonly timeoutMs: number
  /** The Content-Length header, if there is one. */
  readonly declared: string | string[] | undefined
  /** Asked at the end: whether what came is all that was sent, not the start of a request cut off. */
  readonly isComplete: () => boolean
}

/** The whole body. Rejects with BodyTooLargeError or RequestAbortedError; the rest of the stream stays unread then. */
export function readBody(stream: Readable, limits: BodyLimits): Promise<Buffer> {
  const { maxBytes, timeoutMs, declared, isComplete } = limits
  if (declared !== undefined && Number(declared) > maxBytes)
    return Promise.reject(new BodyTooLargeError(maxBytes))
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settle = (): void => {
      clearTimeout(timer)
      stream.off('data', onData)
      stream.off('end', onEnd)
      stream.off('close', onClose)
    }
    const fail = (error: Error): void => {
      settle()
      stream.pause()
      reject(error)
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size > maxBytes) fail(new BodyTooLargeError(maxBytes))
      else chunks.push(chunk)
    }
    const onEnd = (): void => {
      if (!isComplete()) {
        onClose()
        return
      }
      settle()
      const [first] = chunks
      resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, size))
    }
    const onClose = (): void => fail(new RequestAbortedError('the client went away'))
    const timer = setTimeout(
      () => fail(new RequestAbortedError('the client sent its body too slowly')),
      timeoutMs,
    )
    if (stream.readableEnded) {
      onEnd()
      return
    }
    if (stream.destroyed) {
      onClose()
      return
    }
    stream.on('data', onData)
    stream.on('end', onEnd)
    stream.on('close', onClose)
  })
}
