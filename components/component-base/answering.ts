/** Calls the handler of a listener for both protocols: a handler that fails answers 500 and is logged. */
import type { Answer, HttpRequest } from './http.ts'
import { ConnectionCutError, RequestAbortedError } from './http.ts'
import type { Log } from './log.ts'

/** A ConnectionCutError ends the connection (of HTTP/2: the stream) without an answer. Any other rejection is a bug of the handler. */
export type RequestHandler = (request: HttpRequest) => Promise<Answer>

export interface Answering {
  /** Rejects with a ConnectionCutError only. */
  answerTo(request: HttpRequest): Promise<Answer>
  /** Logs an answer that broke off, unless the client went away. */
  logCutShort(request: HttpRequest, error: unknown): void
}

const internalFault: Answer = {
  status: 500,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: Buffer.from('Internal Server Error\n'),
}

export function createAnswering(handler: RequestHandler, log: Log): Answering {
  return {
    answerTo: async (request) => {
      try {
        return await handler(request)
      } catch (error) {
        if (error instanceof ConnectionCutError) throw error
        if (!(error instanceof RequestAbortedError)) log.error('request handler failed', { error })
        return internalFault
      }
    },
    logCutShort: (request, error) => {
      if (error instanceof RequestAbortedError || request.signal.aborted) return
      log.error('answer cut short', { method: request.method, error })
    },
  }
}
