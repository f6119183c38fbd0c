/** Token issuers for tests, one for each path: discovery, keys, tokens of any content, faults on demand; alone or as a host over TLS. */
import {
  createPrivateKey,
  generateKeyPairSync,
  sign as signBytes,
  type KeyObject,
} from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAuthority } from '../../certs/authority.ts'
import { issue } from '../../certs/pki.ts'
import { servingProfile } from '../../certs/profiles.ts'

export type SigningAlgorithm = 'RS256' | 'ES256' | 'HS256' | 'none'

export interface SignOptions {
  /** Default RS256. */
  readonly algorithm?: SigningAlgorithm
  /** Signs with a key that is not published. */
  readonly withForeignKey?: boolean
  /** Default: the newest published key's. */
  readonly keyId?: string
}

export interface TestIssuer {
  readonly url: string
  /** A token with these claims as they are. */
  sign(claims: Readonly<Record<string, unknown>>, options?: SignOptions): string
  /** A good token: `iss`, `aud` `client`, an hour to live, and these claims. */
  token(claims?: Readonly<Record<string, unknown>>, options?: SignOptions): string
  /** Replaces the published key; the new one has a new id unless `keepsId`. */
  rotate(options?: { readonly keepsId: boolean }): void
  /** What the discovery document says; undefined: 404. */
  document: Record<string, unknown> | undefined
}

/** Issuers of one origin, and how they answer: without a transport. */
export interface Issuers {
  readonly origin: string
  /** Paths that were asked for, in order. */
  readonly requests: readonly string[]
  /** What else is answered, by path; the answer's body is a text. */
  readonly documents: Map<string, (headers: IncomingHttpHeaders) => DocumentAnswer>
  /** The issuer at a path (`/a`), made when first asked for. */
  at(path: string): TestIssuer
  answer(path: string, headers: IncomingHttpHeaders): DocumentAnswer
}

export interface IssuerHost extends Issuers, AsyncDisposable {
  /** The authority that signed the host's certificate, PEM. */
  readonly ca: string
  /** The host's own certificate, which is no authority's. */
  readonly certificate: string
  /** Stops answering: connections are refused. */
  stop(): Promise<void>
}

export interface DocumentAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

interface Keys {
  readonly id: string
  readonly rsa: { readonly privateKey: KeyObject; readonly publicKey: KeyObject }
  readonly ec: { readonly privateKey: KeyObject; readonly publicKey: KeyObject }
}

let made = 0
const rsaPem: string[] = []

/** Making RSA keys is slow, and tests need many: a few are used over and over. */
function rsaPair(at: number): Keys['rsa'] {
  const known = (rsaPem[at % 3] ??= generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString())
  const privateKey = createPrivateKey(known)
  return { privateKey, publicKey: privateKey as KeyObject }
}

function newKeys(): Keys {
  made += 1
  return {
    id: `key-${made}`,
    rsa: rsaPair(made),
    ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  }
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function publicJwk(key: KeyObject): Record<string, unknown> {
  const { d: _, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...rest } = key.export({ format: 'jwk' })
  return rest
}

function encode(
  claims: Readonly<Record<string, unknown>>,
  keys: Keys,
  { algorithm = 'RS256', keyId = keys.id }: SignOptions,
): string {
  const text = `${part({ alg: algorithm, kid: keyId, typ: 'JWT' })}.${part(claims)}`
  if (algorithm === 'none') return `${text}.`
  // The classic mix-up: the public key's bytes taken for a shared secret.
  if (algorithm === 'HS256') return `${text}.${Buffer.from('forged').toString('base64url')}`
  const signature =
    algorithm === 'RS256'
      ? signBytes('sha256', Buffer.from(text), keys.rsa.privateKey)
      : signBytes('sha256', Buffer.from(text), {
          key: keys.ec.privateKey,
          dsaEncoding: 'ieee-p1363',
        })
  return `${text}.${signature.toString('base64url')}`
}

export function createIssuers(origin: string): Issuers {
  const issuers = new Map<string, { issuer: TestIssuer; keys: () => Keys }>()
  const requests: string[] = []
  const documents: Issuers['documents'] = new Map()
  return {
    origin,
    requests,
    documents,
    at(path) {
      const known = issuers.get(path)
      if (known !== undefined) return known.issuer
      const made = createIssuer(`${origin}${path}`)
      issuers.set(path, made)
      return made.issuer
    },
    answer(url, headers) {
      requests.push(url)
      const document = documents.get(url)?.(headers)
      if (document !== undefined) return document
      const [, path = '', what = ''] =
        /^(.*?)\/(\.well-known\/openid-configuration|jwks)$/.exec(url) ?? []
      const found = issuers.get(path)
      const answer = what === 'jwks' ? found && jwksOf(found.keys()) : found?.issuer.document
      return {
        status: answer === undefined ? 404 : 200,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(answer ?? {}),
      }
    },
  }
}

function createIssuer(url: string): { issuer: TestIssuer; keys: () => Keys } {
  let keys = newKeys()
  const foreign = newKeys()
  const issuer: TestIssuer = {
    url,
    document: { issuer: url, jwks_uri: `${url}/jwks` },
    sign: (claims, options = {}) =>
      encode(claims, options.withForeignKey === true ? { ...foreign, id: keys.id } : keys, options),
    token: (claims = {}, options) =>
      issuer.sign(
        {
          iss: url,
          aud: 'client',
          sub: 'jane',
          exp: Math.floor(Date.now() / 1000) + 3600,
          ...claims,
        },
        options,
      ),
    rotate: ({ keepsId } = { keepsId: false }) => {
      const { id } = keys
      keys = keepsId ? { ...newKeys(), id } : newKeys()
    },
  }
  return { issuer, keys: () => keys }
}

/** Issuers on a port of this host, over TLS. */
export async function startIssuerHost(): Promise<IssuerHost> {
  const nowMs = Date.now()
  const authority = createAuthority({ commonName: 'issuers', nowMs })
  const { certificatePem, privateKeyPem } = issue(authority, {
    profile: servingProfile({
      subject: { commonName: 'issuer', organizations: [] },
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1'],
    }),
    nowMs,
  })
  const server = createServer({ cert: certificatePem, key: privateKeyPem }, (request, response) => {
    const { status = 200, headers, body } = issuers.answer(request.url ?? '', request.headers)
    response.writeHead(status, headers).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuers = createIssuers(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const stop = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
  return {
    ...issuers,
    ca: authority.certificatePem,
    certificate: certificatePem,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

function jwksOf({ id, rsa, ec }: Keys): unknown {
  return {
    keys: [
      { ...publicJwk(rsa.publicKey), kid: id, use: 'sig', alg: 'RS256' },
      { ...publicJwk(ec.publicKey), kid: id, use: 'sig', alg: 'ES256' },
    ],
  }
}
