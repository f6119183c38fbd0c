/** Groups that an issuer keeps elsewhere: fetched with the access token, vouched for by an issuer, and every way it can fail. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import {
  startIssuerHost,
  type DocumentAnswer,
  type IssuerHost,
} from '../../support/token-issuer.ts'
import { whoami } from '../../support/whoami.ts'

const secret = 'access-token-f005ba11'
let host: IssuerHost
let folder: string
let server: TestApiServer
let byFile: TestApiServer

beforeAll(async () => {
  host = await startIssuerHost()
  folder = mkdtempSync(join(tmpdir(), 'distributed-claims-'))
  writeFileSync(join(folder, 'ca.crt'), host.ca)
  const own = host.at('/own')
  server = await startApiServer({
    flags: [
      `--oidc-issuer-url=${own.url}`,
      '--oidc-client-id=client',
      `--oidc-ca-file=${join(folder, 'ca.crt')}`,
      '--oidc-groups-claim=groups',
      '--oidc-groups-prefix=oidc:',
    ],
  })
  const configured = host.at('/configured')
  writeFileSync(
    join(folder, 'authentication.json'),
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1beta1',
      kind: 'AuthenticationConfiguration',
      jwt: [
        {
          issuer: { url: configured.url, audiences: ['client'], certificateAuthority: host.ca },
          claimMappings: {
            username: { claim: 'sub', prefix: '' },
            groups: { claim: 'groups', prefix: 'x:' },
          },
        },
      ],
    }),
  )
  byFile = await startApiServer({
    flags: [`--authentication-config=${join(folder, 'authentication.json')}`],
  })
  for (const [of, issuer] of [
    [server, own],
    [byFile, configured],
  ] as const) {
    await eventually(async () => expect((await whoami(of, issuer.token())).status).toBe(201))
  }
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await byFile[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

let count = 0
/** A token of the issuer whose groups are kept at a place that answers like this. */
function keptAt(
  answer: (authorization: string | undefined) => DocumentAnswer,
  { issuer = '/own', ...claims }: Record<string, unknown> & { issuer?: string } = {},
): { token: string; path: string } {
  count += 1
  const path = `/claims-${count}`
  host.documents.set(path, ({ authorization }) => answer(authorization))
  const token = host.at(issuer).token({
    jti: `token-${count}`,
    _claim_names: { groups: 'src1' },
    _claim_sources: { src1: { endpoint: `${host.origin}${path}`, access_token: secret } },
    ...claims,
  })
  return { token, path }
}
const vouched =
  (claims: Record<string, unknown>, by = '/graph') =>
  () => ({
    body: host.at(by).token(claims),
  })

describe('claims that are kept elsewhere', () => {
  it('are fetched with their access token and vouched for by the issuer of what comes', async () => {
    let sent: string | undefined
    const { token } = keptAt((authorization) => {
      sent = authorization
      return vouched({ groups: ['a', 'b'] })()
    })
    const { status, user } = await whoami(server, token)
    expect([status, user?.groups]).toEqual([201, ['oidc:a', 'oidc:b', 'system:authenticated']])
    expect(sent).toBe(`Bearer ${secret}`)
  })

  it('of a configuration file are fetched too; one group may be a text', async () => {
    const { token } = keptAt(vouched({ groups: 'one' }), { issuer: '/configured' })
    expect((await whoami(byFile, token)).user?.groups).toEqual(['x:one', 'system:authenticated'])
  })

  it('without an access token are asked for without one', async () => {
    let sent: string | undefined = 'nothing'
    const { path } = keptAt((authorization) => {
      sent = authorization
      return vouched({ groups: ['a'] })()
    })
    const token = host.at('/own').token({
      _claim_names: { groups: 'src1' },
      _claim_sources: { src1: { endpoint: `${host.origin}${path}` } },
    })
    expect((await whoami(server, token)).status).toBe(201)
    expect(sent).toBeUndefined()
  })

  it('the issuer itself may vouch for', async () => {
    const { token } = keptAt(vouched({ groups: ['own'] }, '/own'))
    expect((await whoami(server, token)).user?.groups).toContain('oidc:own')
  })

  it('are not fetched where the token has the claim, names others, or has them in itself', async () => {
    const unused = vouched({ groups: ['fetched'] })
    const inToken = keptAt(unused, { groups: ['own'] })
    const others = keptAt(unused, { _claim_names: { address: 'src1' } })
    const aggregated = keptAt(unused, { _claim_sources: { src1: { JWT: 'a.b.c' } } })
    expect((await whoami(server, inToken.token)).user?.groups).toContain('oidc:own')
    for (const { token, path } of [inToken, others, aggregated]) {
      const { status, user } = await whoami(server, token)
      expect([status, user?.groups.includes('oidc:fetched')]).toEqual([201, false])
      expect(host.requests).not.toContain(path)
    }
  })

  it.each([
    ['names no source', { _claim_sources: undefined }, 'no claim sources'],
    [
      'names a source that is not there',
      { _claim_names: { groups: 'src2' } },
      'missing in _claims_sources',
    ],
    [
      'has names of another form',
      { _claim_names: ['groups'] },
      'error parsing distributed claim names',
    ],
    ['has sources of another form', { _claim_sources: 'src1' }, 'could not parse claim sources'],
    [
      'has an endpoint of another type',
      { _claim_sources: { src1: { endpoint: 1 } } },
      'could not parse claim sources',
    ],
    [
      'names an endpoint that is not https',
      { _claim_sources: { src1: { endpoint: 'http://127.0.0.1/' } } },
      'no https URL',
    ],
    [
      'names an endpoint that cannot be reached',
      { _claim_sources: { src1: { endpoint: 'https://127.0.0.1:1/' } } },
      'ECONNREFUSED',
    ],
  ])('a token that %s is refused', async (_what, claims, why) => {
    const { token } = keptAt(vouched({ groups: ['a'] }), claims)
    expect((await whoami(server, token)).status).toBe(401)
    expect(await said(token)).toContain(why)
  })

  it.each([
    ['an error', () => ({ status: 500 }), 'answered 500'],
    [
      'another place',
      () => ({ status: 302, headers: { location: `${host.origin}/claims-1` } }),
      'answered 302',
    ],
    ['no token', () => ({ body: '{"groups":["a"]}' }), 'getting untrusted issuer'],
    ['more than is read', () => ({ body: 'x'.repeat(2 * 1024 * 1024) }), 'is larger than'],
    ['a token without the claim', () => vouched({ other: 1 })(), 'did not contain claim: groups'],
    ['an expired token', () => vouched({ groups: ['a'], exp: 1 })(), 'token is expired'],
    [
      'a token for somebody else',
      () => vouched({ groups: ['a'], aud: 'x' })(),
      'expected audience',
    ],
    [
      'a token with another signature',
      () => ({ body: host.at('/graph').token({ groups: ['a'] }, { withForeignKey: true }) }),
      'failed to verify signature',
    ],
    [
      'a token without a signature',
      () => ({ body: host.at('/graph').token({ groups: ['a'] }, { algorithm: 'none' }) }),
      'failed to verify signature',
    ],
    [
      'groups of another type',
      () => vouched({ groups: { a: 1 } })(),
      'neither a string nor a list',
    ],
  ])('an endpoint that answers %s makes the token bad', async (_what, answer, why) => {
    const { token } = keptAt(answer)
    expect((await whoami(server, token)).status).toBe(401)
    const told = await said(token)
    expect(told).toContain(why)
    expect(told).not.toContain(secret)
  })

  it('issuers that cannot be discovered vouch for nothing, and there is an end to new ones', async () => {
    const strange = (number: number) =>
      keptAt(() => ({
        body: host.at('/graph').sign({
          iss: `https://127.0.0.1:1/${number}`,
          aud: 'client',
          exp: 9_999_999_999,
          groups: ['a'],
        }),
      }))
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, number) => await whoami(server, strange(number).token)),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
    expect(await said(strange(99).token)).toContain('verifying untrusted issuer')
  })
})

/** Why the token is bad, as the administrator is told. */
async function said(token: string): Promise<string> {
  const reply = await server.ok('POST', '/explain/token', { body: { spec: { token } } })
  return JSON.stringify(reply)
}
