/** The one HTTP/2 connection of a REST client: opened when first needed, and again after it was lost or needs another certificate. */
import { connect } from 'node:http2'
import type { ClientHttp2Session } from 'node:http2'
import { isIP } from 'node:net'
import type { Clock } from '../component-base/clock.ts'
import { ConnectionError } from './connection-error.ts'

/** PEM texts of a client certificate. */
export interface ClientCertificate {
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
}

export interface RestSessionOptions {
  readonly server: string
  readonly ca?: string | Buffer
  readonly serverName?: string
  readonly insecureSkipVerify?: boolean
  readonly pingMs: number
  readonly clock: Clock
}

export interface RestSession {
  /** The open connection, or a new one with this certificate. */
  open(certificate: ClientCertificate): ClientHttp2Session
  /** The next `open` makes a new connection; requests under way finish on the old one. */
  renew(): void
  /** Ends the connection; requests under way fail. */
  destroy(): void
}

export function createRestSession(options: RestSessionOptions): RestSession {
  const { server, ca, insecureSkipVerify, pingMs, clock } = options
  const { origin, hostname } = new URL(server)
  const name = options.serverName ?? (isIP(hostname) === 0 ? hostname : undefined)
  let current: ClientHttp2Session | undefined

  const connectWith = ({ cert, key }: ClientCertificate): ClientHttp2Session => {
    const session = connect(origin, {
      // As Go's verifier: a certificate of the bundle is trusted though it may not be self-signed.
      ...(ca === undefined ? {} : { ca, allowPartialTrustChain: true }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(name === undefined ? {} : { servername: name }),
      rejectUnauthorized: insecureSkipVerify !== true,
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
      current?.destroy()
      current = undefined
    },
  }
}

/** Pings the connection as long as it is open, and destroys it if an answer takes as long as the time between pings. */
function keepAlive(
  session: ClientHttp2Session,
  { server, pingMs, clock }: Pick<RestSessionOptions, 'server' | 'pingMs' | 'clock'>,
): void {
  const check = (): void => {
    if (session.closed || session.destroyed) return
    const giveUp = clock.after(pingMs, () => {
      session.destroy(new ConnectionError('lost', `${server}: no answer to a ping`))
    })
    session.ping(() => {
      giveUp()
      if (!session.destroyed) cancel = clock.after(pingMs, check)
    })
  }
  let cancel = clock.after(pingMs, check)
  session.on('close', () => cancel())
}
