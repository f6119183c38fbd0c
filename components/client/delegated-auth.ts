/**
 * Delegated authentication and authorization for a component's own listener: the API server reviews tokens (TokenReview) and
 * access (SubjectAccessReview), and its answers are cached for a while. Client certificates are verified here.
 */
import { createHash, X509Certificate } from 'node:crypto'
import type {
  SubjectAccessReview,
  SubjectAccessReviewSpec,
  TokenReview,
} from '../api/generated/types.ts'
import { resourcesOf } from '../api/resources.ts'
import { subjectOf } from '../component-base/certificate-subject.ts'
import type { Clock } from '../component-base/clock.ts'
import type { HttpRequest, PeerCertificate } from '../component-base/http.ts'
import type { Client } from './client.ts'

export interface DelegatedUser {
  readonly username: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, string[]>>
}

export type AccessAttributes = Pick<
  SubjectAccessReviewSpec,
  'resourceAttributes' | 'nonResourceAttributes'
>

export interface DelegatedAuth {
  /** Undefined without a valid credential. Rejects if the API server cannot be reached. */
  authenticate(request: HttpRequest): Promise<DelegatedUser | undefined>
  /** Rejects if the API server cannot be reached. */
  authorize(
    user: DelegatedUser,
    attributes: AccessAttributes,
  ): Promise<{ readonly isAllowed: boolean; readonly reason: string }>
}

/** Upstream's defaults. */
const tokenTtlMs = 2 * 60_000
const allowedTtlMs = 5 * 60_000
const deniedTtlMs = 30_000
const maxCached = 1000
const clientAuthUsage = '1.3.6.1.5.5.7.3.2'
const anyUsage = '2.5.29.37.0'
const authenticatedGroup = 'system:authenticated'

/** Answers by key, each for its own time; a full cache drops the oldest. */
function createCache<T>(clock: Clock) {
  const known = new Map<string, { value: T; untilMs: number }>()
  return {
    get: (key: string): T | undefined => {
      const entry = known.get(key)
      if (entry === undefined || entry.untilMs > clock.now()) return entry?.value
      known.delete(key)
      return undefined
    },
    set: (key: string, value: T, ttlMs: number): void => {
      known.delete(key)
      known.set(key, { value, untilMs: clock.now() + ttlMs })
      const oldest = known.keys().next().value
      if (known.size > maxCached && oldest !== undefined) known.delete(oldest)
    },
  }
}

/** The user a client certificate stands for, if it holds now and was signed by one of the authorities. */
export function certificateUser(
  peer: PeerCertificate,
  authorities: readonly X509Certificate[],
  nowMs: number,
): DelegatedUser | undefined {
  const certificate = new X509Certificate(peer.der)
  if (Date.parse(certificate.validFrom) > nowMs || Date.parse(certificate.validTo) < nowMs) {
    return undefined
  }
  const isSigned = authorities.some(
    (authority) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey),
  )
  const usages = certificate.keyUsage as readonly string[] | undefined
  const isForClients = usages?.some((usage) => usage === clientAuthUsage || usage === anyUsage)
  if (!isSigned || isForClients === false) return undefined
  const { commonName, organizations } = subjectOf(certificate)
  if (commonName === undefined) return undefined
  return { username: commonName, groups: [...organizations, authenticatedGroup] }
}

/** A connection's certificate is checked once, and again when it has run out. */
function createPeerMemory(authorities: readonly X509Certificate[], clock: Clock) {
  const known = new WeakMap<PeerCertificate, { user: DelegatedUser; untilMs: number }>()
  return (peer: PeerCertificate): DelegatedUser | undefined => {
    const entry = known.get(peer)
    if (entry !== undefined && entry.untilMs >= clock.now()) return entry.user
    const user = certificateUser(peer, authorities, clock.now())
    if (user === undefined) return undefined
    known.set(peer, { user, untilMs: Date.parse(new X509Certificate(peer.der).validTo) })
    return user
  }
}

/** The certificates in a PEM text. Throws when one of them cannot be read. */
export function parseClientCa(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END [^-]+-----/g) ?? []
  return blocks.map((block) => new X509Certificate(block))
}

/** `clientCa` is a PEM text with the authorities of client certificates, read for each request; without it none is accepted. */
export function createDelegatedAuth(options: {
  readonly client: Client
  readonly clientCa: () => string | undefined
  readonly clock: Clock
}): DelegatedAuth {
  const { client, clock, clientCa } = options
  const peersOf = (pem: string | undefined) => ({
    pem,
    userOf: createPeerMemory(parseClientCa(pem ?? ''), clock),
  })
  // Made for the first request: of thousands of simulated nodes few get one.
  let peers: ReturnType<typeof peersOf> | undefined
  const byCertificate = (peer: PeerCertificate): DelegatedUser | undefined => {
    const pem = clientCa()
    if (peers === undefined || pem !== peers.pem) peers = peersOf(pem)
    return peers.userOf(peer)
  }
  const byToken = createTokenAuthenticator(client, clock)
  return {
    authenticate: async (request) => {
      const user = request.peer === undefined ? undefined : byCertificate(request.peer)
      if (user !== undefined) return user
      const header = request.headers['authorization']
      const [, token] = /^bearer (\S+)$/i.exec(typeof header === 'string' ? header : '') ?? []
      return token === undefined ? undefined : await byToken(token)
    },
    authorize: createAuthorizer(client, clock),
  }
}

/** Reviews tokens with the API server, and caches the users of valid ones. */
function createTokenAuthenticator(client: Client, clock: Clock) {
  const reviews = client.resource<TokenReview>(resourcesOf(client.dialect).tokenReviews)
  const cache = createCache<DelegatedUser>(clock)
  return async (token: string): Promise<DelegatedUser | undefined> => {
    // The cache does not keep the token itself.
    const key = createHash('sha256').update(token).digest('base64')
    const known = cache.get(key)
    if (known !== undefined) return known
    const { status } = await reviews.create({ metadata: {}, spec: { token } })
    if (status?.authenticated !== true || status.user === undefined) return undefined
    const { username = '', uid, groups = [], extra } = status.user
    const user: DelegatedUser = {
      username,
      groups,
      ...(uid === undefined ? {} : { uid }),
      ...(extra === undefined ? {} : { extra }),
    }
    cache.set(key, user, tokenTtlMs)
    return user
  }
}

/** Reviews access with the API server, and caches its decisions. */
function createAuthorizer(client: Client, clock: Clock): DelegatedAuth['authorize'] {
  const { subjectAccessReviews } = resourcesOf(client.dialect)
  const reviews = client.resource<SubjectAccessReview>(subjectAccessReviews)
  const cache = createCache<{ isAllowed: boolean; reason: string }>(clock)
  return async ({ username, uid, groups, extra }, attributes) => {
    const spec: SubjectAccessReviewSpec = {
      user: username,
      groups: [...groups],
      ...(uid === undefined ? {} : { uid }),
      ...(extra === undefined ? {} : { extra: { ...extra } }),
      ...attributes,
    }
    const key = JSON.stringify(spec)
    const known = cache.get(key)
    if (known !== undefined) return known
    const { status } = await reviews.create({ metadata: {}, spec })
    const isAllowed = status?.allowed === true
    const decision = { isAllowed, reason: status?.reason ?? '' }
    cache.set(key, decision, isAllowed ? allowedTtlMs : deniedTtlMs)
    return decision
  }
}
