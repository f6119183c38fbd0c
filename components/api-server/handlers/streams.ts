/** streams: pods/exec, pods/attach and pods/portforward. Nothing here carries their streams; each request hears why. */
import { badRequest, notFound, StatusError } from '../../machinery/status-error.ts'
import type { ResourceHandler } from './parts.ts'

const refuseStream: ResourceHandler = async (context, resource, parts) => {
  const { namespace, name, subresource } = context.info
  const pod = parts.cache.get(resource, namespace, name)
  if (pod === undefined) throw notFound(resource, name)
  if ((pod['spec'] as { nodeName?: string }).nodeName === undefined) {
    throw badRequest(`pod ${name} does not have a host assigned`)
  }
  if (context.http.headers['upgrade'] === undefined) throw badRequest('Upgrade request required')
  throw new StatusError('', `this server does not carry the streams of pods/${subresource}`, {
    code: 501,
  })
}

export const streamHandlers: Readonly<Record<string, ResourceHandler>> = {
  'pods/exec': refuseStream,
  'pods/attach': refuseStream,
  'pods/portforward': refuseStream,
}
