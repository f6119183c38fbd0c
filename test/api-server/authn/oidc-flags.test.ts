import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { startIssuerHost, type IssuerHost } from '../../support/token-issuer.ts'
import { whoami } from '../../support/whoami.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let host: IssuerHost
let folder: string
beforeAll(async () => {
  host = await startIssuerHost()
  folder = temporaryFolder('oidc-flags')
  writeFileSync(join(folder, 'ca.crt'), host.ca)
  writeFileSync(join(folder, 'leaf.crt'), host.certificate)
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
})

const caFlag = (): string => `--oidc-ca-file=${join(folder, 'ca.crt')}`

/** A server that takes tokens of the issuer at `path`, ready when a good token of it is taken. */
async function start(path: string, more: readonly string[] = []): Promise<TestApiServer> {
  const issuer = host.at(path)
  const server = await startApiServer({
    flags: [`--oidc-issuer-url=${issuer.url}`, '--oidc-client-id=client', caFlag(), ...more],
  })
  return server
}

async function ready(server: TestApiServer, token: string): Promise<void> {
  await eventually(async () => {
    const { status } = await whoami(server, token)
    if (status !== 201) throw new Error(`still ${status}`)
  })
}

describe('OpenID Connect by flags', () => {
  it('[OIDC-009][OIDC-012][OIDC-013] discovers the keys and names the user by issuer and sub', async () => {
    await using server = await start('/plain')
    const issuer = host.at('/plain')
    await ready(server, issuer.token())
    expect(await whoami(server, issuer.token({ name: 'Jane' }))).toMatchObject({
      status: 201,
      user: { username: `${issuer.url}#jane`, groups: ['system:authenticated'] },
    })
    expect(host.requests).toContain('/plain/.well-known/openid-configuration')
    expect(host.requests).toContain('/plain/jwks')
    await using byName = await start('/plain', ['--oidc-username-claim=name'])
    await ready(byName, issuer.token({ name: 'Jane' }))
    expect((await whoami(byName, issuer.token({ name: 'Jane' }))).user?.username).toBe(
      `${issuer.url}#Jane`,
    )
  })

  it('[OIDC-002] an id token is taken, an access token is not', async () => {
    await using server = await start('/access')
    const issuer = host.at('/access')
    await ready(server, issuer.token())
    expect((await whoami(server, 'opaque-access-token')).status).toBe(401)
    const likeAccessToken = issuer.token({ aud: 'another-resource', scope: 'openid' })
    expect((await whoami(server, likeAccessToken)).status).toBe(401)
  })

  describe('tokens that do not hold', () => {
    let server: TestApiServer
    beforeAll(async () => {
      server = await start('/bad', [
        '--oidc-required-claim=hd=x',
        '--oidc-required-claim=tier=gold',
      ])
      await ready(server, good())
    })
    afterAll(async () => {
      await server[Symbol.asyncDispose]()
    })
    const claims = { hd: 'x', tier: 'gold' }
    const good = (): string => host.at('/bad').token(claims)
    const without = (name: string): string => {
      const issuer = host.at('/bad')
      const now = Math.floor(Date.now() / 1000)
      const all: Record<string, unknown> = {
        iss: issuer.url,
        aud: 'client',
        sub: 'jane',
        exp: now + 60,
        ...claims,
      }
      delete all[name]
      return issuer.sign(all)
    }
    const status = async (token: string): Promise<number> => (await whoami(server, token)).status

    it('[OIDC-003] one changed byte of the payload is refused', async () => {
      const [head = '', , signature = ''] = good().split('.')
      const other = host
        .at('/bad')
        .token({ ...claims, sub: 'root' })
        .split('.')[1]
      expect(await status(`${head}.${other}.${signature}`)).toBe(401)
    })
    it('[OIDC-004][OIDC-061] the expiry counts, and must be there', async () => {
      const past = Math.floor(Date.now() / 1000) - 1
      expect(await status(host.at('/bad').token({ ...claims, exp: past }))).toBe(401)
      expect(await status(without('exp'))).toBe(401)
      expect(await status(host.at('/bad').token({ ...claims, exp: 'never' }))).toBe(401)
    })
    it('[OIDC-005][OIDC-019][OIDC-020] every required claim must be there with its value', async () => {
      expect(await status(good())).toBe(201)
      expect(await status(host.at('/bad').token({ hd: 'y', tier: 'gold' }))).toBe(401)
      expect(await status(without('tier'))).toBe(401)
      expect(await status(without('hd'))).toBe(401)
    })
    it('[OIDC-011][OIDC-060] the audience must be there and be the client', async () => {
      expect(await status(host.at('/bad').token({ ...claims, aud: 'other' }))).toBe(401)
      expect(await status(host.at('/bad').token({ ...claims, aud: ['other', 'client'] }))).toBe(201)
      expect(await status(without('aud'))).toBe(401)
    })
    it('[OIDC-059] the issuer must be there and be this one', async () => {
      expect(await status(host.at('/bad').token({ ...claims, iss: `${host.origin}/other` }))).toBe(
        401,
      )
      expect(await status(without('iss'))).toBe(401)
    })
    it('[OIDC-062] the claim with the user name must be there', async () => {
      expect(await status(without('sub'))).toBe(401)
    })
    it.each(['none', 'HS256'] as const)('a token with alg %s is refused', async (algorithm) => {
      expect(await status(host.at('/bad').token(claims, { algorithm }))).toBe(401)
    })
    it('a token signed with another key under the same id is refused', async () => {
      expect(await status(host.at('/bad').token(claims, { withForeignKey: true }))).toBe(401)
    })
    it('a token from the future is refused', async () => {
      const nbf = Math.floor(Date.now() / 1000) + 3600
      expect(await status(host.at('/bad').token({ ...claims, nbf }))).toBe(401)
    })
    it('a claim given twice, a cut and a huge token are refused', async () => {
      const text = good()
      expect(await status(text.slice(0, -10))).toBe(401)
      expect(await status(host.at('/bad').token({ ...claims, x: 'y'.repeat(20_000) }))).toBe(401)
      const [head = ''] = text.split('.')
      const twice = Buffer.from(`{"iss":"${host.at('/bad').url}","sub":"a","sub":"b"}`)
      expect(await status(`${head}.${twice.toString('base64url')}.c2ln`)).toBe(401)
    })
    it('[OIDC-063] every failure is 401, with nothing of the token in the answer', async () => {
      const token = host.at('/bad').token({ hd: 'secret-value', tier: 'gold' })
      const reply = await server.request('GET', '/api/v1/namespaces', { as: { token } })
      expect(reply.status).toBe(401)
      expect(reply.body).toMatchObject({ reason: 'Unauthorized', message: 'Unauthorized' })
      expect(reply.text).not.toContain('secret-value')
    })
  })

  it('[OIDC-006] needs the issuer for new keys only, not for requests', async () => {
    const own = await startIssuerHost()
    writeFileSync(join(folder, 'own.crt'), own.ca)
    const issuer = own.at('')
    await using server = await startApiServer({
      flags: [
        `--oidc-issuer-url=${issuer.url}`,
        '--oidc-client-id=client',
        `--oidc-ca-file=${join(folder, 'own.crt')}`,
      ],
    })
    await ready(server, issuer.token())
    const before = own.requests.length
    for (const sub of ['a', 'b', 'c']) {
      expect((await whoami(server, issuer.token({ sub }))).status).toBe(201)
    }
    expect(own.requests.length).toBe(before)
    await own.stop()
    expect((await whoami(server, issuer.token({ sub: 'd' }))).status).toBe(201)
  })

  it('keys that the issuer changes are found when a token names them, and the old ones hold no more', async () => {
    await using server = await start('/rotating')
    const issuer = host.at('/rotating')
    await ready(server, issuer.token())
    const old = issuer.token({ sub: 'old' })
    expect((await whoami(server, old)).status).toBe(201)
    issuer.rotate()
    await ready(server, issuer.token())
    expect((await whoami(server, old)).status).toBe(401)
  })

  it('a new key under the name of the old one is found, and forged tokens do not ask for it over and over', async () => {
    await using server = await start('/renamed')
    const issuer = host.at('/renamed')
    await ready(server, issuer.token())
    const old = issuer.token({ sub: 'old' })
    issuer.rotate({ keepsId: true })
    await ready(server, issuer.token())
    expect((await whoami(server, old)).status).toBe(401)
    const asked = () => host.requests.filter((path) => path === '/renamed/jwks').length
    const [before, startedAt] = [asked(), performance.now()]
    for (let at = 0; at < 20; at += 1) {
      const forged = issuer.token({ sub: `forged-${at}` }, { withForeignKey: true })
      expect((await whoami(server, forged)).status).toBe(401)
    }
    expect(asked() - before).toBeLessThanOrEqual(1 + (performance.now() - startedAt) / 1000)
  })

  it('[OIDC-014] the claim email gets no prefix of its own, and must be verified', async () => {
    await using server = await start('/email', ['--oidc-username-claim=email'])
    const issuer = host.at('/email')
    await ready(server, issuer.token({ email: 'j@x.y' }))
    const name = async (claims: Record<string, unknown>) =>
      await whoami(server, issuer.token(claims))
    expect((await name({ email: 'j@x.y', email_verified: true })).user?.username).toBe('j@x.y')
    expect((await name({ email: 'j@x.y', email_verified: false })).status).toBe(401)
  })

  it('[OIDC-015][OIDC-017][OIDC-018] prefixes stand before names and groups', async () => {
    await using server = await start('/prefix', [
      '--oidc-username-prefix=oidc:',
      '--oidc-groups-claim=groups',
      '--oidc-groups-prefix=oidc:',
    ])
    const issuer = host.at('/prefix')
    await ready(server, issuer.token())
    const { user } = await whoami(server, issuer.token({ groups: ['a', 'b'] }))
    expect(user?.username).toBe('oidc:jane')
    expect(user?.groups).toEqual(['oidc:a', 'oidc:b', 'system:authenticated'])
    expect((await whoami(server, issuer.token({ groups: [1] }))).status).toBe(401)
  })

  it('[OIDC-016] the prefix - is none', async () => {
    await using server = await start('/bare', ['--oidc-username-prefix=-'])
    await ready(server, host.at('/bare').token())
    expect((await whoami(server, host.at('/bare').token())).user?.username).toBe('jane')
  })

  it('[OIDC-021][OIDC-024] an issuer whose certificate is not of the given authority is not believed', async () => {
    const issuer = host.at('/untrusted')
    const flags = [`--oidc-issuer-url=${issuer.url}`, '--oidc-client-id=client']
    await using server = await startApiServer({ flags })
    // Another authority's bundle is as good as none.
    await using other = await startIssuerHost()
    writeFileSync(join(folder, 'other.crt'), other.ca)
    await using wrong = await startApiServer({
      flags: [...flags, `--oidc-ca-file=${join(folder, 'other.crt')}`],
    })
    expect((await whoami(server, issuer.token())).status).toBe(401)
    expect((await whoami(wrong, issuer.token())).status).toBe(401)
    expect(host.requests.some((url) => url.startsWith('/untrusted'))).toBe(false)
    await using right = await startApiServer({ flags: [...flags, caFlag()] })
    await ready(right, issuer.token())
  })

  it('[OIDC-022] only RS256 unless other algorithms are named', async () => {
    await using server = await start('/algorithms')
    const issuer = host.at('/algorithms')
    await ready(server, issuer.token())
    expect((await whoami(server, issuer.token({}, { algorithm: 'ES256' }))).status).toBe(401)
    await using more = await start('/algorithms', ['--oidc-signing-algs=RS256,ES256'])
    await ready(more, issuer.token({}, { algorithm: 'ES256' }))
    expect((await whoami(more, issuer.token())).status).toBe(201)
  })

  it('[OIDC-027] a token is good until it expires and not after', async () => {
    const { FakeClock } = await import('../../support/fake-clock.ts')
    const clock = new FakeClock(Date.now())
    const issuer = host.at('/expiring')
    await using server = await startApiServer({
      clock,
      flags: [`--oidc-issuer-url=${issuer.url}`, '--oidc-client-id=client', caFlag()],
    })
    const exp = Math.floor(clock.now() / 1000) + 120
    const token = issuer.token({ exp })
    await ready(server, token)
    await clock.step(115_000)
    expect((await whoami(server, token)).status).toBe(201)
    await clock.step(7_000)
    expect((await whoami(server, token)).status).toBe(401)
  })
})

describe('flags that do not go together', () => {
  const refused = async (...flags: string[]): Promise<string> =>
    await startApiServer({ flags }).then(
      async (server) => {
        await server[Symbol.asyncDispose]()
        return 'started'
      },
      (error: unknown) => (error as Error).message,
    )

  it('[OIDC-007][OIDC-010] issuer and client belong together', async () => {
    const message =
      'oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set'
    expect(await refused('--oidc-client-id=client')).toBe(message)
    expect(await refused('--oidc-issuer-url=https://x.y')).toBe(message)
    expect(await refused('--oidc-groups-claim=groups')).toBe(message)
  })

  it('[OIDC-008] the issuer must be https', async () => {
    expect(await refused('--oidc-issuer-url=http://x.y', '--oidc-client-id=c')).toContain(
      'URL scheme must be https',
    )
  })

  it('[OIDC-025] a bundle must hold authorities', async () => {
    const both = ['--oidc-issuer-url=https://x.y', '--oidc-client-id=c']
    const leaf = join(folder, 'leaf.crt')
    expect(await refused(...both, `--oidc-ca-file=${leaf}`)).toContain('its CA flag is not set')
    expect(await refused(...both, `--oidc-ca-file=${join(folder, 'no.crt')}`)).toContain(
      '--oidc-ca-file: cannot read',
    )
  })

  it('unknown algorithms and malformed claims are refused', async () => {
    const both = ['--oidc-issuer-url=https://x.y', '--oidc-client-id=c']
    expect(await refused(...both, '--oidc-signing-algs=HS256')).toContain(
      'unsupported signing algorithm',
    )
    expect(await refused(...both, '--oidc-required-claim=hd')).toContain(
      'must be formatted as key=value',
    )
  })
})
