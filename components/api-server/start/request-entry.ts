/** request-entry: starts the context of a request and sends it into the chain. An unreadable target is answered here. */
import type { Parts } from '../handlers/parts.ts'
import { parseRequestInfo } from '../request/request-info.ts'
import type { Answer, HttpRequest, Next, RequestContext } from '../request/request.ts'
import { answerError, asStatusError } from '../codec/respond.ts'

const noInfo = parseRequestInfo('GET', '/')

/** The handler for the listener. Never rejects because of a client. */
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
