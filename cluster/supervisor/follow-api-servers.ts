/**
 * follow-api-servers: tells the load balancer which API servers the control plane has. Machines join and leave after this one was
 * made; the endpoints of the API servers' own Service name those that are alive.
 */
import { labelKey } from '../../components/api/dialect.ts'
import type { EndpointSlice } from '../../components/api/generated/types.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { createInformer } from '../../components/client/informer.ts'
import type { Log } from '../../components/component-base/log.ts'
import { writeFileAtomically } from '../../certs/pki-files.ts'
import { clusterClient } from '../cluster-client.ts'
import type { ClusterPlace } from '../cluster-client.ts'
import { dialectOf, urlHost } from '../plan/cluster-config.ts'
import { backendsPath, backendsText } from '../plan/plan-load-balancer.ts'

/** The load balancer takes no more. */
const mostServers = 100

/** HOST:PORT of each address in the slices, in order. */
export function serversIn(slices: readonly EndpointSlice[]): string[] {
  const found = slices.flatMap(({ endpoints, ports }) =>
    (ports ?? []).flatMap(({ port }) =>
      (endpoints ?? [])
        .filter(({ conditions }) => conditions?.ready !== false)
        .flatMap(({ addresses = [] }) => addresses.map((at) => `${urlHost(at)}:${port}`)),
    ),
  )
  return [...new Set(found)].toSorted().slice(0, mostServers)
}

/**
 * Writes the load balancer's file whenever the servers of other machines change, until `signal` aborts. This machine's own stay in
 * it. Until the first answer, and while no server answers, the file stays as it is.
 */
export async function followApiServers(
  place: ClusterPlace & { readonly log: Log; readonly ownsFolder: () => boolean },
  signal: AbortSignal,
): Promise<void> {
  const { config, paths, clock, log, ownsFolder } = place
  const dialect = dialectOf(config)
  const client = clusterClient(place)
  const label = labelKey(dialect, '', 'service-name')
  const informer = createInformer<EndpointSlice>({
    client: client.resource<EndpointSlice>(resourcesOf(dialect).endpointSlices),
    selection: { namespace: 'default', labelSelector: `${label}=${dialect.apiServerService}` },
    clock,
    log,
  })
  const path = backendsPath(paths)
  const own = new Set((config.apiServers ?? []).map((at) => `${urlHost(at.address)}:${at.port}`))
  let written: string | undefined
  let last = Promise.resolve()
  const write = async (): Promise<void> => {
    const servers = serversIn(informer.list())
    const peers = servers.filter((server) => !own.has(server))
    const text = backendsText({ ...config, peers })
    if (servers.length === 0 || text === written || signal.aborted || !ownsFolder()) return
    await writeFileAtomically(path, text, 0o600)
    if (written !== undefined) log.info('the API servers of other machines have changed', { peers })
    written = text
  }
  const note = (): void => {
    last = last.then(write).catch((error: unknown) => {
      log.error('the API servers of other machines could not be written', { path, error })
    })
  }
  informer.onEvent(() => {
    // Not before the first list is whole.
    void informer.ready.then(note)
  })
  try {
    await informer.run(signal)
  } finally {
    await last
    client.close()
  }
}
