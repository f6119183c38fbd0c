/** Verifies a peer's certificate chain for client authentication, as Go's x509 does for upstream. */
import type { X509Certificate } from 'node:crypto'
import type { Clock } from '../../component-base/clock.ts'
import { remembered } from '../../machinery/values/remembered.ts'
import type { PeerCertificate } from '../request/request.ts'
import { readCertificate, type Certificate } from '../x509/certificate.ts'
import { mostRsaBits, rsaBits } from '../x509/signature.ts'
import { clientAuth, verifyChain } from '../x509/verify-chain.ts'

/** Certificates a client may send besides its own. */
const mostIntermediates = 8

/** Trusted certificates. */
export type TrustedAuthorities = readonly Certificate[]

type ChainResult =
  | { readonly ok: true; readonly leaf: X509Certificate }
  | { readonly ok: false; readonly why: string }

/** From when until when, both included, a result stays the same. */
interface Period {
  readonly fromMs: number
  readonly untilMs: number
}

const always: Period = { fromMs: -Infinity, untilMs: Infinity }

/** The time around `nowMs` in which none of the certificates becomes valid or expires. */
function steadyPeriod(certificates: readonly Certificate[], nowMs: number): Period {
  const turns = certificates.flatMap(({ fromMs, untilMs }) => [fromMs, untilMs + 1])
  return {
    fromMs: Math.max(...turns.filter((ms) => ms <= nowMs), -Infinity),
    untilMs: Math.min(...turns.filter((ms) => ms > nowMs), Infinity) - 1,
  }
}

/** All that the peer sent. Each authenticator verifies it against authorities of its own. Throws for malformed certificates. */
const readPeer = remembered(({ der, intermediates }: PeerCertificate) => ({
  leaf: readCertificate(der),
  intermediates: intermediates.slice(0, mostIntermediates).map(readCertificate),
}))

/** Finds a chain to a trusted authority whose certificates are valid now and allow client authentication. */
function verifyClientChain(
  peer: PeerCertificate,
  roots: TrustedAuthorities,
  nowMs: number,
): { readonly result: ChainResult; readonly period: Period } {
  let sent: ReturnType<typeof readPeer>
  try {
    sent = readPeer(peer)
  } catch (error) {
    return { result: { ok: false, why: (error as Error).message }, period: always }
  }
  const { leaf, intermediates } = sent
  // Verifying a signature of a huge key takes milliseconds.
  if ([leaf, ...intermediates].some((one) => rsaBits(one) > mostRsaBits)) {
    const why = `x509: RSA key larger than ${mostRsaBits} bits`
    return { result: { ok: false, why }, period: always }
  }
  const answer = verifyChain(leaf, { roots, intermediates, use: clientAuth, nowMs })
  if (!answer.ok) {
    return { result: answer, period: steadyPeriod([leaf, ...intermediates, ...roots], nowMs) }
  }
  return {
    result: { ok: true, leaf: leaf.x509 },
    period: {
      fromMs: Math.max(...answer.chain.map(({ fromMs }) => fromMs)),
      untilMs: Math.min(...answer.chain.map(({ untilMs }) => untilMs)),
    },
  }
}

/** Verifies a connection's certificate; returns the same result until a certificate becomes valid or expires. */
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
    { authorities: TrustedAuthorities; result: ChainResult; period: Period }
  >()
  return (peer) => {
    const authorities = options.authorities()
    const nowMs = options.clock.now()
    const known = verdicts.get(peer)
    const holds =
      known !== undefined && nowMs >= known.period.fromMs && nowMs <= known.period.untilMs
    if (holds && known.authorities === authorities) return known.result
    const { result, period } = verifyClientChain(peer, authorities, nowMs)
    verdicts.set(peer, { authorities, result, period })
    return result
  }
}
