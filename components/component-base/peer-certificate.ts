/** The certificate that the other end of a TLS connection showed, with the chain it sent, unverified. */
import type { TLSSocket } from 'node:tls'
import type { PeerCertificate } from './http.ts'

/** Deeper than any chain in use. */
const maxDepth = 8
const maxRemembered = 1000

/** Undefined when it showed none. */
export function chainOf(socket: TLSSocket): PeerCertificate | undefined {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return undefined
  const intermediates: Buffer[] = []
  let below = certificate
  // A self-signed certificate is its own issuer.
  for (let next = below.issuerCertificate; next !== undefined; next = next.issuerCertificate) {
    if (intermediates.length === maxDepth || next.raw.equals(below.raw)) break
    intermediates.push(next.raw)
    below = next
  }
  return { der: certificate.raw, intermediates }
}

/**
 * Reads clients' certificates. A resumed TLS session has the client's own certificate but not the rest of its chain, so
 * chains are remembered by the certificate they came with.
 */
export function createPeerReader(): (socket: TLSSocket) => PeerCertificate | undefined {
  const chains = new Map<string, readonly Buffer[]>()
  return (socket) => {
    const peer = chainOf(socket)
    if (peer === undefined) return undefined
    if (peer.intermediates.length === 0) {
      if (!socket.isSessionReused() || chains.size === 0) return peer
      const known = chains.get(peer.der.toString('base64'))
      return known === undefined ? peer : { der: peer.der, intermediates: known }
    }
    chains.set(peer.der.toString('base64'), peer.intermediates)
    const oldest = chains.keys().next()
    if (chains.size > maxRemembered && oldest.done !== true) chains.delete(oldest.value)
    return peer
  }
}
