/** Verifies a peer's certificate chain for client authentication, as Go's x509 does for upstream. */
import type { X509Certificate } from 'node:crypto'
import type { Clock } from '../../component-base/clock.ts'
import type { PeerCertificate } from '../request/request.ts'
import { readCertificate, type Certificate } from '../x509/certificate.ts'
import { mostRsaBits, rsaBits } from '../x509/signature.ts'
import { clientAuth, verifyChain } from '../x509/verify-chain.ts'

/** How long a failed verification is cached: the certificate may become valid. */
const refusalHoldsMs = 1_000
/** Certificates a client may send besides its own. */
const mostIntermediates = 8

/** Trusted certificates. */
export type TrustedAuthorities = readonly Certificate[]

type ChainResult =
  | {
      readonly ok: true
      readonly leaf: X509Certificate
      /** How long the result is valid: as long as every certificate of the chain. */
      readonly notBeforeMs: number
      readonly notAfterMs: number
    }
  | { readonly ok: false; readonly why: string }

/** Finds a chain to a trusted authority whose certificates are valid now and allow client authentication. */
function verifyClientChain(
  peer: PeerCertificate,
  roots: TrustedAuthorities,
  nowMs: number,
): ChainResult {
  let leaf: Certificate
  let intermediates: readonly Certificate[]
  try {
    leaf = readCertificate(peer.der)
    intermediates = peer.intermediates.slice(0, mostIntermediates).map(readCertificate)
  } catch (error) {
    return { ok: false, why: (error as Error).message }
  }
  // Verifying a signature of a huge key takes milliseconds.
  if ([leaf, ...intermediates].some((one) => rsaBits(one) > mostRsaBits)) {
    return { ok: false, why: `x509: RSA key larger than ${mostRsaBits} bits` }
  }
  const answer = verifyChain(leaf, { roots, intermediates, use: clientAuth, nowMs })
  if (!answer.ok) return answer
  return {
    ok: true,
    leaf: leaf.x509,
    notBeforeMs: Math.max(...answer.chain.map(({ fromMs }) => fromMs)),
    notAfterMs: Math.min(...answer.chain.map(({ untilMs }) => untilMs)),
  }
}

/** Verifies a connection's certificate; returns the same result while it is valid. */
type ChainVerifier = (peer: PeerCertificate) => ChainResult

/**
 * Caches results per connection. It calls `authorities` every time, so that a reloaded file takes effect; the function must
 * return the same array while nothing changed.
 */
export function createChainVerifier(options: {
  readonly authorities: () => TrustedAuthorities
  readonly clock: Clock
}): ChainVerifier {
  const verdicts = new WeakMap<
    PeerCertificate,
    { authorities: TrustedAuthorities; result: ChainResult; fromMs: number; untilMs: number }
  >()
  return (peer) => {
    const authorities = options.authorities()
    const nowMs = options.clock.now()
    const known = verdicts.get(peer)
    const holds = known !== undefined && nowMs >= known.fromMs && nowMs <= known.untilMs
    if (holds && known.authorities === authorities) return known.result
    const result = verifyClientChain(peer, authorities, nowMs)
    const [fromMs, untilMs] = result.ok
      ? [result.notBeforeMs, result.notAfterMs]
      : [nowMs, nowMs + refusalHoldsMs]
    verdicts.set(peer, { authorities, result, fromMs, untilMs })
    return result
  }
}
