/**
 * EgressSelector: connects to nodes and webhooks directly or through a proxy that speaks HTTP CONNECT (upstream:
 * apiserver/pkg/server/egressselector). Connections to token issuers are always direct.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { RequestOptions } from 'node:http'
import { Agent, request as httpsRequest, type AgentOptions } from 'node:https'
import { connect as connectTcp } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect } from 'node:tls'
import { callbackify } from 'node:util'
import { apiGroup, type Dialect } from '../../api/dialect.ts'
import { request as httpRequest } from '../../component-base/node-http.ts'
import type { Routes } from '../../component-base/routes.ts'
import { document, list, struct, text } from '../../machinery/configuration/config-schema.ts'
import { readableCertificates } from '../x509/bundle.ts'
import { connectVerified } from './verified-connection.ts'
import {
  ConfigurationError,
  readConfiguration,
} from '../../machinery/configuration/read-configuration.ts'

/** Opens a connection to a host. Rejects with the proxy's error. */
export type Dial = (host: string, port: number) => Promise<Duplex>

/** `cluster`: nodes, Pods and Services; `controlplane`: webhooks of authentication, authorization and audit. */
export type EgressName = 'cluster' | 'controlplane'

/** How to dial each destination; undefined is directly. */
export type EgressSelector = Readonly<Record<EgressName, Dial | undefined>>

export const directEgress: EgressSelector = { cluster: undefined, controlplane: undefined }

interface RawConnection {
  readonly proxyProtocol?: string
  readonly transport?: {
    readonly tcp?: {
      readonly url?: string
      readonly tlsConfig?: {
        readonly caBundle?: string
        readonly clientCert?: string
        readonly clientKey?: string
      }
    }
    readonly uds?: { readonly udsName?: string }
  }
}

const schema = document('EgressSelectorConfiguration', {
  egressSelections: list(
    struct('EgressSelection', {
      name: text,
      connection: struct('Connection', {
        proxyProtocol: text,
        transport: struct('Transport', {
          tcp: struct('TCPTransport', {
            url: text,
            tlsConfig: struct('TLSConfig', { caBundle: text, clientCert: text, clientKey: text }),
          }),
          uds: struct('UDSTransport', { udsName: text }),
        }),
      }),
    }),
  ),
})

/** Reads the file's text and the files it names. Throws an Error that names the place. */
export function parseEgressSelector(source: string, dialect: Dialect): EgressSelector {
  const { egressSelections = [] } = readConfiguration<{
    egressSelections?: readonly { readonly name?: string; readonly connection?: RawConnection }[]
  }>(source, {
    kind: 'EgressSelectorConfiguration',
    group: apiGroup(dialect, 'apiserver'),
    versions: ['v1beta1', 'v1alpha1'],
    schema,
  })
  const found = new Map<string, Dial | undefined>()
  for (const [i, { name = '', connection = {} }] of egressSelections.entries()) {
    const at = `egressSelections[${i}]`
    if (!['cluster', 'controlplane', 'etcd'].includes(name)) {
      throw new ConfigurationError(
        `${at}.name: ${JSON.stringify(name)} is not cluster, controlplane or etcd`,
      )
    }
    if (found.has(name)) throw new ConfigurationError(`${at}.name: ${name} is there twice`)
    found.set(name, dialOf(connection, `${at}.connection`))
  }
  if (found.get('etcd') !== undefined) {
    throw new ConfigurationError(
      'the store of this server is not reached through a proxy: etcd must be Direct',
    )
  }
  return { cluster: found.get('cluster'), controlplane: found.get('controlplane') }
}

function dialOf({ proxyProtocol = '', transport }: RawConnection, at: string): Dial | undefined {
  if (proxyProtocol === 'Direct') {
    if (transport === undefined) return undefined
    throw new ConfigurationError(`${at}.transport: must be unset for the protocol Direct`)
  }
  if (proxyProtocol !== 'HTTPConnect') {
    throw new ConfigurationError(
      `${at}.proxyProtocol: ${JSON.stringify(proxyProtocol)} is not Direct or HTTPConnect; this server speaks no GRPC to proxies`,
    )
  }
  const { tcp, uds } = transport ?? {}
  if ((tcp === undefined) === (uds === undefined)) {
    throw new ConfigurationError(`${at}.transport: exactly one of tcp and uds must be set`)
  }
  if (uds !== undefined) {
    const socketPath = uds.udsName ?? ''
    if (socketPath === '') throw new ConfigurationError(`${at}.transport.uds.udsName: is required`)
    return (host, port) => tunnel({ socketPath, secure: false }, host, port)
  }
  const url = tcp?.url ?? ''
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw new ConfigurationError(`${at}.transport.tcp.url: must be a http or https URL`)
  }
  const { protocol, hostname, port } = new URL(url)
  const secure = protocol === 'https:'
  const { caBundle, clientCert, clientKey } = tcp?.tlsConfig ?? {}
  if (secure !== (tcp?.tlsConfig !== undefined)) {
    throw new ConfigurationError(
      `${at}.transport.tcp.tlsConfig: goes with a https URL, and only with one`,
    )
  }
  const tls = {
    ...(caBundle === undefined ? {} : { ca: readFileSync(caBundle) }),
    ...(clientCert === undefined ? {} : { cert: readFileSync(clientCert) }),
    ...(clientKey === undefined ? {} : { key: readFileSync(clientKey) }),
  }
  const proxy = {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || (secure ? 443 : 80),
  }
  return (host, to) => tunnel({ ...proxy, ...tls, secure }, host, to)
}

/** Asks the proxy for a connection. Rejects unless it answers 200. */
async function tunnel(
  { secure, ...proxy }: RequestOptions & { readonly secure: boolean },
  host: string,
  port: number,
): Promise<Duplex> {
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`
  return await new Promise((resolve, reject) => {
    const fail = (why: string, cause?: unknown): void =>
      reject(new Error(`the egress proxy did not connect to ${target}: ${why}`, { cause }))
    const asking = (secure ? httpsRequest : httpRequest)({
      ...proxy,
      method: 'CONNECT',
      path: target,
      headers: { host: target },
      agent: false,
    })
    asking.once('connect', ({ statusCode }, socket) => {
      if (statusCode === 200) resolve(socket)
      else {
        socket.destroy()
        fail(`it answered ${statusCode}`)
      }
    })
    asking.once('response', ({ statusCode }) => fail(`it answered ${statusCode}`))
    asking.on('error', (error) => fail(error.message, error))
    asking.end()
  })
}

/** Dials by the routes of this process, undefined while it has none. */
export function dialBy(routes: Routes | undefined): Dial | undefined {
  if (routes === undefined || routes.isEmpty) return undefined
  return async (host, port) => {
    const socket = connectTcp({ ...(routes.via({ host, port }) ?? { host, port }) })
    await once(socket, 'connect')
    return socket
  }
}

/**
 * An agent for https requests that connects by `dial`. With authorities in `ca`, and unless `rejectUnauthorized` is false, servers
 * are verified by Go's rules.
 */
export function agentThrough(dial: Dial | undefined, options: AgentOptions): Agent {
  const { ca, ...others } = options
  const isVerified = ca !== undefined && options.rejectUnauthorized !== false
  const roots = isVerified ? readableCertificates([ca].flat().join('\n')) : []
  const agent = new Agent(
    isVerified ? { ...others, ca: roots.map(({ x509 }) => x509.toString()) } : options,
  )
  if (dial === undefined && !isVerified) return agent
  // Node asks the agent for each connection it needs.
  Object.assign(agent, {
    createConnection: callbackify(
      async (wanted: { readonly host: string; readonly port: number }): Promise<Duplex> => {
        const socket = dial && (await dial(wanted.host, Number(wanted.port)))
        const to = { ...wanted, ...(socket === undefined ? {} : { socket }) }
        return isVerified ? await connectVerified(to, roots) : connect(to)
      },
    ),
  })
  return agent
}
