/**
 * verifyChain: finds a chain from a certificate to a trusted authority by Go's rules (crypto/x509 Certificate.Verify), which all of
 * upstream uses. OpenSSL's differ: it calls a leaf whose issuer and subject are empty self-signed, and gives up a path on its name.
 */
import type { Certificate } from './certificate.ts'
import { respectsConstraints } from './name-constraints.ts'
import { isSignedBy } from './signature.ts'

/** Hexadecimal identifiers of extended key usages. */
export const serverAuth = '2b06010505070301'
export const clientAuth = '2b06010505070302'
const anyUse = '551d2500'

/** Most candidates for one chain, since certificates that issue each other make countless paths (Go: 100). */
const mostCandidates = 100

export interface ChainQuestion {
  readonly roots: readonly Certificate[]
  /** Certificates that the peer sent besides its own. */
  readonly intermediates: readonly Certificate[]
  readonly use: string
  readonly nowMs: number
}

export type ChainAnswer =
  | { readonly ok: true; readonly chain: readonly Certificate[] }
  | { readonly ok: false; readonly why: string }

const faults = {
  unknown: 'x509: certificate signed by unknown authority',
  expired: 'x509: certificate has expired or is not yet valid',
  unhandled: 'x509: unhandled critical extension',
  use: 'x509: certificate specifies an incompatible key usage',
  names: 'x509: a root or intermediate certificate is not authorized to sign for this name',
  signs: 'x509: certificate is not authorized to sign other certificates',
  length: 'x509: too many intermediates for path length constraint',
  limit: 'x509: signature check attempts limit reached while verifying certificate chain',
} as const

function timeFault(
  { hasUnhandled, fromMs, untilMs }: Certificate,
  nowMs: number,
): string | undefined {
  if (hasUnhandled) return faults.unhandled
  return nowMs < fromMs || nowMs > untilMs ? faults.expired : undefined
}

const sameBytes = (one: Buffer | undefined, other: Buffer | undefined): boolean =>
  one === undefined || other === undefined ? one === other : one.equals(other)

/** Certificates whose name is that of the issuer, the likeliest first: by key identifiers that match, that are missing, that differ. */
function candidatesFor(of: Certificate, pool: readonly Certificate[]): Certificate[] {
  const rank = ({ subjectKeyId: own }: Certificate): number => {
    if (sameBytes(own, of.authorityKeyId)) return 0
    return own === undefined || of.authorityKeyId === undefined ? 1 : 2
  }
  return pool
    .filter(({ subject }) => subject.equals(of.issuer))
    .toSorted((one, other) => rank(one) - rank(other))
}

/** The same subject, key and names: another form of a certificate that the chain has. */
function isIn(chain: readonly Certificate[], { subject, keyInfo, names }: Certificate): boolean {
  return chain.some(
    (one) =>
      one.subject.equals(subject) &&
      one.keyInfo.equals(keyInfo) &&
      sameBytes(one.names?.raw, names?.raw),
  )
}

/** Whether the issuer's key may sign certificates; version 1 has no field for it. */
function maySign({ version, basics, maySign: allows }: Certificate): boolean {
  return allows && (basics?.isAuthority ?? version < 3)
}

/** Why an issuer may not stand at this place of a chain, which begins with its leaf. */
function placeFault(
  issuer: Certificate,
  chain: readonly Certificate[],
  at: { readonly isRoot: boolean; readonly nowMs: number },
): string | undefined {
  const fault = timeFault(issuer, at.nowMs)
  if (fault !== undefined) return fault
  const { isAuthority = false, pathLength = Infinity } = issuer.basics ?? {}
  if (!at.isRoot && !isAuthority) return faults.signs
  return chain.length - 1 > pathLength ? faults.length : undefined
}

function allowsUse(chain: readonly Certificate[], use: string): boolean {
  return chain.every(({ uses }) => uses.length === 0 || uses.includes(use) || uses.includes(anyUse))
}

/** Finds a chain in which every certificate is valid now, may issue the one below it and may be used as asked. */
export function verifyChain(leaf: Certificate, question: ChainQuestion): ChainAnswer {
  const { roots, intermediates, use, nowMs } = question
  const ofLeaf = timeFault(leaf, nowMs)
  if (ofLeaf !== undefined) return { ok: false, why: ofLeaf }
  let why: string = faults.unknown
  let left = mostCandidates

  const accepted = (chain: readonly Certificate[]): readonly Certificate[] | undefined => {
    if (!allowsUse(chain, use)) why = faults.use
    else if (!respectsConstraints(chain)) why = faults.names
    else return chain
    return undefined
  }
  const extended = (
    chain: readonly Certificate[],
    issuer: Certificate,
    isRoot: boolean,
  ): readonly Certificate[] | undefined => {
    const below = chain.at(-1) ?? leaf
    if (isIn(chain, issuer) || !maySign(issuer) || !isSignedBy(below, issuer)) return undefined
    const fault = placeFault(issuer, chain, { isRoot, nowMs })
    if (fault !== undefined) {
      why = fault
      return undefined
    }
    return [...chain, issuer]
  }
  const pathFrom = (chain: readonly Certificate[]): readonly Certificate[] | undefined => {
    const below = chain.at(-1) ?? leaf
    for (const isRoot of [true, false]) {
      for (const issuer of candidatesFor(below, isRoot ? roots : intermediates)) {
        left -= 1
        if (left < 0) {
          why = faults.limit
          return undefined
        }
        const longer = extended(chain, issuer, isRoot)
        const found = longer && (isRoot ? accepted(longer) : pathFrom(longer))
        if (found !== undefined) return found
      }
    }
    return undefined
  }
  const isTrusted = roots.some(({ raw }) => raw.equals(leaf.raw))
  const chain = isTrusted ? accepted([leaf]) : pathFrom([leaf])
  return chain === undefined ? { ok: false, why } : { ok: true, chain }
}
