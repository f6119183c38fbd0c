/**
 * Service variables: how containers find services by their environment (upstream: kubelet/envvars/envvars.go and
 * kubelet_pods.go, getServiceEnvVarMap). Pure, but for the watch that all nodes of a process share.
 */
import { isIPv6 } from 'node:net'
import type { Service } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Client } from '../../client/client.ts'
import { createInformer } from '../../client/informer.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'

/** The services for the environment of a pod of the namespace; resolves once they have been read. */
export type ServicesFor = (
  namespace: string,
) => Promise<{ readonly own: readonly Service[]; readonly apiServer: Service | undefined }>

export interface ServiceWatch {
  readonly servicesFor: ServicesFor
  /** Reads services with this client until the signal aborts. Called once. */
  follow(client: Client, signal: AbortSignal): Promise<void>
}

export function createServiceWatch({ clock, log }: { clock: Clock; log: Log }): ServiceWatch {
  const { promise: ready, resolve } = Promise.withResolvers<ServicesFor>()
  return {
    servicesFor: async (namespace) => await (await ready)(namespace),
    async follow(client, signal) {
      const { services } = resourcesOf(client.dialect)
      const informer = createInformer({ client: client.resource<Service>(services), clock, log })
      informer.addIndex('namespace', ({ metadata }) => [metadata.namespace ?? ''])
      const apiServer = `default/${client.dialect.apiServerService}`
      void informer.ready.then(() => {
        resolve(async (namespace) => ({
          own: informer.byIndex('namespace', namespace),
          apiServer: informer.get(apiServer),
        }))
      })
      await informer.run(signal)
    },
  }
}

function variableName(text: string): string {
  const name = text.toUpperCase().replaceAll(/[.-]/g, '_')
  return /^\d/.test(name) ? `_${name}` : name
}

function* variablesOf({ metadata, spec }: Service): Iterable<[string, string]> {
  const { clusterIP: address = '', ports = [] } = spec ?? {}
  const prefix = variableName(metadata.name ?? '')
  const host = isIPv6(address) ? `[${address}]` : address
  yield [`${prefix}_SERVICE_HOST`, address]
  for (const [index, { name, port, protocol = 'TCP' }] of ports.entries()) {
    const scheme = protocol.toLowerCase()
    const url = `${scheme}://${host}:${port}`
    if (index === 0) {
      yield [`${prefix}_SERVICE_PORT`, String(port)]
      yield [`${prefix}_PORT`, url]
    }
    if (name) yield [`${prefix}_SERVICE_PORT_${variableName(name)}`, String(port)]
    const link = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`
    yield [link, url]
    yield [`${link}_PROTO`, scheme]
    yield [`${link}_PORT`, String(port)]
    yield [`${link}_ADDR`, address]
  }
}

const hasAddress = ({ spec }: Service): boolean =>
  spec?.clusterIP !== undefined && spec.clusterIP !== '' && spec.clusterIP !== 'None'

/** The variables of services: the API server's always, those of the pod's namespace if the pod wants links. */
export function serviceVariables(
  { own, apiServer }: Awaited<ReturnType<ServicesFor>>,
  enableServiceLinks: boolean,
): Map<string, string> {
  const linked = [
    ...(apiServer === undefined ? [] : [apiServer]),
    ...(enableServiceLinks ? own : []),
  ]
  return new Map(linked.filter(hasAddress).flatMap((service) => [...variablesOf(service)]))
}
