/**
 * VerifiedConnection: a TLS connection to a server whose certificate is verified by Go's rules, as upstream does, not by
 * OpenSSL's. Callers get the connection after verification, so that nothing is sent before.
 */
import type { Duplex } from 'node:stream'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { systemClock } from '../../component-base/clock.ts'
import { chainOf } from '../../component-base/peer-certificate.ts'
import { readCertificate, type Certificate } from '../x509/certificate.ts'
import { hostFault } from '../x509/host-name.ts'
import { mostRsaBits, rsaBits } from '../x509/signature.ts'
import { serverAuth, verifyChain } from '../x509/verify-chain.ts'

/** The server's certificate is invalid; the message is in Go's words. */
export class CertificateError extends Error {}

/** The time limit of the TLS handshake (upstream: TLSHandshakeTimeout). */
const handshakeTimeoutMs = 10_000

function faultOf(
  socket: TLSSocket,
  roots: readonly Certificate[],
  host: string,
): string | undefined {
  const peer = chainOf(socket)
  if (peer === undefined) return 'tls: received empty certificates message'
  try {
    const leaf = readCertificate(peer.der)
    const intermediates = peer.intermediates.map(readCertificate)
    if ([leaf, ...intermediates].some((one) => rsaBits(one) > mostRsaBits)) {
      return `tls: server sent certificate containing RSA key larger than ${mostRsaBits} bits`
    }
    const question = { roots, intermediates, use: serverAuth, nowMs: systemClock.now() }
    const answer = verifyChain(leaf, question)
    const why = hostFault(leaf, host) ?? (answer.ok ? undefined : answer.why)
    return why && `tls: failed to verify certificate: ${why}`
  } catch (error) {
    return `tls: failed to parse certificate from server: ${(error as Error).message}`
  }
}

/** Rejects with a CertificateError, or with the connection's error. */
export async function connectVerified(
  options: ConnectionOptions & { readonly host: string; readonly socket?: Duplex },
  roots: readonly Certificate[],
): Promise<TLSSocket> {
  // A resumed session has no certificates to verify.
  const socket = connect({ ...options, rejectUnauthorized: false, session: undefined })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const onClose = (): void => reject(new Error('EOF'))
  const onTimeout = (): void => reject(new Error('net/http: TLS handshake timeout'))
  socket.once('secureConnect', resolve).on('error', reject).once('close', onClose)
  socket.setTimeout(handshakeTimeoutMs).once('timeout', onTimeout)
  try {
    await promise
    const fault = faultOf(socket, roots, options.servername || options.host)
    if (fault !== undefined) throw new CertificateError(fault)
  } catch (error) {
    socket.destroy()
    throw error
  }
  socket.setTimeout(0).off('timeout', onTimeout).off('close', onClose)
  return socket
}
