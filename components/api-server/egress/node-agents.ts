/** node-agents: addresses of node agents, and this server's credentials for them. */
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { RequestOptions } from 'node:https'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { notFound, StatusError } from '../../machinery/objects/status-error.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { agentThrough, type Dial } from './egress-selector.ts'

/** This server's credentials for node agents. */
export interface NodeAgentCredentials {
  readonly cert: Buffer | undefined
  readonly key: Buffer | undefined
  readonly ca: Buffer | undefined
  /** How to dial nodes; undefined: directly. */
  readonly dial?: Dial | undefined
}

export interface NodeAddress {
  readonly host: string
  readonly port: number
}

/** Where a node's agent listens, from its status. Throws a 503 StatusError when the node has no address. */
export function nodeAddress(node: KubeObject): NodeAddress {
  const status = (node['status'] ?? {}) as {
    addresses?: { type: string; address: string }[]
    daemonEndpoints?: { kubeletEndpoint?: { Port?: number } }
  }
  const preferred = ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP']
  const ip = status.addresses?.find(({ type }) => type === 'InternalIP')
  const found =
    ip ??
    status.addresses?.toSorted((a, b) => preferred.indexOf(a.type) - preferred.indexOf(b.type))[0]
  if (found === undefined) {
    throw new StatusError('ServiceUnavailable', `no preferred addresses found; known addresses: []`)
  }
  return { host: found.address, port: status.daemonEndpoints?.kubeletEndpoint?.Port ?? 10_250 }
}

/** Where the agent of the named node listens. Throws a 404 StatusError for a node that does not exist. */
export function nodeTarget(
  parts: {
    readonly cache: Pick<ObjectReader, 'get'>
    readonly resources: { readonly nodes: Resource }
  },
  name: string,
): NodeAddress {
  const node = parts.cache.get(parts.resources.nodes, '', name)
  if (node === undefined) throw notFound(parts.resources.nodes, name)
  return nodeAddress(node)
}

/** How a connection to a node agent is made; `isTrusting` takes any certificate of the agent. */
export function connectionTo(
  credentials: NodeAgentCredentials,
  isTrusting = false,
): RequestOptions {
  const { cert, key, ca, dial } = credentials
  const options = {
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(ca === undefined ? {} : { ca }),
    // Without an authority for them, node agents serve with self-signed certificates.
    rejectUnauthorized: ca !== undefined && !isTrusting,
  }
  if (dial === undefined && !options.rejectUnauthorized) return options
  return { agent: agentThrough(dial, { ...options, keepAlive: false }) }
}

/** A GET in this server's own name, without the headers of the client's request. Rejects with the connection's error. */
export async function getFromAgent(
  target: NodeAddress & { readonly path: string },
  credentials: NodeAgentCredentials,
  options: {
    readonly signal: AbortSignal
    /** Takes any certificate of the agent. */
    readonly isTrusting: boolean
  },
): Promise<IncomingMessage> {
  const connection = connectionTo(credentials, options.isTrusting)
  return await new Promise((resolve, reject) => {
    request({ ...target, ...connection, signal: options.signal })
      .once('response', resolve)
      .on('error', reject)
      .end()
  })
}
