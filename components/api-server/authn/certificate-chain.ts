/** Verifies a peer's certificate chain for client authentication, as Go's x509 does for upstream. */
import { X509Certificate } from 'node:crypto'
import type { Clock } from '../../component-base/clock.ts'
import type { PeerCertificate } from '../request.ts'

const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'
const ANY_USAGE = '2.5.29.37.0'
/** DER of the identifier of the NameConstraints extension, which node:crypto does not evaluate. */
const NAME_CONSTRAINTS = Buffer.from('0603551d1e', 'hex')
/** A refusal is looked at again after this time: the certificate may not have been valid yet. */
const refusalHoldsMs = 1_000
/** Longest path that is tried; real ones have two or three certificates. */
const MAX_DEPTH = 6
/** Certificates a client may send besides its own. */
const MAX_INTERMEDIATES = 8
/** Signatures that are verified for one chain: certificates that issue each other make countless paths, and anybody may send them. */
const MAX_SIGNATURE_CHECKS = 20
/** Larger RSA keys in what a client sends are refused, as Go does: to check what they signed takes milliseconds each. */
const MAX_RSA_BITS = 8192
/** DER of the BasicConstraints extension of an authority with a path length, which node:crypto does not evaluate. */
const PATH_LENGTH = /0603551d13(?:0101ff)?04..30..0101ff0201(..)/g

/** Certificates that are trusted as they are. */
export type TrustedAuthorities = readonly X509Certificate[]

/** All certificates of a PEM text. Throws when there is none or one is malformed. */
export function parseAuthorities(pem: string): TrustedAuthorities {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0)
    throw new Error('data does not contain any valid RSA or ECDSA certificates')
  return blocks.map((block) => new X509Certificate(block))
}

type ChainResult =
  | {
      readonly ok: true
      readonly leaf: X509Certificate
      /** While this window lasts the verdict stands: every certificate of the path is valid in it. */
      readonly notBeforeMs: number
      readonly notAfterMs: number
    }
  | { readonly ok: false; readonly why: string }

function window(certificate: X509Certificate): { from: number; to: number } {
  return { from: certificate.validFromDate.getTime(), to: certificate.validToDate.getTime() }
}

/** A certificate without the extension may be used for anything. */
function allowsClientAuth(certificate: X509Certificate): boolean {
  const usages = certificate.keyUsage as string[] | undefined
  return usages === undefined || usages.includes(CLIENT_AUTH) || usages.includes(ANY_USAGE)
}

/** How many authorities may stand between this one and the certificate at the end of a path. */
function pathLength(certificate: X509Certificate): number {
  const found = [...certificate.raw.toString('hex').matchAll(PATH_LENGTH)]
  return Math.min(...found.map(([, length = '']) => Number.parseInt(length, 16)))
}

/** 0 for keys of other kinds. */
function rsaBits({ publicKey }: X509Certificate): number {
  return publicKey.asymmetricKeyDetails?.modulusLength ?? 0
}

/** `depth`: the authorities between the issuer and the certificate at the end of the path. */
function mayIssue(issuer: X509Certificate, subject: X509Certificate, depth: number): boolean {
  return (
    issuer.ca &&
    allowsClientAuth(issuer) &&
    !issuer.raw.includes(NAME_CONSTRAINTS) &&
    depth <= pathLength(issuer) &&
    subject.verify(issuer.publicKey)
  )
}

/**
 * Finds a path from the peer's certificate to a trusted authority in which every certificate is valid now and may be
 * used for client authentication. A path through name constraints is refused, as they cannot be evaluated here.
 */
function verifyClientChain(
  peer: PeerCertificate,
  trusted: TrustedAuthorities,
  nowMs: number,
): ChainResult {
  let leaf: X509Certificate
  let intermediates: X509Certificate[]
  try {
    leaf = new X509Certificate(peer.der)
    intermediates = peer.intermediates
      .slice(0, MAX_INTERMEDIATES)
      .map((der) => new X509Certificate(der))
    // Inside, since a key that cannot be read throws.
    if ([leaf, ...intermediates].some((one) => rsaBits(one) > MAX_RSA_BITS)) {
      return { ok: false, why: `x509: RSA key larger than ${MAX_RSA_BITS} bits` }
    }
  } catch (error) {
    return { ok: false, why: `x509: malformed certificate: ${String(error)}` }
  }
  let why = 'x509: certificate signed by unknown authority'
  const isValidNow = (certificate: X509Certificate): boolean => {
    const { from, to } = window(certificate)
    if (nowMs >= from && nowMs <= to) return true
    why = 'x509: certificate has expired or is not yet valid'
    return false
  }
  let checks = 0
  const isIssuer = (issuer: X509Certificate, of: X509Certificate, depth: number): boolean => {
    if (!of.checkIssued(issuer)) return false
    checks += 1
    return checks <= MAX_SIGNATURE_CHECKS && mayIssue(issuer, of, depth) && isValidNow(issuer)
  }
  const pathFrom = (from: X509Certificate, depth: number): X509Certificate[] | undefined => {
    for (const root of trusted) {
      if (from.raw.equals(root.raw)) return [from]
      if (isIssuer(root, from, depth)) return [from, root]
    }
    if (depth === MAX_DEPTH) return undefined
    for (const issuer of intermediates) {
      if (issuer.raw.equals(from.raw) || !isIssuer(issuer, from, depth)) continue
      const rest = pathFrom(issuer, depth + 1)
      if (rest !== undefined) return [from, ...rest]
    }
    return undefined
  }
  if (!isValidNow(leaf)) return { ok: false, why }
  if (!allowsClientAuth(leaf)) {
    return { ok: false, why: 'x509: certificate specifies an incompatible key usage' }
  }
  const path = pathFrom(leaf, 0)
  if (path === undefined) return { ok: false, why }
  const windows = path.map(window)
  return {
    ok: true,
    leaf,
    notBeforeMs: Math.max(...windows.map(({ from }) => from)),
    notAfterMs: Math.min(...windows.map(({ to }) => to)),
  }
}

/** Verifies a connection's certificate; the same result as long as it holds. */
type ChainVerifier = (peer: PeerCertificate) => ChainResult

/**
 * Keeps what it found per connection. `authorities` is asked every time, so that a reloaded file takes effect; it must return the
 * same array while nothing changed.
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
