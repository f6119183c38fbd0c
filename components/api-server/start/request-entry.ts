/** request-entry: where a request enters the chain: what is known of it before any filter, and the answer when it cannot be read. */
import type { Parts } from '../handlers/parts.ts'
import { parseRequestInfo } from '../request/request-info.ts'
import type { Answer, HttpRequest, Next, RequestContext } from '../request/request.ts'
import { answerError, asStatusError } from '../codec/respond.ts'

const noInfo = parseRequestInfo('GET', '/')

/** What is handed to the listener: a request in, an answer out. Never rejects for what a client can do. */
export function entryOf(next: Next, parts: Parts): (http: HttpRequest) => Promise<Answer> {
  return async (http) => {
    const context: RequestContext = {
      http,
      dialect: parts.dialect,
      cbor: parts.cbor,
      yaml: parts.yaml,
      id: parts.clock.uuid(),
      receivedAtMs: parts.clock.now(),
      info: noInfo,
      user: { name: '', groups: [] },
      resource: undefined,
      warnings: [],
      annotations: {},
    }
    try {
      context.info = parseRequestInfo(http.method, http.url)
    } catch (error) {
      return answerError(asStatusError(error))
    }
    return await next(context)
  }
}
