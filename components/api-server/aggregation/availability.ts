/**
 * availability: whether an extension API server is available: its Service, its endpoints, its discovery (upstream: kube-
 * aggregator pkg/controllers/status/remote).
 */
import type { APIServiceCondition, Endpoints, Service } from '../../api/generated/types.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { RemoteApiService } from './api-service-table.ts'
import { authorityOf, type ExtensionConnections } from './extension-connections.ts'
import type { ExtensionReader } from './extension-reader.ts'

/** Requests sent at once. One success is enough, so a single slow endpoint does no harm. */
const attempts = 5

export type Availability = Pick<APIServiceCondition, 'status' | 'reason' | 'message'>

export interface AvailabilityOptions {
  readonly reader: ObjectReader
  readonly services: Resource
  readonly endpoints: Resource
  readonly connections: ExtensionConnections
  readonly extensions: ExtensionReader
}

const no = (reason: string, message: string): Availability => ({ status: 'False', reason, message })

/** The fault that the objects show without a request; undefined without one. */
function fromObjects(
  { service: { namespace, name, port } }: RemoteApiService,
  { reader, services, endpoints }: AvailabilityOptions,
): Availability | undefined {
  const shown = `service/${name} in ${JSON.stringify(namespace)}`
  const service = reader.get(services, namespace, name) as Service | undefined
  if (service === undefined) return no('ServiceNotFound', `${shown} is not present`)
  if ((service.spec?.type ?? 'ClusterIP') !== 'ClusterIP') return undefined
  const wanted = service.spec?.ports?.find((one) => one.port === port)
  if (wanted === undefined) {
    return no('ServicePortError', `${shown} is not listening on port ${port}`)
  }
  const found = reader.get(endpoints, namespace, name) as Endpoints | undefined
  if (found === undefined) return no('EndpointsNotFound', `cannot find endpoints for ${shown}`)
  const portName = wanted.name ?? ''
  const isActive = (found.subsets ?? []).some(
    ({ addresses = [], ports = [] }) =>
      addresses.length > 0 && ports.some((one) => (one.name ?? '') === portName),
  )
  if (isActive) return undefined
  return no(
    'MissingEndpoints',
    `endpoints for ${shown} have no addresses with port name ${JSON.stringify(portName)}`,
  )
}

/** The discovery path of a group version. Every server serves it. */
export function discoveryPath({ group, version }: RemoteApiService): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`
}

/** The fault; undefined when the server answers. */
async function askOnce(
  remote: RemoteApiService,
  { connections, extensions }: AvailabilityOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  let url: string
  let place
  try {
    place = connections.placeOf(remote)
    url = `https://${authorityOf(place)}${discoveryPath(remote)}`
  } catch (error) {
    return (error as Error).message
  }
  const path = discoveryPath(remote)
  let why: string
  try {
    const { status } = await extensions.get(remote, { path, place, isTrusting: true, signal })
    if (status >= 200 && status < 300) return undefined
    why = `bad status from ${url}: ${status}`
  } catch (error) {
    why = `Get "${url}": ${(error as Error).message}`
  }
  return `failing or missing response from ${url}: ${why}`
}

/** Checks the objects, then asks the server. Never rejects. */
export async function availabilityOf(
  remote: RemoteApiService,
  options: AvailabilityOptions,
  signal: AbortSignal,
): Promise<Availability> {
  const fault = fromObjects(remote, options)
  if (fault !== undefined) return fault
  const done = new AbortController()
  const either = AbortSignal.any([signal, done.signal])
  const asked = Array.from({ length: attempts }, async () => {
    const why = await askOnce(remote, options, either)
    if (why !== undefined) throw new Error(why)
  })
  try {
    await Promise.any(asked)
    return { status: 'True', reason: 'Passed', message: 'all checks passed' }
  } catch (error) {
    const [first] = (error as AggregateError).errors as Error[]
    return no('FailedDiscoveryCheck', first?.message ?? '')
  } finally {
    done.abort()
  }
}
