/** Ingresses and EndpointSlices of the beta versions (upstream: pkg/apis/networking/v1beta1, pkg/apis/discovery/v1beta1). */
import { labelKey, type Dialect } from '../dialect.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'

type Fields = Readonly<Record<string, unknown>>

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fields) : []
}

function backendFrom(value: unknown): Fields {
  const { serviceName, servicePort, ...rest } = fields(value)
  if (serviceName === undefined && servicePort === undefined) return rest
  const port = typeof servicePort === 'number' ? { number: servicePort } : { name: servicePort }
  const isUnset = servicePort === undefined || servicePort === 0 || servicePort === ''
  return { ...rest, service: { name: serviceName ?? '', ...(isUnset ? {} : { port }) } }
}

function ruleFrom({ http, ...rule }: Fields): Fields {
  if (http === undefined || http === null) return rule
  const paths = list(fields(http)['paths']).map(({ backend, ...path }) => ({
    pathType: 'ImplementationSpecific',
    ...path,
    backend: backendFrom(backend),
  }))
  return { ...rule, http: { ...fields(http), paths } }
}

export function ingressFromV1beta1(object: KubeObject): KubeObject {
  const { backend, rules, ...spec } = fields(object['spec'])
  return {
    ...object,
    spec: {
      ...spec,
      ...(backend === undefined || backend === null
        ? {}
        : { defaultBackend: backendFrom(backend) }),
      ...(rules === undefined || rules === null ? {} : { rules: list(rules).map(ruleFrom) }),
    },
  }
}

function endpointFrom({ topology, ...endpoint }: Fields, dialect: Dialect): Fields {
  const hostLabel = labelKey(dialect, '', 'hostname')
  const zoneLabel = labelKey(dialect, 'topology', 'zone')
  const { [zoneLabel]: zone, ...rest } = fields(topology)
  const { [hostLabel]: host, ...others } = rest
  // The host is said twice when it is the node's name.
  const kept = host !== undefined && host === endpoint['nodeName'] ? others : rest
  return {
    ...endpoint,
    ...(zone === undefined ? {} : { zone }),
    ...(Object.keys(kept).length === 0 ? {} : { deprecatedTopology: kept }),
  }
}

export function endpointSliceFromV1beta1(object: KubeObject, dialect: Dialect): KubeObject {
  const endpoints = list(object['endpoints']).map((endpoint) => endpointFrom(endpoint, dialect))
  return { ...object, endpoints }
}
