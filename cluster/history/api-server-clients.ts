/** apiServerClients: a client for each API server of a cluster. Each has a request journal of its own, and a load balancer reaches any of them. */
import { labelKey } from '../../components/api/dialect.ts'
import type { EndpointSlice } from '../../components/api/generated/types.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import {
  createRestClient,
  type RestClient,
  type RestRequest,
} from '../../components/client/rest-client.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'

/** A server that has gone stays in the endpoints for some seconds. */
const timeoutMs = 5000

/** A client of one API server. */
export type ApiServerClient = Pick<RestClient, 'json' | 'stream' | 'server' | 'close'>

export interface ApiServerClients {
  readonly servers: readonly Pick<RestClient, 'json' | 'server'>[]
  /** Leaves the client of the caller open. */
  readonly close: () => void
}

const urlHost = (address: string): string => (address.includes(':') ? `[${address}]` : address)

/** By the endpoints of their Service: `https://10.0.0.1:6443`. `mayList` false: the viewer may not list them. */
export async function findApiServers(
  client: Client,
): Promise<{ readonly addresses: readonly string[]; readonly mayList: boolean }> {
  const { dialect } = client
  const { endpointSlices } = resourcesOf(dialect)
  const labelSelector = `${labelKey(dialect, '', 'service-name')}=${dialect.apiServerService}`
  try {
    const slices = client.resource<EndpointSlice & KubeObject>(endpointSlices)
    const { items } = await slices.list({ namespace: 'default', labelSelector })
    const addresses = items.flatMap(({ endpoints, ports }) =>
      (ports ?? []).flatMap(({ port }) =>
        (endpoints ?? []).flatMap(({ addresses }) =>
          addresses.map((address) => `https://${urlHost(address)}:${port}`),
        ),
      ),
    )
    return { addresses, mayList: true }
  } catch (error) {
    if (!isStatusError(error) || (error.code !== 403 && error.code !== 404)) throw error
    return { addresses: [], mayList: error.code === 404 }
  }
}

/** Empty when the viewer may not list them. */
export async function apiServerAddresses(client: Client): Promise<readonly string[]> {
  return (await findApiServers(client)).addresses
}

/** With the identity of `client`, also the user that it impersonates. A token that ends makes a new client necessary. */
export async function apiServerClient(client: Client, server: string): Promise<ApiServerClient> {
  const { tls, headers } = await client.rest.dialing()
  const { ca, cert, key, servername, rejectUnauthorized } = tls
  const { authorization, 'user-agent': userAgent, ...others } = headers
  const [, token] = /^Bearer (.*)$/.exec(String(authorization ?? '')) ?? []
  const rest = createRestClient({
    server,
    timeoutMs,
    ...(ca === undefined ? {} : { ca: ca as string | Buffer }),
    ...(servername === undefined ? {} : { serverName: servername }),
    ...(typeof userAgent === 'string' ? { userAgent } : {}),
    insecureSkipVerify: rejectUnauthorized === false,
    credentials: {
      ...(cert === undefined ? {} : { cert: cert as string }),
      ...(key === undefined ? {} : { key: key as string }),
      ...(token === undefined ? {} : { token }),
    },
  })
  const added = (request: RestRequest): RestRequest => ({
    ...request,
    headers: { ...request.headers, ...others },
  })
  return {
    server,
    json: async (request) => await rest.json(added(request)),
    stream: async (request) => await rest.stream(added(request)),
    close: rest.close,
  }
}

/** With the identity of `client`. With one server it is that client itself. */
export async function apiServerClients(client: Client): Promise<ApiServerClients> {
  const addresses = await apiServerAddresses(client)
  if (addresses.length < 2) return { servers: [client.rest], close: () => {} }
  const servers = await Promise.all(addresses.map((server) => apiServerClient(client, server)))
  return {
    servers,
    close: () => {
      for (const one of servers) one.close()
    },
  }
}
