/** What an extension API server of a handler answers: discovery, if the options list its resources, and what the handler gives. */
import type { Answer } from '../components/component-base/http.ts'
import { messageOf } from '../components/component-base/log.ts'
import { StatusError } from '../components/machinery/objects/status-error.ts'
import { answerOf, isResponse, requestOf } from './fetch-exchange.ts'
import type { FrontProxy } from './front-proxy.ts'
import { jsonAnswer } from './handler-server.ts'
import type { HandlerCall } from './handler-server.ts'
import type { ApiServiceHandler, ApiServiceOptions, UserInfo } from './types.ts'

const statusAnswer = (error: StatusError): Answer => jsonAnswer(error.code, error.toStatus())

/** `/apis/GROUP/VERSION`: the discovery of the group version. */
export const rootOf = ({ group, version }: ApiServiceOptions): string => `/apis/${group}/${version}`

/** The list that discovery reads. */
function resourceList({ group, version, resources = [] }: ApiServiceOptions): object {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: `${group}/${version}`,
    resources: resources.map((one) => ({
      ...one,
      singularName: one.singularName ?? (one.name.includes('/') ? '' : one.kind.toLowerCase()),
    })),
  }
}

/** What is answered without the handler, where the options list the resources. */
function ownAnswer(url: string, options: ApiServiceOptions): Answer | undefined {
  const [path = ''] = url.split('?')
  const root = rootOf(options)
  if (options.resources === undefined || path.startsWith(`${root}/`)) return undefined
  if (path === root) return jsonAnswer(200, resourceList(options))
  return statusAnswer(
    new StatusError('NotFound', 'the server could not find the requested resource'),
  )
}

async function handlerAnswer(
  call: HandlerCall,
  handler: ApiServiceHandler,
  userInfo: UserInfo,
): Promise<Answer> {
  const request = await requestOf(call)
  try {
    const response: unknown = await handler(request, { userInfo })
    if (isResponse(response)) return answerOf(response, call)
    throw new Error(`the handler gave no Response for ${request.method} ${call.request.url}`)
  } catch (error) {
    // A handler that was waiting for its client has not failed.
    if (!request.signal.aborted) call.failed(error)
    return statusAnswer(new StatusError('InternalError', messageOf(error), { cause: error }))
  }
}

const stranger = statusAnswer(
  new StatusError(
    'Unauthorized',
    'only the API server may send requests here, with the certificate of its front proxy',
  ),
)

/** The answer to one call. A request that did not come through the API server gets 401, and a handler that throws 500. */
export async function answerApiCall(
  call: HandlerCall,
  by: {
    readonly frontProxy: FrontProxy
    readonly options: ApiServiceOptions
    readonly handler: ApiServiceHandler
  },
): Promise<Answer> {
  const userInfo = by.frontProxy.userOf(call.request)
  if (userInfo === undefined) return stranger
  return (
    ownAnswer(call.request.url, by.options) ?? (await handlerAnswer(call, by.handler, userInfo))
  )
}
