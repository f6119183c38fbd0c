import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { apiGroup, dialects } from '../../../components/api/dialect.ts'
import { parseAuthenticationConfiguration } from '../../../components/api-server/authn/configuration/authentication-configuration.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { startIssuerHost, type IssuerHost, type TestIssuer } from '../../support/token-issuer.ts'
import { whoami } from '../../support/whoami.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

type Json = Record<string, unknown>

const dialect = dialects.kubernetes
const group = apiGroup(dialect, 'apiserver.config')

let host: IssuerHost
let folder: string
let files = 0
beforeAll(async () => {
  host = await startIssuerHost()
  folder = temporaryFolder('authentication-config')
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
})

const whole = (content: Json): string =>
  JSON.stringify({
    apiVersion: `${group}/v1beta1`,
    kind: 'AuthenticationConfiguration',
    ...content,
  })

function fileOf(content: Json | string): string {
  files += 1
  const path = join(folder, `config-${files}.yaml`)
  writeFileSync(path, typeof content === 'string' ? content : whole(content))
  return path
}

const bySub = { username: { claim: 'sub', prefix: '' } }

/** One element of `jwt` for the issuer at a path, with the given parts on top of what every issuer needs. */
function issuerEntry(path: string, more: Json = {}): Json {
  const { issuer, ...rest } = more
  return {
    issuer: {
      url: host.at(path).url,
      certificateAuthority: host.ca,
      audiences: ['client'],
      ...(issuer as Json | undefined),
    },
    claimMappings: bySub,
    ...rest,
  }
}

async function ready(
  server: TestApiServer,
  issuer: TestIssuer,
  token = issuer.token(),
): Promise<void> {
  await eventually(async () => {
    const { status } = await whoami(server, token)
    if (status !== 201) throw new Error(`still ${status}`)
  })
}

describe('tokens by configuration', () => {
  /** Each case is an issuer of its own in one file, with a token it takes once it is discovered. */
  const cases: Record<string, Json> = {
    '/audiences': { issuer: { audiences: ['a', 'b'], audienceMatchPolicy: 'MatchAny' } },
    '/claim-rule': { claimValidationRules: [{ claim: 'hd', requiredValue: 'x' }] },
    '/expression-rule': {
      claimValidationRules: [
        { expression: 'claims.exp - claims.nbf <= 86400', message: 'lives too long' },
      ],
    },
    '/two-rules': {
      claimValidationRules: [{ expression: 'claims.a == 1' }, { expression: 'claims.b == 2' }],
    },
    '/prefix': {
      claimMappings: {
        username: { claim: 'sub', prefix: 'p:' },
        groups: { claim: 'groups', prefix: 'g:' },
        uid: { claim: 'id' },
      },
    },
    '/expressions': {
      claimMappings: {
        username: { expression: 'claims.username + ":u"' },
        groups: { expression: 'claims.roles.split(",")' },
        uid: { expression: '"uid-" + claims.id' },
        extra: [
          { key: 'example.com/tenant', valueExpression: 'claims.org.tenant' },
          { key: 'example.com/roles', valueExpression: '[claims.id, "and"]' },
          { key: 'example.com/none', valueExpression: '""' },
        ],
      },
    },
    '/one-group': {
      claimMappings: { ...bySub, groups: { expression: 'claims.role' } },
    },
    '/dynamic-name': { claimMappings: { username: { expression: 'claims.anything' } } },
    '/user-rules': {
      userValidationRules: [
        { expression: '!user.username.startsWith("system:")', message: 'reserved' },
        { expression: 'user.groups.all(g, g != "root")' },
      ],
      claimMappings: { ...bySub, groups: { claim: 'groups', prefix: '' } },
    },
    '/nested': {
      claimMappings: {
        username: { expression: 'claims.a.b[1].c + string(claims.n) + string(claims.t)' },
      },
    },
    '/distributed': { claimMappings: { username: { expression: 'claims.name' } } },
    '/email': {
      claimMappings: { username: { expression: 'claims.email' } },
      claimValidationRules: [{ expression: 'claims.?x == 1 || claims.email_verified == true' }],
    },
    '/elsewhere': {},
    '/mismatch': {},
    '/without-document': {},
  }
  let server: TestApiServer
  const goodClaims: Record<string, Json> = {
    '/audiences': { aud: 'b' },
    '/claim-rule': { hd: 'x' },
    '/expression-rule': { nbf: Math.floor(Date.now() / 1000) },
    '/two-rules': { a: 1, b: 2 },
    '/prefix': { id: '7', groups: ['a', 'b'] },
    '/expressions': { username: 'jane', roles: 'a,b', id: '7', org: { tenant: 't' } },
    '/one-group': { role: 'r' },
    '/dynamic-name': { anything: 'text' },
    '/nested': { a: { b: [0, { c: 'x' }] }, n: 5, t: true },
    '/distributed': { name: 'n' },
  }
  const token = (path: string, claims: Json = {}): string =>
    host.at(path).token({ ...goodClaims[path], ...claims })
  const who = async (path: string, claims: Json = {}) => await whoami(server, token(path, claims))

  beforeAll(async () => {
    const byPath = { ...cases }
    delete byPath['/email']
    host.at('/other-place').document = {
      issuer: host.at('/elsewhere').url,
      jwks_uri: `${host.at('/elsewhere').url}/jwks`,
    }
    byPath['/elsewhere'] = {
      issuer: { discoveryURL: `${host.at('/other-place').url}/.well-known/openid-configuration` },
    }
    host.at('/mismatch').document = {
      issuer: 'https://another.example',
      jwks_uri: `${host.at('/mismatch').url}/jwks`,
    }
    host.at('/without-document').document = undefined
    const jwt = Object.entries(byPath).map(([path, more]) => issuerEntry(path, more))
    const flags = [`--authentication-config=${fileOf({ jwt })}`]
    server = await startApiServer({ flags })
    for (const path of Object.keys(goodClaims)) await ready(server, host.at(path), token(path))
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })

  it('[OIDC-001] a token of a configured issuer authenticates, as one of the flags does', async () => {
    expect((await who('/claim-rule')).user?.username).toBe('jane')
    const issuer = host.at('/by-flags')
    const ca = join(folder, 'ca.crt')
    writeFileSync(ca, host.ca)
    await using byFlags = await startApiServer({
      flags: [`--oidc-issuer-url=${issuer.url}`, '--oidc-client-id=client', `--oidc-ca-file=${ca}`],
    })
    await ready(byFlags, issuer)
  })

  it('[OIDC-023][OIDC-031] discovery is at the issuer, or where the configuration says', async () => {
    await ready(server, host.at('/elsewhere'))
    expect(host.requests).toContain('/other-place/.well-known/openid-configuration')
    expect(host.requests).not.toContain('/elsewhere/.well-known/openid-configuration')
    expect((await who('/without-document')).status).toBe(401)
  })

  it('[OIDC-034] a document of another issuer makes this one unusable', async () => {
    expect(host.requests).toContain('/mismatch/.well-known/openid-configuration')
    expect((await who('/mismatch')).status).toBe(401)
  })

  it('[OIDC-036] one of the audiences must be the token’s', async () => {
    expect((await who('/audiences', { aud: 'b' })).status).toBe(201)
    expect((await who('/audiences', { aud: ['c', 'a'] })).status).toBe(201)
    expect((await who('/audiences', { aud: 'c' })).status).toBe(401)
    expect(refusal([issuerEntry('/x', { issuer: { audiences: [] } })])).toBe(
      'jwt[0].issuer.audiences: Required value: at least one audience is required',
    )
  })

  it('[OIDC-038] a claim must have the value that a rule requires', async () => {
    expect((await who('/claim-rule', { hd: 'x' })).status).toBe(201)
    expect((await who('/claim-rule', { hd: 'y' })).status).toBe(401)
    expect((await who('/claim-rule', { hd: undefined })).status).toBe(401)
  })

  it('[OIDC-039] an expression over the claims must hold', async () => {
    const now = Math.floor(Date.now() / 1000)
    expect((await who('/expression-rule', { nbf: now, exp: now + 86_400 })).status).toBe(201)
    expect((await who('/expression-rule', { nbf: now, exp: now + 86_401 })).status).toBe(401)
    const claimValidationRules = [{ expression: 'claims.sub + "x"' }]
    expect(refusal([issuerEntry('/x', { claimValidationRules })])).toContain(
      'must evaluate to bool',
    )
  })

  it('[OIDC-040][ERR-005] all rules must hold', async () => {
    expect((await who('/two-rules')).status).toBe(201)
    expect((await who('/two-rules', { b: 3 })).status).toBe(401)
    expect((await who('/two-rules', { a: 3 })).status).toBe(401)
  })

  it('[OIDC-042][OIDC-048] claims name user, groups and uid, with prefixes', async () => {
    const { user } = await who('/prefix')
    expect(user).toMatchObject({ username: 'p:jane', uid: '7' })
    expect(user?.groups).toEqual(['g:a', 'g:b', 'system:authenticated'])
    expect((await who('/prefix', { groups: 'a' })).user?.groups).toContain('g:a')
  })

  it('[OIDC-044][OIDC-055][OIDC-058] expressions name user, groups, uid and extra', async () => {
    expect((await who('/expressions')).user).toEqual({
      username: 'jane:u',
      uid: 'uid-7',
      groups: ['a', 'b', 'system:authenticated'],
      extra: { 'example.com/tenant': ['t'], 'example.com/roles': ['7', 'and'] },
    })
    expect((await who('/dynamic-name', { anything: 5 })).status).toBe(401)
    expect(
      refusal([issuerEntry('/x', { claimMappings: { username: { expression: '1 + 1' } } })]),
    ).toContain('must evaluate to string')
    expect((await who('/nested')).user?.username).toBe('x5true')
  })

  it('[OIDC-049] an expression may give one group or several', async () => {
    expect((await who('/one-group')).user?.groups).toEqual(['r', 'system:authenticated'])
    expect((await who('/one-group', { role: ['r', 's'] })).user?.groups).toEqual([
      'r',
      's',
      'system:authenticated',
    ])
    expect((await who('/one-group', { role: 7 })).status).toBe(401)
  })

  it('[OIDC-050] the uid comes from a claim or an expression, not from both', async () => {
    expect((await who('/prefix')).user?.uid).toBe('7')
    expect((await who('/expressions')).user?.uid).toBe('uid-7')
    const uid = { claim: 'id', expression: 'claims.id' }
    expect(refusal([issuerEntry('/x', { claimMappings: { ...bySub, uid } })])).toContain(
      "claim and expression can't both be set",
    )
  })

  it('[OIDC-046] an empty name is nobody', async () => {
    expect((await who('/claim-rule', { sub: '' })).status).toBe(401)
    expect((await who('/dynamic-name', { anything: '' })).status).toBe(401)
  })

  it('[OIDC-056][OIDC-057][ERR-006] every rule over the user must hold', async () => {
    expect((await who('/user-rules')).status).toBe(201)
    expect((await who('/user-rules', { sub: 'system:admin' })).status).toBe(401)
    expect((await who('/user-rules', { groups: ['a', 'root'] })).status).toBe(401)
  })

  it('[OIDC-064] claims that are kept elsewhere are not fetched for an expression', async () => {
    const before = host.requests.length
    const claims = {
      name: undefined,
      _claim_names: { name: 'src' },
      _claim_sources: { src: { endpoint: `${host.origin}/claims`, access_token: 't' } },
    }
    expect((await who('/distributed', claims)).status).toBe(401)
    expect(host.requests.length).toBe(before)
  })

  it('the token’s id is kept for the audit log', async () => {
    const { user } = await who('/claim-rule', { jti: 'id-1' })
    expect(user?.extra).toEqual({ 'authentication.kubernetes.io/credential-id': ['JTI=id-1'] })
  })

  it('a review of a token asks for the server’s audiences', async () => {
    const review = async (audiences?: string[]) =>
      (
        await server.ok('POST', `/apis/${server.group('authentication')}/v1/tokenreviews`, {
          body: { spec: { token: token('/claim-rule'), audiences } },
        })
      ).status as { authenticated?: boolean; audiences?: string[] }
    expect((await review()).authenticated).toBe(true)
    expect((await review(['elsewhere'])).authenticated).not.toBe(true)
  })
})

/** The message with which a configuration is refused. */
function refusal(jwt: unknown, more: Json = {}): string {
  return refused(whole({ jwt, ...more }))
}

function refused(
  text: string,
  disallowedIssuers: readonly string[] = ['https://own.example'],
): string {
  try {
    parseAuthenticationConfiguration(text, { dialect, disallowedIssuers })
    return 'accepted'
  } catch (error) {
    return (error as Error).message
  }
}

describe('configurations that cannot be used', () => {
  it('[OIDC-028] has 64 issuers at most', () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, at) => issuerEntry(`/many/${at}`))
    expect(refusal(many(64))).toBe('accepted')
    expect(refusal(many(65))).toBe('jwt: Too many: 65: must have at most 64 items')
  })

  it('[LIM-003] 64 is the most token issuers of a configuration', () => {
    const many = Array.from({ length: 65 }, (_, at) => issuerEntry(`/many/${at}`))
    expect(refusal(many)).toContain('at most 64')
    expect(refusal(many.slice(1))).toBe('accepted')
  })

  it('[OIDC-029] the URL of an issuer is there once', () => {
    const url = host.at('/twice').url
    expect(refusal([issuerEntry('/twice'), issuerEntry('/twice')])).toBe(
      `jwt[1].issuer.url: Duplicate value: "${url}"`,
    )
  })

  it('[OIDC-030] the server’s own issuer is no other', () => {
    const url = 'https://own.example'
    expect(refusal([issuerEntry('/x', { issuer: { url } })])).toBe(
      'jwt[0].issuer.url: Invalid value: "https://own.example": URL must not overlap with disallowed issuers: [https://own.example]',
    )
  })

  it('[OIDC-032][OIDC-033] a place of discovery is another than the issuer, and there once', () => {
    const url = host.at('/x').url
    expect(refusal([issuerEntry('/x', { issuer: { discoveryURL: url } })])).toContain(
      'discoveryURL must be different from URL',
    )
    const issuer = { discoveryURL: 'https://d.example/.well-known/openid-configuration' }
    expect(refusal([issuerEntry('/x', { issuer }), issuerEntry('/y', { issuer })])).toContain(
      'jwt[1].issuer.discoveryURL: Duplicate value',
    )
  })

  it('[OIDC-035] the bundle must be PEM of authorities', async () => {
    const entry = (certificateAuthority: string) => [
      issuerEntry('/ca', { issuer: { certificateAuthority } }),
    ]
    expect(refusal(entry('no PEM'))).toMatch(
      /^jwt\[0\]\.issuer\.certificateAuthority: Invalid value/,
    )
    expect(refusal(entry(host.certificate))).toContain('its CA flag is not set')
    const start = async (jwt: Json[]) =>
      await startApiServer({ flags: [`--authentication-config=${fileOf({ jwt })}`] })
    await using believed = await start([issuerEntry('/ca')])
    await ready(believed, host.at('/ca'))
    await using unbelieved = await start([
      issuerEntry('/ca', { issuer: { certificateAuthority: undefined } }),
    ])
    expect((await whoami(unbelieved, host.at('/ca').token())).status).toBe(401)
  })

  it('[OIDC-037] several audiences need a policy, and MatchAny is the only one', () => {
    const entry = (audiences: string[], audienceMatchPolicy?: string) =>
      refusal([issuerEntry('/x', { issuer: { audiences, audienceMatchPolicy } })])
    expect(entry(['a', 'b'])).toBe(
      'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences',
    )
    expect(entry(['a', 'b'], 'MatchAny')).toBe('accepted')
    expect(entry(['a', 'b'], 'MatchAll')).toContain('must be MatchAny')
    expect(entry(['a'], 'MatchAll')).toContain('must be empty or MatchAny')
    expect(entry(['a', 'a'], 'MatchAny')).toContain(
      'jwt[0].issuer.audiences[1]: Duplicate value: "a"',
    )
  })

  const mapped = (claimMappings: Json) => refusal([issuerEntry('/x', { claimMappings })])

  it('[OIDC-041][OIDC-043][OIDC-045] the user name comes from a claim with a prefix, or from an expression', () => {
    expect(mapped({})).toBe(
      'jwt[0].claimMappings.username: Required value: claim or expression is required',
    )
    expect(mapped({ username: { claim: 'sub' } })).toBe(
      'jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing',
    )
    expect(mapped({ username: { claim: 'sub', prefix: '' } })).toBe('accepted')
    expect(mapped({ username: { claim: 'sub', prefix: '', expression: 'claims.sub' } })).toContain(
      "claim and expression can't both be set",
    )
    expect(mapped({ username: { expression: 'claims.sub', prefix: 'x' } })).toContain(
      "prefix can't be set when expression is set",
    )
  })

  it('[OIDC-047] an address counts only where its verification is looked at', () => {
    const email = { username: { expression: 'claims.email' } }
    const rules = (expression: string) =>
      refusal([issuerEntry('/x', { claimMappings: email, claimValidationRules: [{ expression }] })])
    expect(mapped(email)).toContain('claims.email_verified must be used in')
    expect(rules('claims.email_verified')).toBe('accepted')
    expect(rules('claims.email != ""')).toContain('claims.email_verified must be used in')
    expect(mapped({ username: { expression: 'claims.email_verified ? claims.email : ""' } })).toBe(
      'accepted',
    )
    const extra = [{ key: 'x.y/z', valueExpression: 'string(claims.email_verified)' }]
    expect(mapped({ ...email, extra })).toBe('accepted')
  })

  it('[OIDC-051][OIDC-052][OIDC-053][OIDC-054] keys of extra are lower-case paths below a domain of one’s own, each once', () => {
    const keys = (...names: string[]) =>
      mapped({ ...bySub, extra: names.map((key) => ({ key, valueExpression: 'claims.x' })) })
    expect(keys('example.com/tenant')).toBe('accepted')
    expect(keys('tenant')).toContain('must be a domain-prefixed path (such as "acme.io/foo")')
    expect(keys('example.com/Tenant')).toContain('key must be lowercase')
    expect(keys('x.y/a', 'x.y/a')).toContain(
      'jwt[0].claimMappings.extra[1].key: Duplicate value: "x.y/a"',
    )
    for (const domain of ['svc.io', 'sub.svc.io', 'kubernetes.io', 'k8s.io', 'a.b.k8s.io']) {
      expect(keys(`${domain}/x`)).toContain('reserved')
    }
    expect(keys('notk8s.io/x')).toBe('accepted')
    expect(mapped({ ...bySub, extra: [{ key: 'x.y/z' }] })).toContain('valueExpression is required')
  })

  it.each([
    ['', 'the input is empty'],
    ['[]', 'the file holds no object'],
    ['a: [', 'unexpected'],
    ['{"kind":"AuthenticationConfiguration"}', "Object 'apiVersion' is missing"],
    [`{"apiVersion":"${group}/v1beta1"}`, "Object 'Kind' is missing"],
    [`{"kind":"AuthenticationConfiguration","apiVersion":"${group}/v2"}`, 'no kind'],
    [whole({ jwd: [] }), 'strict decoding error: unknown field "jwd"'],
    [whole({ jwt: [{ issuer: { uri: 'x' } }] }), 'unknown field "jwt[0].issuer.uri"'],
    [whole({ jwt: { a: 1 } }), 'cannot unmarshal object into'],
    [whole({ jwt: [{ issuer: { url: 7 } }] }), 'jwt.issuer.url of type string'],
    [whole({ anonymous: { enabled: 'yes' } }), 'anonymous.enabled of type bool'],
    [`{"kind":"a","kind":"b"}`, 'duplicate field "kind"'],
    ['a: &a [*a]', ''],
  ])('%s is refused', (text, message) => {
    expect(refused(text)).toContain(message)
    expect(refused(text)).not.toBe('accepted')
  })

  it('the file may be JSON, or YAML of either style', () => {
    const kind = 'AuthenticationConfiguration'
    expect(refused(`{apiVersion: ${group}/v1beta1, kind: ${kind}}`)).toBe('accepted')
    expect(refused(`apiVersion: ${group}/v1beta1\nkind: ${kind}\n`)).toBe('accepted')
    expect(refused(`{"apiVersion":"${group}/v1beta1","kind":"${kind}"}`)).toBe('accepted')
    expect(refused(`{apiVersion: ${group}/v1beta1, kind: ${kind}, kind: ${kind}}`)).toContain('dup')
  })

  it('URLs of issuers are plain https', () => {
    const url = (value: string) => refusal([issuerEntry('/x', { issuer: { url: value } })])
    expect(url('http://x.y')).toContain('URL scheme must be https')
    expect(url('https://u:p@x.y')).toContain('must not contain a username or password')
    expect(url('https://x.y?q')).toContain('must not contain a query')
    expect(url('https://x.y#f')).toContain('must not contain a fragment')
    expect(url('')).toBe('jwt[0].issuer.url: Required value: URL is required')
  })
})

describe('the file of --authentication-config', () => {
  const start = async (...flags: string[]): Promise<string> =>
    await startApiServer({ flags }).then(
      async (server) => {
        await server[Symbol.asyncDispose]()
        return 'started'
      },
      (error: unknown) => (error as Error).message,
    )

  it('[AUTHN-036] its settings apply, behind their gate', async () => {
    const file = `--authentication-config=${fileOf({ jwt: [issuerEntry('/gate')] })}`
    await using server = await startApiServer({ flags: [file] })
    await ready(server, host.at('/gate'))
    expect(await start(file, '--feature-gates=StructuredAuthenticationConfiguration=false')).toBe(
      'set --feature-gates=StructuredAuthenticationConfiguration=true to use authentication-config file',
    )
  })

  it.each(['kubernetes', 'svc'] as const)(
    '[AUTHN-037] its kind and version, dialect %s',
    async (name) => {
      const apiVersion = `${apiGroup(dialects[name], 'apiserver.config')}/v1beta1`
      const file = (content: Json) => [
        `--dialect=${name}`,
        `--authentication-config=${fileOf(JSON.stringify(content))}`,
      ]
      expect(await start(...file({ apiVersion, kind: 'AuthenticationConfiguration' }))).toBe(
        'started',
      )
      expect(await start(...file({ apiVersion, kind: 'AuthorizationConfiguration' }))).toContain(
        'no kind',
      )
      expect(
        await start(...file({ apiVersion: 'other/v1beta1', kind: 'AuthenticationConfiguration' })),
      ).toContain('no kind "AuthenticationConfiguration" is registered for version "other/v1beta1"')
    },
  )

  it('goes with no --oidc flag', async () => {
    const file = `--authentication-config=${fileOf({})}`
    expect(await start(file, '--oidc-issuer-url=https://x.y')).toBe(
      'authentication-config file and oidc-* flags are mutually exclusive',
    )
    expect(await start(`--authentication-config=${folder}/none.yaml`)).toContain('no such file')
  })

  it('[AUTHN-032][AUTHN-034] says whether anonymous requests are taken, in place of the flag', async () => {
    const file = (anonymous: Json) => `--authentication-config=${fileOf({ anonymous })}`
    expect(await start(file({ enabled: true }), '--anonymous-auth=true')).toContain(
      '--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
    )
    await using off = await startApiServer({ flags: [file({ enabled: false })] })
    expect((await off.request('GET', '/api', { as: 'anonymous' })).status).toBe(401)
    await using on = await startApiServer({ flags: [file({ enabled: true })] })
    expect((await on.request('GET', '/api/v1/pods', { as: 'anonymous' })).status).toBe(403)
  })

  it('[AUTHN-035] anonymous requests may be limited to paths', async () => {
    const anonymous = { enabled: true, conditions: [{ path: '/livez' }] }
    const flags = [`--authentication-config=${fileOf({ anonymous })}`]
    await using server = await startApiServer({ flags })
    const status = async (path: string) =>
      (await server.request('GET', path, { as: 'anonymous' })).status
    expect(await status('/livez')).toBe(200)
    expect(await status('/livez?verbose')).toBe(200)
    for (const path of ['/readyz', '/livez/', '/livez/ping', '//livez', '/%6civez', '/api']) {
      expect([path, await status(path)]).toEqual([path, 401])
    }
    const off = { enabled: false, conditions: [{ path: '/livez' }] }
    expect(await start(`--authentication-config=${fileOf({ anonymous: off })}`)).toContain(
      'enabled should be set to true when conditions are defined',
    )
  })

  it('[AUTHN-038][DISC-008] is followed: other issuers count at once, and the metric says when', async () => {
    const path = fileOf({ jwt: [issuerEntry('/before')] })
    await using server = await startApiServer({ flags: [`--authentication-config=${path}`] })
    const metrics = async () => (await server.request('GET', '/metrics')).text
    const name =
      'apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds'
    const stamp = (text: string, status: string) =>
      Number(new RegExp(`^${name}\\{[^}]*status="${status}"[^}]*\\} (.*)$`, 'm').exec(text)?.[1])
    await ready(server, host.at('/before'))
    const startedAt = Date.now() / 1000
    writeFileSync(`${path}.new`, whole({ jwt: [issuerEntry('/after')] }))
    renameSync(`${path}.new`, path)
    await ready(server, host.at('/after'))
    expect((await whoami(server, host.at('/before').token())).status).toBe(401)
    await eventually(async () => {
      expect(stamp(await metrics(), 'success')).toBeGreaterThanOrEqual(startedAt - 1)
    })
    expect(stamp(await metrics(), 'success')).toBeLessThanOrEqual(Date.now() / 1000 + 1)

    // A broken file keeps what was.
    writeFileSync(path, 'kind: Nothing')
    await eventually(async () => expect(await metrics()).toContain('status="failure"'))
    expect((await whoami(server, host.at('/after').token())).status).toBe(201)
    const readyz = await server.request('GET', '/readyz?verbose')
    expect(readyz.status).toBe(200)
    expect(readyz.text).toContain('authentication-config')
    expect(readyz.text).toContain("Object 'apiVersion' is missing")
  })
})
