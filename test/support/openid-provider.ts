/** A real OpenID provider over TLS whose users log in by the code flow with PKCE; its keys change and it goes away on demand. */
import { createHash, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer, request as sendRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { createAuthority } from '../../certs/authority.ts'
import { issue } from '../../certs/pki.ts'
import { servingProfile } from '../../certs/profiles.ts'

export interface Tokens {
  readonly id_token: string
  readonly access_token: string
}

export interface OpenIdProvider extends AsyncDisposable {
  readonly url: string
  /** The authority that signed its certificate, PEM. */
  readonly ca: string
  /** The client that asks for tokens: their audience. */
  readonly clientId: string
  /** Requests so far, `GET /jwks`. */
  readonly requests: readonly string[]
  /** The tokens of a user who logs in now. */
  login(account: string, claims?: Readonly<Record<string, unknown>>): Promise<Tokens>
  /** From now on it signs with a new key; the old one is no longer published. */
  rotate(): void
  /** Connections are refused until `comeBack`. */
  goAway(): Promise<void>
  comeBack(): Promise<void>
}

/** Where a native client listens; nothing is sent there. */
const redirectUri = 'http://127.0.0.1/callback'

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** One browser, with its cookies. */
function browser(ca: string) {
  const cookies = new Map<string, string>()
  return (url: string, form?: Readonly<Record<string, string>>): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const options = {
        ca,
        method: form === undefined ? 'GET' : 'POST',
        headers: {
          ...(cookie === '' ? {} : { cookie }),
          ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
        },
      }
      const request = sendRequest(url, options, (response) => {
        const chunks: Buffer[] = []
        for (const line of response.headers['set-cookie'] ?? []) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
          if (value === '') cookies.delete(name)
          else cookies.set(name, value)
        }
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const { statusCode: status = 0, headers } = response
          resolve({ status, headers, text: Buffer.concat(chunks).toString() })
        })
      })
      request.on('error', reject)
      request.end(form === undefined ? undefined : new URLSearchParams(form).toString())
    })
}

function newKey(): Record<string, unknown> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: randomUUID() }
}

export async function startOpenIdProvider(): Promise<OpenIdProvider> {
  const nowMs = Date.now()
  const authority = createAuthority({ commonName: 'openid-ca', nowMs })
  const ca = authority.certificatePem
  const { certificatePem, privateKeyPem } = issue(authority, {
    profile: servingProfile({
      subject: { commonName: 'openid', organizations: [] },
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1'],
    }),
    nowMs,
  })
  const clientId = 'cli'
  const requests: string[] = []
  const claimsOf = new Map<string, Readonly<Record<string, unknown>>>()
  /** Who the next interaction is with. */
  let account = ''
  let provider: Provider
  let handle: ReturnType<Provider['callback']>

  const server = createServer(
    { cert: certificatePem, key: privateKeyPem },
    (incoming, outgoing) => {
      const path = incoming.url ?? ''
      requests.push(`${incoming.method ?? ''} ${path}`)
      const answered = path.startsWith('/interaction/')
        ? interact(incoming, outgoing)
        : handle(incoming, outgoing)
      answered.catch((error: unknown) => {
        outgoing.destroy(error as Error)
      })
    },
  )
  let port = 0
  const listen = async (): Promise<void> => {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, '127.0.0.1', resolve)
    })
    port = (server.address() as AddressInfo).port
  }
  await listen()
  const url = `https://127.0.0.1:${port}`

  const interact = async (...[incoming, outgoing]: Parameters<typeof handle>): Promise<void> => {
    await provider.interactionDetails(incoming, outgoing)
    const grant = new provider.Grant({ clientId, accountId: account })
    grant.addOIDCScope('openid profile')
    await provider.interactionFinished(incoming, outgoing, {
      login: { accountId: account },
      consent: { grantId: await grant.save() },
    })
  }

  const rotate = (): void => {
    provider = new Provider(url, {
      clients: [
        {
          client_id: clientId,
          redirect_uris: [redirectUri],
          application_type: 'native',
          token_endpoint_auth_method: 'none',
        },
      ],
      jwks: { keys: [newKey()] },
      cookies: { keys: [randomBytes(32).toString('hex')] },
      claims: { openid: ['sub'], profile: ['name', 'groups', 'hd'] },
      // Scopes put their claims into the id token itself, as most providers do.
      conformIdTokenClaims: false,
      features: { devInteractions: { enabled: false } },
      ttl: {
        AccessToken: 600,
        AuthorizationCode: 60,
        Grant: 600,
        IdToken: 600,
        Interaction: 60,
        Session: 600,
      },
      findAccount: (_: unknown, accountId: string) => ({
        accountId,
        claims: () => ({ sub: accountId, ...claimsOf.get(accountId) }),
      }),
    })
    handle = provider.callback()
  }
  rotate()

  const login: OpenIdProvider['login'] = async (name, claims = {}) => {
    account = name
    claimsOf.set(name, claims)
    const visit = browser(ca)
    const verifier = randomBytes(32).toString('base64url')
    const ask = new URLSearchParams({
      client_id: clientId,
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid profile',
      state: randomUUID(),
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })
    let next = new URL(`${url}/auth?${ask.toString()}`)
    while (next.origin === url) {
      const { status, headers, text } = await visit(next.href)
      if (headers.location === undefined) throw new Error(`${next.pathname}: ${status} ${text}`)
      next = new URL(headers.location, url)
    }
    const code = next.searchParams.get('code')
    if (code === null) throw new Error(`no code: ${next.href}`)
    const { status, text } = await visit(`${url}/token`, {
      grant_type: 'authorization_code',
      client_id: clientId,
      redirect_uri: redirectUri,
      code,
      code_verifier: verifier,
    })
    if (status !== 200) throw new Error(`no tokens: ${status} ${text}`)
    return JSON.parse(text) as Tokens
  }

  const goAway = async (): Promise<void> => {
    if (!server.listening) return
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
  return {
    url,
    ca,
    clientId,
    requests,
    login,
    rotate,
    goAway,
    comeBack: listen,
    [Symbol.asyncDispose]: goAway,
  }
}
