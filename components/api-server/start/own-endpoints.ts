/** own-endpoints: who keeps the endpoints of the API server's Service, by --endpoint-reconciler-type. */
import type { ApiServerAddress } from '../../api/bootstrap-policy/system-objects.ts'
import { ownService } from '../controllers/bootstrap-objects.ts'
import { countedServers } from '../controllers/counted-servers.ts'
import { EndpointReconciler } from '../controllers/endpoint-reconciler.ts'
import { ServerLeases, type LiveServers } from '../controllers/server-leases.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { Settings } from './settings.ts'
import type { State } from './state.ts'

/** Undefined: this server is the only one, and writes them once, at its start. */
export type OwnEndpoints = EndpointReconciler | 'none' | undefined

export function ownEndpointsOf(
  settings: Settings,
  { store, cache }: State,
  of: { readonly client: LocalClient; readonly own: ApiServerAddress },
): OwnEndpoints {
  const { options, dialect, resources, clock } = settings
  const { client, own } = of
  const type = options['endpoint-reconciler-type']
  if (type === 'none') return 'none'
  if (!store.isShared) return undefined
  const { address, port } = own
  const { apiServerService: name } = dialect
  const servers: LiveServers =
    type === 'lease'
      ? new ServerLeases({ store, clock, own: { address, port } })
      : countedServers({
          own: { address, port },
          count: options['apiserver-count'],
          endpoints: () => cache.get(resources.endpoints, 'default', name),
        })
  const service = ownService(dialect, own)
  return new EndpointReconciler({ ...settings, reader: cache, client, servers, service })
}
