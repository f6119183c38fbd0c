import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deniedText, tokenText } from '../../../cluster/cli/why-request-text.ts'
import { startApiServer, user, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { denied, explainAccess, explainToken } from '../../support/explain.ts'
import { startReviewRemote, type ReviewRemote } from '../../support/review-remote.ts'
import { startIssuerHost, type IssuerHost } from '../../support/token-issuer.ts'
import { describeDialects } from '../../support/shared-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const shown = { colors: false, nowMs: Date.now() }

async function tokenOf(server: TestApiServer, ns: string, spec: object = {}): Promise<string> {
  const path = `/api/v1/namespaces/${ns}/serviceaccounts/default/token`
  const { status } = await server.ok('POST', path, { body: { spec } })
  return (status as { token: string }).token
}

/** Resolves when the issuer's keys were found. */
async function untilKnown(server: TestApiServer, token: string): Promise<void> {
  await eventually(async () => {
    expect((await explainToken(server, token)).authenticated).toBe(true)
  })
}

describeDialects('why a token is taken or refused', (server) => {
  it('shows the claims of a service account token and who accepted it', async () => {
    const ns = await server().namespace()
    const token = await tokenOf(server(), ns)
    const why = await explainToken(server(), token)
    expect(why).toMatchObject({
      authenticated: true,
      user: {
        name: `system:serviceaccount:${ns}:default`,
        groups: expect.arrayContaining(['system:authenticated']) as unknown,
      },
      token: { form: 'jwt', claims: { sub: `system:serviceaccount:${ns}:default` } },
      authenticators: [{ name: 'service-account-token', result: 'user' }],
    })
  })

  it('says which check failed: signature, audience, expiry, the account, nobody', async () => {
    const ns = await server().namespace()
    const token = await tokenOf(server(), ns)
    const [head = '', body = ''] = token.split('.')
    const first = async (asked: string, audiences?: string[]) =>
      (await explainToken(server(), asked, audiences)).authenticators[0]
    const name = 'service-account-token'
    expect(await first(`${head}.${body}.${'A'.repeat(86)}`)).toEqual({
      name,
      result: 'failed',
      why: 'the signature does not hold',
    })
    expect(await first(token, ['others'])).toMatchObject({
      result: 'failed',
      why: expect.stringContaining('is invalid for the target audiences ["others"]') as unknown,
    })
    await server().ok('DELETE', `/api/v1/namespaces/${ns}/serviceaccounts/default`)
    expect(await first(token)).toEqual({
      name,
      result: 'failed',
      why: 'service account token: serviceaccount default is gone',
    })
    const unknown = await explainToken(server(), 'who-knows')
    expect(unknown).toMatchObject({
      authenticated: false,
      reason: 'no authenticator knows the token',
      token: { form: 'opaque', length: 9 },
      authenticators: [{ name, result: 'none', why: 'no JWT of this server’s issuers' }],
    })
  })

  it.each([
    ['none', '{}'],
    ['a broken body', '{"spec":{"token":"se-cret"'],
    ['one of another type', '{"spec":{"token":["se-cret"]}}'],
    ['an unknown field', '{"spec":{"token":"se-cret","se-cret":1}}'],
    ['another kind', '{"kind":"se-cret","spec":{"token":"se-cret"}}'],
  ])('a token is refused without being repeated: %s', async (_, body) => {
    const reply = await server().request('POST', '/explain/token', { body })
    expect(reply.status).toBe(400)
    expect(reply.text).not.toContain('se-cret')
    expect(JSON.stringify(await server().auditOf(reply))).not.toContain('se-cret')
  })

  it('a token larger than any is refused', async () => {
    const body = { spec: { token: 'a'.repeat(70_000) } }
    expect((await server().request('POST', '/explain/token', { body })).status).toBe(413)
  })
})

describeDialects('the last denied requests', (server) => {
  const forbidden = (name: string, path = '/api/v1/nodes') =>
    server().request('GET', path, { as: user(name) })

  it('has who was forbidden what, and explains it as of now', async () => {
    const reply = await forbidden('ann', '/api/v1/namespaces/default/secrets/tls?x=y')
    const [last] = (await denied(server(), 1)).items
    expect(last).toMatchObject({
      status: 403,
      requestId: reply.headers['audit-id'],
      method: 'GET',
      path: '/api/v1/namespaces/default/secrets/tls',
      count: 1,
      explanation: {
        allowed: false,
        message: reply.body.message,
        attributes: { user: { name: 'ann' }, verb: 'get', resource: 'secrets', name: 'tls' },
        authorizers: [{ name: 'node' }, { name: 'rbac', opinion: 'no-opinion' }],
      },
    })
    expect(last?.explanation?.wouldAllow).toHaveLength(2)
    for (const object of last?.explanation?.wouldAllow ?? []) {
      const path = `/apis/${object.apiVersion}/namespaces/default/${object.kind?.toLowerCase()}s`
      await server().ok('POST', path, { body: object })
    }
    const [later] = (await denied(server(), 1)).items
    expect(later?.explanation?.allowed).toBe(true)
  })

  it('has who could not be authenticated, and what each authenticator said', async () => {
    const as = { token: 'no.such.token' }
    const reply = await server().request('GET', '/api/v1/pods', { as })
    expect(reply.status).toBe(401)
    const [last] = (await denied(server(), 1)).items
    expect(last).toMatchObject({
      status: 401,
      requestId: reply.headers['audit-id'],
      reason: 'bearer-token: invalid bearer token',
      authenticators: [
        { name: 'x509', result: 'none', why: 'no client certificate' },
        { name: 'service-account-token', result: 'none' },
      ],
    })
    expect(last).not.toHaveProperty('explanation')
  })

  it('has those who may not act as somebody else', async () => {
    const headers = { 'impersonate-user': 'boss' }
    await server().request('GET', '/api/v1/pods', { as: user('sly'), headers })
    const [last] = (await denied(server(), 1)).items
    expect(last?.explanation?.attributes).toMatchObject({
      user: { name: 'sly' },
      verb: 'impersonate',
      resource: 'users',
      name: 'boss',
    })
  })

  it('counts requests that are alike as one, and keeps the newest hundred', async () => {
    for (let times = 0; times < 5; times += 1) await forbidden('again')
    expect((await denied(server(), 1)).items[0]).toMatchObject({ count: 5 })
    for (let at = 0; at < 120; at += 1) await forbidden('many', `/api/v1/namespaces/n${at}/pods`)
    const { items } = await denied(server())
    expect(items).toHaveLength(100)
    expect(items[0]?.path).toBe('/api/v1/namespaces/n119/pods')
    expect(items.at(-1)?.path).toBe('/api/v1/namespaces/n20/pods')
  })

  it('is not filled by what was allowed, nor by what does not exist', async () => {
    const before = await denied(server())
    await server().ok('GET', '/api/v1/pods')
    await server().request('GET', '/api/v1/namespaces/default/pods/none')
    expect((await denied(server())).items).toEqual(before.items)
  })

  it('keeps no more than a part of what is very long', async () => {
    await forbidden('long', `/${'a'.repeat(5000)}`)
    const text = JSON.stringify((await denied(server(), 1)).items[0])
    expect(text).toContain('aaa...')
    expect(text.length).toBeLessThan(8000)
  })

  it.each(['0', '101', 'x', '1.5', ''])('a limit of "%s" is refused', async (limit) => {
    expect((await server().request('GET', `/explain/denied?limit=${limit}`)).status).toBe(400)
  })
})

describe('secrets', () => {
  let remote: ReviewRemote
  let issuers: IssuerHost
  let folder: string
  let server: TestApiServer
  const staticToken = 'a-static-token-that-is-secret'
  beforeAll(async () => {
    remote = await startReviewRemote()
    issuers = await startIssuerHost()
    folder = temporaryFolder('explain')
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const policy = {
      apiVersion: 'audit.k8s.io/v1',
      kind: 'Policy',
      rules: [
        { level: 'RequestResponse', nonResourceURLs: ['*'] },
        { level: 'Metadata', resources: [{ group: '', resources: ['secrets'] }] },
      ],
    }
    server = await startApiServer({
      flags: [
        `--audit-policy-file=${file('policy.yaml', JSON.stringify(policy))}`,
        `--token-auth-file=${file('tokens.csv', `${staticToken},sam,1`)}`,
        `--oidc-issuer-url=${issuers.at('/a').url}`,
        '--oidc-client-id=client',
        `--oidc-ca-file=${file('issuer.crt', issuers.ca)}`,
        `--authentication-token-webhook-config-file=${remote.kubeconfig(folder)}`,
        '--authentication-token-webhook-cache-ttl=0s',
        '--enable-bootstrap-token-auth=true',
      ],
    })
    await untilKnown(server, issuers.at('/a').token({ sub: 'jane' }))
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await remote[Symbol.asyncDispose]()
    await issuers[Symbol.asyncDispose]()
  })

  it('every authenticator is named, with what it said', async () => {
    remote.answer = () => ({ status: { authenticated: false } })
    const expired = issuers.at('/a').token({ sub: 'jane', exp: 1_000_000 })
    const why = await explainToken(server, expired)
    expect(why.authenticators).toEqual([
      { name: 'static-token', result: 'none', why: 'not in the token file' },
      {
        name: 'service-account-token',
        result: 'none',
        why: 'no JWT of this server’s issuers',
      },
      { name: 'bootstrap-token', result: 'none', why: 'not of the form <id>.<secret>' },
      { name: 'oidc', result: 'failed', why: 'oidc: token is expired' },
      { name: 'token-webhook', result: 'failed', why: 'invalid bearer token' },
    ])
    const { authenticators } = await explainToken(server, staticToken)
    expect(authenticators).toEqual([{ name: 'static-token', result: 'user' }])
  })

  it('neither tokens, nor what a lying remote repeats of them, nor Secret data are in any output or record', async () => {
    remote.answer = ({ spec }) => {
      const { token } = spec as { token: string }
      return { status: { authenticated: false, error: `I do not know ${token}, ${token}` } }
    }
    const ns = await server.namespace()
    const secretData = 'c2VjcmV0LWRhdGEtb2YtYS1zZWNyZXQ='
    await server.ok('POST', `/api/v1/namespaces/${ns}/secrets`, {
      body: { metadata: { name: 'tls' }, data: { key: secretData } },
    })
    const random = fc.stringMatching(/^[A-Za-z0-9_-]{20,60}$/).map((text) => `Zz9${text}`)
    const good = await tokenOf(server, ns)
    const parts = good.split('.')
    const tokens = fc.oneof(
      random.map((text) => ({ token: text, secret: text })),
      random.map((text) => ({ token: `${parts[0]}.${parts[1]}.${text}`, secret: text })),
      random.map((text) => ({ token: `a.b.${text}`, secret: text })),
      fc.stringMatching(/^[a-z0-9]{16}$/).map((half) => ({
        token: `abcdef.${half}`,
        secret: half,
      })),
      fc.constant({ token: staticToken, secret: staticToken }),
      fc.constant({ token: good, secret: parts[2] ?? '' }),
      random.map((jti) => {
        const token = issuers
          .at('/a')
          .token({ sub: 'x', nonce: jti.slice(3, 10) }, { withForeignKey: true })
        return { token, secret: token.split('.')[2] ?? '' }
      }),
    )
    const outputs: string[] = []
    const secrets = [secretData, 'secret-data-of-a-secret']
    await fc.assert(
      fc.asyncProperty(tokens, async ({ token, secret }) => {
        secrets.push(secret)
        const why = await explainToken(server, token)
        const request = await server.request('GET', `/api/v1/namespaces/${ns}/secrets/tls`, {
          as: { token },
        })
        const last = await denied(server, 1)
        outputs.push(
          JSON.stringify(why),
          tokenText(why, shown),
          request.text,
          JSON.stringify(last),
          deniedText(last, shown),
        )
      }),
      { numRuns: 150 },
    )
    const asked = { verb: 'get', resource: 'secrets', namespace: ns, name: 'tls' }
    outputs.push(
      JSON.stringify(await explainAccess(server, { user: 'x', resourceAttributes: asked })),
    )
    const audit = server.audit().filter(({ requestURI }) => requestURI.startsWith('/explain/'))
    expect(audit.length).toBeGreaterThan(150)
    for (const record of audit) {
      expect(record).not.toHaveProperty('requestObject')
      expect(record).not.toHaveProperty('responseObject')
    }
    outputs.push(JSON.stringify(server.audit()), ...server.faults)
    const all = outputs.join('\n')
    expect(secrets.filter((secret) => all.includes(secret))).toEqual([])
    // What is looked for can be found: the remote was told of the tokens.
    const told = JSON.stringify(remote.asked)
    expect(secrets.some((secret) => secret.length > 40 && told.includes(secret))).toBe(true)
    expect(readFileSync(join(folder, 'tokens.csv'), 'utf8')).toContain(staticToken)
  })
})
