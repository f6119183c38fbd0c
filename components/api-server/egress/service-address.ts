/** Addresses of the Services that webhooks and APIServices name (upstream: apiserver util/proxy ResolveEndpoint, ResolveCluster). */
import type { Endpoints, Service, ServicePort } from '../../api/generated/types.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'

export interface ServicePlace {
  readonly namespace: string
  readonly name: string
  readonly port: number
}

/** One of the Service's ready endpoints, or the name of an ExternalName Service. Throws an Error when the Service has none. */
export function serviceAddress(
  { namespace, name, port }: ServicePlace,
  at: { reader: ObjectReader; services: Resource; endpoints: Resource; random: () => number },
): { host: string; port: number } {
  const { reader, services, endpoints, random } = at
  const service = reader.get(services, namespace, name) as Service | undefined
  if (service === undefined) throw new Error(`service "${name}" not found`)
  const { type, externalName } = service.spec ?? {}
  if (type === 'ExternalName' && externalName) return { host: externalName, port }
  const wanted = servicePort(service, port)
  const found = reader.get(endpoints, namespace, name) as Endpoints | undefined
  if (found === undefined) throw new Error(`endpoints "${name}" not found`)
  const places = (found.subsets ?? []).flatMap((subset) => {
    const at = (subset.ports ?? []).find((one) => (one.name ?? '') === (wanted.name ?? ''))
    return at === undefined
      ? []
      : (subset.addresses ?? []).map(({ ip }) => ({ host: ip, port: at.port }))
  })
  const place = places[Math.floor(random() * places.length)]
  if (place === undefined) throw new Error(`no endpoints available for service "${name}"`)
  return place
}

function servicePort({ metadata, spec }: Service, port: number): ServicePort {
  const wanted = (spec?.ports ?? []).find((one) => one.port === port)
  if (wanted !== undefined) return wanted
  throw new Error(`no service port ${port} found for service "${metadata.name}"`)
}

/** The Service's cluster IP, for networks that route it. Throws an Error when the Service has none. */
export function clusterAddress(
  { namespace, name, port }: ServicePlace,
  at: { reader: ObjectReader; services: Resource },
): { host: string; port: number } {
  const service = at.reader.get(at.services, namespace, name) as Service | undefined
  if (service === undefined) throw new Error(`service "${name}" not found`)
  const { type = 'ClusterIP', externalName, clusterIP } = service.spec ?? {}
  if (type === 'ExternalName' && externalName) return { host: externalName, port }
  if (type === 'ClusterIP' && clusterIP === 'None') {
    throw new Error('cannot route to service with ClusterIP "None"')
  }
  return { host: clusterIP ?? '', port: servicePort(service, port).port }
}
