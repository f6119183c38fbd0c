/** forward: passes a request of the page on to the API server, with the viewer's credential, and its answer back. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RestClient } from '../../components/client/rest-client.ts'
import { answerError } from './answer-error.ts'
import { bodyOf } from './request-body.ts'

/** Below it lies the API: `/cluster/api/v1/pods`. */
export const forwardPrefix = '/cluster/'

const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
/** As the API server limits bodies. */
const mostBytes = 3 * 1024 * 1024

/** What answers may carry: types that no browser runs. */
function typeOf(type: unknown): string {
  const text = typeof type === 'string' ? type : ''
  return /^(application\/json|application\/yaml|text\/plain)\b/.test(text) ? text : 'text/plain'
}

/** Sends what the page sent below the prefix. A page that leaves ends the request. */
export async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  { rest, onFault }: { rest: RestClient; onFault: (error: unknown) => void },
): Promise<void> {
  const left = new AbortController()
  response.on('close', () => left.abort())
  const { method = 'GET', url = '' } = request
  try {
    if (!methods.has(method)) {
      response.writeHead(405).end()
      return
    }
    const body = method === 'GET' ? undefined : await bodyOf(request, mostBytes)
    const { accept, 'content-type': contentType } = request.headers
    const answer = await rest.stream({
      method,
      path: url.slice(forwardPrefix.length - 1),
      headers: accept === undefined ? {} : { accept },
      signal: left.signal,
      ...(body === undefined || body.length === 0 ? {} : { body }),
      ...(contentType === undefined ? {} : { contentType }),
    })
    const warning = answer.headers['warning']
    response.writeHead(answer.status, {
      'content-type': typeOf(answer.headers['content-type']),
      ...(warning === undefined ? {} : { warning }),
    })
    for await (const chunk of answer.chunks) {
      if (!response.write(chunk)) await once(response, 'drain', { signal: left.signal })
    }
    response.end()
  } catch (error) {
    if (!left.signal.aborted) answerError(response, { error, onFault })
  }
}
