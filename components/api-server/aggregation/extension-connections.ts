/**
 * extension-connections: kept connections to extension API servers, with TLS as each APIService says and this server's front-
 * proxy certificate.
 */
import type { Agent } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { Duplex } from 'node:stream'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { agentThrough, type Dial } from '../egress/egress-selector.ts'
import { networkFault } from '../egress/network-fault.ts'
import { clusterAddress, serviceAddress } from '../egress/service-address.ts'
import type { RemoteApiService } from './api-service-table.ts'

/** The front-proxy certificate that this server presents, PEM. */
export interface ProxyClient {
  readonly cert: string
  readonly key: string
}

export interface ExtensionRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body?: Buffer
  /** Ends the request, and the answer while it comes. */
  readonly signal: AbortSignal
}

/** The connection of an answer with status 101. */
export interface Upgraded {
  readonly socket: Duplex
  /** The first bytes, read with the head of the answer. */
  readonly head: Buffer
}

type Incoming = IncomingMessage & { readonly upgraded?: Upgraded }

export interface Place {
  readonly host: string
  readonly port: number
}

/** No answer came. The message is upstream's for the same cause. */
export class ExtensionUnreachableError extends Error {}

export interface ExtensionConnections {
  /** The address of the Service now, or of one of its endpoints at random. Throws an Error that names what is missing. */
  placeOf(remote: RemoteApiService): Place
  /**
   * Resolves with the head of the answer; its body, or the connection it was upgraded to, is the caller's to read or destroy.
   * `isTrusting` skips the verification of the server's certificate. Rejects with ExtensionUnreachableError.
   */
  send(
    remote: RemoteApiService,
    to: { place: Place; ask: ExtensionRequest; isTrusting?: boolean },
  ): Promise<Incoming>
  /** Closes the connections that no APIService but these needs. */
  keep(remotes: Iterable<RemoteApiService>): void
}

export interface ConnectionOptions {
  readonly reader: ObjectReader
  readonly services: Resource
  readonly endpoints: Resource
  readonly random: () => number
  /** Undefined without the flags. */
  readonly proxyClient: (() => ProxyClient) | undefined
  /** Connects to endpoints instead of the Services' own addresses. */
  readonly routesToEndpoints: boolean
  /** The way into the cluster; undefined: direct. */
  readonly dial: Dial | undefined
}

/** As in a URL and in the Host header. */
export function authorityOf({ host, port }: Place): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Rejects with the error of the connection; `isClosedIdle` when the server closed a kept connection before it was used again. */
function attempt(
  agent: Agent,
  { host, port }: Place,
  { method, path, headers, body, signal }: ExtensionRequest,
): Promise<Incoming> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host, port, path, method, headers, agent, signal })
    outgoing.once('response', resolve)
    outgoing.once('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) =>
      resolve(Object.assign(incoming, { upgraded: { socket, head } })),
    )
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      const isClosedIdle = outgoing.reusedSocket && error.code === 'ECONNRESET'
      reject(Object.assign(error, { isClosedIdle }))
    })
    outgoing.end(body)
  })
}

const repeatable = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** Retries an idempotent request once when the kept connection it was sent on turns out to be closed. */
async function sendOn(agent: Agent, place: Place, ask: ExtensionRequest): Promise<Incoming> {
  try {
    try {
      return await attempt(agent, place, ask)
    } catch (error) {
      const { isClosedIdle } = error as { isClosedIdle?: boolean }
      if (isClosedIdle !== true || !repeatable.has(ask.method)) throw error
      return await attempt(agent, place, ask)
    }
  } catch (error) {
    const why = networkFault(error) ?? (error as Error).message
    throw new ExtensionUnreachableError(why, { cause: error })
  }
}

export function createExtensionConnections(options: ConnectionOptions): ExtensionConnections {
  const { proxyClient, routesToEndpoints, dial } = options
  const agents = new Map<string, Agent>()

  /** Requests that differ in one of these do not share a connection. */
  const keyOf = ({ service, ca, insecure }: RemoteApiService, isTrusting: boolean): string => {
    const trust = isTrusting || insecure ? 'any' : ca
    return JSON.stringify([service.name, service.namespace, trust, proxyClient?.().cert])
  }

  function agentOf(remote: RemoteApiService, isTrusting: boolean): Agent {
    const key = keyOf(remote, isTrusting)
    let agent = agents.get(key)
    if (agent === undefined) {
      const { name, namespace } = remote.service
      agent = agentThrough(dial, {
        keepAlive: true,
        minVersion: 'TLSv1.2',
        servername: `${name}.${namespace}.svc`,
        rejectUnauthorized: !isTrusting && !remote.insecure,
        ...(remote.ca === undefined ? {} : { ca: remote.ca }),
        ...proxyClient?.(),
      })
      agents.set(key, agent)
    }
    return agent
  }

  return {
    placeOf({ service }) {
      if (!routesToEndpoints) return clusterAddress(service, options)
      return serviceAddress(service, options)
    },
    async send(remote, { place, ask, isTrusting = false }) {
      return await sendOn(agentOf(remote, isTrusting), place, ask)
    },
    keep(remotes) {
      const used = new Set([...remotes].flatMap((one) => [keyOf(one, false), keyOf(one, true)]))
      for (const [key, agent] of agents) {
        if (used.has(key)) continue
        agents.delete(key)
        agent.destroy()
      }
    },
  }
}
