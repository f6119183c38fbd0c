/** The one HTTP/2 connection of a REST client: opened when first needed, and again after it was lost or needs another certificate. */
import { connect } from 'node:http2'
import type { ClientHttp2Session } from 'node:http2'
import { isIP } from 'node:net'
import { checkServerIdentity, connect as connectTls } from 'node:tls'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import type { Clock } from '../component-base/clock.ts'
import type { LocalNetwork } from '../component-base/local-network.ts'
import type { SocketPlace } from '../component-base/routes.ts'
import { ConnectionError } from './connection-error.ts'

/** PEM texts of a client certificate. */
export interface ClientCertificate {
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
}

/** Which server it is. */
interface ServerTrust {
  readonly server: string
  readonly ca?: string | Buffer
  readonly serverName?: string
  readonly insecureSkipVerify?: boolean
}

export interface RestSessionOptions extends ServerTrust {
  readonly pingMs: number
  readonly clock: Clock
  /** Its routes may lead to the server by another way. */
  readonly network?: LocalNetwork | undefined
}

export interface RestSession {
  /** The open connection, or a new one with this certificate. */
  open(certificate: ClientCertificate): ClientHttp2Session
  /** The next `open` makes a new connection; requests under way finish on the old one. */
  renew(): void
  /** Ends the connection, and follows no routes any more; requests under way fail. */
  destroy(): void
}

/** How TLS verifies the server, and the certificate that it is shown. */
export function tlsOptions(
  { server, ca, serverName, insecureSkipVerify }: ServerTrust,
  { cert, key }: ClientCertificate,
): ConnectionOptions {
  const { hostname } = new URL(server)
  const name = serverName ?? (isIP(hostname) === 0 ? hostname : undefined)
  return {
    // As Go's verifier: a certificate of the bundle is trusted though it may not be self-signed.
    ...(ca === undefined ? {} : { ca, allowPartialTrustChain: true }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(name === undefined ? {} : { servername: name }),
    rejectUnauthorized: insecureSkipVerify !== true,
  }
}

/** Where the server is, as routes name it. */
function placeOf(server: string): SocketPlace {
  const { hostname, port } = new URL(server)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || 443 }
}

/** A connection that is made elsewhere, and verified as if it were not. */
function connectVia(
  via: SocketPlace,
  { host }: SocketPlace,
  { servername, ...options }: ConnectionOptions,
): TLSSocket {
  return connectTls({
    ...options,
    ...via,
    ...(servername === undefined ? {} : { servername }),
    checkServerIdentity: (_, certificate) => checkServerIdentity(servername ?? host, certificate),
    ALPNProtocols: ['h2'],
  })
}

export function createRestSession(options: RestSessionOptions): RestSession {
  const { server, pingMs, clock, network } = options
  const { origin } = new URL(server)
  const place = placeOf(server)
  let current: ClientHttp2Session | undefined
  // What is under way is on the old way.
  const leaveRoutes = network?.routes?.onChange(place, () => current?.destroy())

  const connectWith = (certificate: ClientCertificate): ClientHttp2Session => {
    const tls = tlsOptions(options, certificate)
    const via = network?.routes?.via(place)
    const session = connect(origin, {
      ...tls,
      ...(via === undefined ? {} : { createConnection: () => connectVia(via, place, tls) }),
      settings: { enablePush: false, initialWindowSize: 1_048_576, maxHeaderListSize: 65_536 },
      maxSessionMemory: 64,
    })
    const forget = (): void => {
      if (current === session) current = undefined
    }
    // Every open stream reports the fault; without a stream, this listener keeps it from ending the process.
    session.on('error', forget)
    session.on('goaway', () => {
      forget()
      session.close()
    })
    session.on('close', forget)
    session.once('connect', () => {
      // A session that is destroyed in the turn in which it connects still emits 'connect'.
      if (!session.destroyed) session.setLocalWindowSize(8_388_608)
    })
    keepAlive(session, { server, pingMs, clock })
    return session
  }
  return {
    open: (certificate) => {
      if (current === undefined || current.closed || current.destroyed)
        current = connectWith(certificate)
      return current
    },
    renew: () => {
      const old = current
      current = undefined
      old?.close()
    },
    destroy: () => {
      leaveRoutes?.()
      current?.destroy()
      current = undefined
    },
  }
}

/**
 * Pings a connection that brought nothing for `pingMs`, and destroys it if the answer takes as long. A connection with traffic is
 * never pinged, as upstream (golang.org/x/net/http2, ReadIdleTimeout): thousands of nodes that renew their leases need no pings.
 */
function keepAlive(
  session: ClientHttp2Session,
  { server, pingMs, clock }: Pick<RestSessionOptions, 'server' | 'pingMs' | 'clock'>,
): void {
  // A session that connects has no socket yet.
  const bytesRead = (): number => session.socket?.bytesRead ?? 0
  let heard = 0
  const rest = (): void => {
    heard = bytesRead()
    cancel = clock.after(pingMs, check)
  }
  const check = (): void => {
    if (session.closed || session.destroyed) return
    if (bytesRead() !== heard) {
      rest()
      return
    }
    const giveUp = clock.after(pingMs, () => {
      session.destroy(new ConnectionError('lost', `${server}: no answer to a ping`))
    })
    session.ping(() => {
      giveUp()
      if (!session.destroyed) rest()
    })
  }
  let cancel = clock.after(pingMs, check)
  session.on('close', () => cancel())
}
