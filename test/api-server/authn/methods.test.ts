import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  parseSigningKey,
  signClaims,
} from '../../../components/api-server/authn/service-account-keys.ts'
import { admin, startApiServer, user } from '../../support/api-server.ts'
import { allowEverywhere } from '../../support/grants.ts'
import { describeDialects } from '../../support/shared-server.ts'
import { whoami } from '../../support/whoami.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('methods')
const tokenFile = join(folder, 'tokens.csv')
writeFileSync(tokenFile, 'static,jane,7,"any {group} string: ok,system-like"\n')

describeDialects(
  'several methods together',
  (server) => {
    const accountToken = async (): Promise<string> => {
      const namespace = await server().namespace()
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`
      return (await server().ok('POST', path, { body: { spec: {} } })).status.token as string
    }

    it('[AUTHN-002] each takes its own credentials', async () => {
      const token = await accountToken()
      const names = [
        await whoami(server(), user('carl')),
        await whoami(server(), 'static'),
        await whoami(server(), token),
      ].map((found) => found.user?.username)
      expect(names).toEqual([
        'carl',
        'jane',
        expect.stringMatching(/^system:serviceaccount:test-\d+:default$/),
      ])
      expect((await whoami(server(), `${token}x`)).status).toBe(401)
    })

    it('[AUTHN-001] each request is that of a user, of a service account or anonymous', async () => {
      const token = await accountToken()
      const nameOf = async (as: Parameters<ReturnType<typeof server>['request']>[2]) =>
        (await server().auditOf(await server().request('GET', '/api/v1/pods', as))).user
      expect(await nameOf({ as: user('carl') })).toMatchObject({ username: 'carl' })
      expect(await nameOf({ as: { token: 'static' } })).toMatchObject({ username: 'jane' })
      expect((await nameOf({ as: { token } })).username).toMatch(/^system:serviceaccount:/)
      expect(await nameOf({ as: 'anonymous' })).toMatchObject({
        username: 'system:anonymous',
        groups: ['system:unauthenticated'],
      })
    })

    it('[AUTHN-006] name, uid, groups and extra values are attached', async () => {
      const token = await accountToken()
      const { user: account } = await whoami(server(), token)
      expect(account).toEqual({
        username: expect.stringMatching(/^system:serviceaccount:/),
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        groups: [
          'system:serviceaccounts',
          expect.stringMatching(/^system:serviceaccounts:test-/),
          'system:authenticated',
        ],
        extra: {
          [`authentication.${server().dialect.labelDomain}/credential-id`]: [
            expect.stringMatching(/^JTI=/),
          ],
        },
      })
    })

    it('[AUTHN-007] they mean nothing before authorization, which gets them unchanged', async () => {
      const { user: jane } = await whoami(server(), 'static')
      expect(jane?.groups).toEqual([
        'any {group} string: ok',
        'system-like',
        'system:authenticated',
      ])
      const group = server().group('rbac.authorization')
      const at = `/apis/${group}/v1/clusterrolebindings`
      expect((await server().request('GET', '/metrics', { as: { token: 'static' } })).status).toBe(
        403,
      )
      await server().ok('POST', at, {
        body: {
          metadata: { name: 'odd' },
          roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'system:monitoring' },
          subjects: [{ apiGroup: group, kind: 'Group', name: 'any {group} string: ok' }],
        },
      })
      expect((await server().request('GET', '/metrics', { as: { token: 'static' } })).status).toBe(
        200,
      )
      const may = await allowEverywhere(server(), 'may-act', [
        {
          apiGroups: [server().group('authentication')],
          resources: ['userextras/any.thing/at all:{}'],
          verbs: ['impersonate'],
        },
        { apiGroups: [''], resources: ['users'], verbs: ['impersonate'] },
      ])
      const acting = await whoami(server(), may as { user: string }, {
        'impersonate-user': 'x',
        'impersonate-extra-any.thing%2Fat%20all%3A%7B%7D': 'Any value',
      })
      expect(acting.user?.extra).toEqual({ 'any.thing/at all:{}': ['Any value'] })
    })

    it('bearer tokens that are huge, cut short or no tokens at all are refused', async () => {
      const token = await accountToken()
      const [head = '', claims = '', signature = ''] = token.split('.')
      const part = (value: unknown): string =>
        Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
      const payload = Buffer.from(claims, 'base64url').toString()
      for (const bad of [
        token.slice(0, -1),
        token.slice(0, token.length / 2),
        `${head}.${claims}.`,
        `${head}.${claims}`,
        `${part({ alg: 'none' })}.${claims}.`,
        `${part({ alg: 'none' })}.${claims}.${signature}`,
        `${part({ alg: 'HS256' })}.${claims}.${signature}`,
        `${head}.${part(payload.replace('default', 'other'))}.${signature}`,
        `${head}.${part('[]')}.${signature}`,
        `${head}.${part('{')}.${signature}`,
        `${token}.${signature}`,
        '.'.repeat(100),
        `${head}.${'A'.repeat(40_000)}.${signature}`,
        'x'.repeat(50_000),
      ]) {
        const { status, body, text } = await server().request('GET', '/api/v1/pods', {
          as: { token: bad },
        })
        expect([bad.slice(0, 20), status]).toEqual([bad.slice(0, 20), 401])
        expect(body).toMatchObject({ reason: 'Unauthorized', message: 'Unauthorized' })
        expect(text).not.toContain(bad)
      }
      // More than all headers together may have: refused before it is read.
      const huge = { as: { token: 'x'.repeat(200_000) } } as const
      await server()
        .request('GET', '/version', huge)
        .then(
          ({ status }) => expect([0, 431]).toContain(status),
          () => {
            // Or the stream is refused.
          },
        )
      expect((await server().request('GET', '/version')).status).toBe(200)
    })
  },
  { flags: [`--token-auth-file=${tokenFile}`] },
)

/** The keys that every test server here has. */
async function sharedKeys() {
  await using server = await startApiServer()
  return server.pki
}

describe('what is on without being asked for', () => {
  it('[AUTHN-008][AUTHN-018] tokens of service accounts, next to any other method', async () => {
    await using server = await startApiServer()
    const namespace = await server.namespace()
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`
    const { status } = await server.ok('POST', path, { body: { spec: {} } })
    expect((await whoami(server, status.token as string)).user?.username).toBe(
      `system:serviceaccount:${namespace}:default`,
    )
    expect((await whoami(server, user('carl'))).user?.username).toBe('carl')
  })

  it('[AUTHN-021] the key of the listener checks them when no other is given', async () => {
    const { credentials, serviceAccountKey } = await sharedKeys()
    const keyFile = join(folder, 'serving.key')
    writeFileSync(keyFile, credentials.apiserver.privateKeyPem)
    await using server = await startApiServer({
      without: ['service-account-key-file', 'service-account-signing-key-file'],
      flags: [`--service-account-signing-key-file=${keyFile}`],
    })
    const namespace = await server.namespace()
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`
    const { status } = await server.ok('POST', path, { body: { spec: {} } })
    const token = status.token as string
    expect((await whoami(server, token)).status).toBe(201)
    const claims = JSON.parse(
      Buffer.from(token.split('.')[1] ?? '', 'base64url').toString(),
    ) as Record<string, unknown>
    const sign = async (key: string) => signClaims(claims, parseSigningKey(key))
    expect((await whoami(server, await sign(credentials.apiserver.privateKeyPem))).status).toBe(201)
    expect((await whoami(server, await sign(serviceAccountKey.privateKeyPem))).status).toBe(401)
  })

  it('[AUTHN-028] anonymous requests, unless everything is allowed', async () => {
    await using server = await startApiServer({ flags: ['--authorization-mode=RBAC'] })
    const { status, body } = await server.request('GET', '/api/v1/pods', { as: 'anonymous' })
    expect(status).toBe(403)
    expect(body.message).toContain('User "system:anonymous" cannot list')
    for (const mode of ['AlwaysAllow', 'RBAC,AlwaysAllow', '']) {
      await using open = await startApiServer({ flags: [`--authorization-mode=${mode}`] })
      expect((await open.request('GET', '/api/v1/pods', { as: 'anonymous' })).status).toBe(401)
      expect((await open.request('GET', '/api/v1/pods', { as: user('carl') })).status).toBe(200)
    }
  })

  it('[AUTHN-031] or as --anonymous-auth says', async () => {
    await using off = await startApiServer({ flags: ['--anonymous-auth=false'] })
    expect((await off.request('GET', '/api/v1/pods', { as: 'anonymous' })).status).toBe(401)
    expect((await off.request('GET', '/livez', { as: 'anonymous' })).status).toBe(401)
    expect((await off.request('GET', '/livez', { as: admin })).status).toBe(200)
    await using on = await startApiServer({ flags: ['--anonymous-auth=true'] })
    expect((await on.request('GET', '/api/v1/pods', { as: 'anonymous' })).status).toBe(403)
    expect((await on.request('GET', '/livez', { as: 'anonymous' })).status).toBe(200)
    await using open = await startApiServer({
      flags: ['--anonymous-auth=true', '--authorization-mode=AlwaysAllow'],
    })
    expect((await open.request('GET', '/api/v1/pods', { as: 'anonymous' })).status).toBe(200)
  })
})
