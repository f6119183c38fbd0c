import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { abacAuthorizer, parsePolicies } from '../../../components/api-server/authz/abac.ts'
import type { AuthorizationAttributes } from '../../../components/api-server/request/request.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { startApiServer, user, type TestApiServer } from '../../support/api-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let folder: string
let files = 0
beforeAll(() => {
  folder = temporaryFolder('abac')
})

type Spec = Readonly<Record<string, unknown>>

function lines(dialect: 'kubernetes' | 'svc', specs: readonly Spec[]): string {
  const apiVersion = `abac.authorization.${dialects[dialect].labelDomain}/v1beta1`
  return specs.map((spec) => JSON.stringify({ apiVersion, kind: 'Policy', spec })).join('\n')
}

function flagsOf(text: string): string[] {
  files += 1
  const path = join(folder, `policy-${files}.jsonl`)
  writeFileSync(path, text)
  return ['--authorization-mode=ABAC', `--authorization-policy-file=${path}`]
}

async function refused(flags: readonly string[]): Promise<string> {
  return await startApiServer({ flags }).then(
    async (server) => {
      await server[Symbol.asyncDispose]()
      return 'started'
    },
    (error: unknown) => (error as Error).message,
  )
}

describe.each(['kubernetes', 'svc'] as const)('a server in mode ABAC, dialect %s', (dialect) => {
  let server: TestApiServer
  const all = { namespace: '*', resource: '*', apiGroup: '*' }
  beforeAll(async () => {
    const specs: Spec[] = [
      { user: 'alice', ...all },
      { group: 'readers', readonly: true, ...all },
      { user: 'of-apps', namespace: '*', resource: '*', apiGroup: 'apps' },
      { user: 'of-a', namespace: 'a', resource: '*', apiGroup: '*' },
      { user: 'of-pods', namespace: '*', resource: 'pods', apiGroup: '*' },
      { user: 'of-version', nonResourcePath: '/version' },
      { user: 'of-api', nonResourcePath: '/api/*' },
      { user: 'of-paths', nonResourcePath: '*' },
      { user: 'reads-paths', nonResourcePath: '/healthz', readonly: true },
      { group: 'system:authenticated', nonResourcePath: '/livez' },
      { group: 'system:unauthenticated', nonResourcePath: '/readyz' },
      { user: '*', nonResourcePath: '/openapi/v3' },
      { group: '*', nonResourcePath: '/openapi/v2' },
      { user: 'last', ...all },
    ]
    server = await startApiServer({ dialect, flags: flagsOf(lines(dialect, specs)) })
    await server.ok('POST', '/api/v1/namespaces', { body: { metadata: { name: 'a' } } })
    await server.ok('POST', '/api/v1/namespaces', { body: { metadata: { name: 'b' } } })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })
  const status = async (
    name: string,
    path: string,
    {
      method = 'GET',
      groups = [] as string[],
      body,
    }: { method?: string; groups?: string[]; body?: unknown } = {},
  ): Promise<number> =>
    (await server.request(method, path, { as: user(name, ...groups), body })).status
  const anonymous = async (path: string): Promise<number> =>
    (await server.request('GET', path, { as: 'anonymous' })).status

  it('[ABAC-005][AUTHZ-021] the policy decides: a line for a user is for that user', async () => {
    expect(await status('alice', '/api/v1/nodes')).toBe(200)
    expect(await status('bob', '/api/v1/nodes')).toBe(403)
  })
  it('[ABAC-006] a line for a group is for its members', async () => {
    expect(await status('x', '/api/v1/pods', { groups: ['readers'] })).toBe(200)
    expect(await status('x', '/api/v1/pods', { groups: ['writers'] })).toBe(403)
  })
  it('[ABAC-007][ABAC-008] all who are known, and all who are not, are groups', async () => {
    expect(await status('anyone', '/livez')).toBe(200)
    expect(await anonymous('/livez')).toBe(403)
    expect(await anonymous('/readyz')).toBe(200)
    expect(await status('anyone', '/readyz')).toBe(403)
  })
  it('[ABAC-009] by API group', async () => {
    expect(await status('of-apps', '/apis/apps/v1/namespaces/a/deployments')).toBe(200)
    expect(await status('of-apps', '/api/v1/namespaces/a/pods')).toBe(403)
    expect(await status('alice', '/apis/apps/v1/namespaces/a/deployments')).toBe(200)
  })
  it('[ABAC-010][ABAC-017] by namespace, which is empty where there is none', async () => {
    expect(await status('of-a', '/api/v1/namespaces/a/pods')).toBe(200)
    expect(await status('of-a', '/api/v1/namespaces/b/pods')).toBe(403)
    expect(await status('alice', '/api/v1/namespaces/b/pods')).toBe(200)
    expect(await status('of-a', '/api/v1/nodes')).toBe(403)
    expect(await status('alice', '/api/v1/nodes')).toBe(200)
  })
  it('[ABAC-011] by resource', async () => {
    expect(await status('of-pods', '/api/v1/namespaces/a/pods')).toBe(200)
    expect(await status('of-pods', '/api/v1/namespaces/a/services')).toBe(403)
    expect(await status('alice', '/api/v1/namespaces/a/services')).toBe(200)
  })
  it('[ABAC-012] the user * is every user, the group * every group', async () => {
    expect(await status('anyone', '/openapi/v3')).toBe(200)
    expect(await anonymous('/openapi/v3')).toBe(200)
    expect(await status('anyone', '/openapi/v2')).toBe(200)
    expect(await status('anyone', '/openapi/v2', { groups: ['readers'] })).toBe(200)
    expect(await anonymous('/openapi/v2')).toBe(200)
  })
  it('[ABAC-013][ABAC-014] by path: one, those below one, or all', async () => {
    expect(await status('of-version', '/version')).toBe(200)
    expect(await status('of-version', '/healthz')).toBe(403)
    for (const path of ['/api/v1', '/api/']) expect(await status('of-api', path)).toBe(200)
    for (const path of ['/version', '/api', '/apis', '/apis/apps', '/apis/apps/v1']) {
      expect(await status('of-api', path), path).toBe(403)
    }
    expect(await status('of-paths', '/version')).toBe(200)
    expect(await status('of-paths', '/healthz')).toBe(200)
  })
  it('[ABAC-015] readonly lines allow get, list and watch, and no other verb', async () => {
    const groups = ['readers']
    const namespace = '/api/v1/namespaces/a'
    const pods = `${namespace}/pods`
    expect(await status('x', pods, { groups })).toBe(200)
    expect(await status('x', namespace, { groups })).toBe(200)
    expect(await status('x', `${pods}?watch=true&timeoutSeconds=1`, { groups })).toBe(200)
    const body = { metadata: { name: 'x' } }
    for (const [method, path] of [
      ['POST', pods],
      ['PUT', namespace],
      ['PATCH', namespace],
      ['DELETE', namespace],
      ['DELETE', pods],
      ['POST', `${pods}/p/eviction`],
      ['POST', `${namespace}/serviceaccounts/default/token`],
    ] as const) {
      expect(await status('x', path, { groups, method, body }), `${method} ${path}`).toBe(403)
    }
  })
  it('[ABAC-016] on paths readonly is get', async () => {
    expect(await status('reads-paths', '/healthz')).toBe(200)
    expect(await status('reads-paths', '/healthz', { method: 'POST' })).toBe(403)
  })
  it('[ABAC-018] any line that matches allows, and none is a denial', async () => {
    expect(await status('last', '/api/v1/nodes')).toBe(200)
    expect(await status('nobody', '/api/v1/nodes')).toBe(403)
  })
  it('lists the rules of a user', async () => {
    const body = await server.ok(
      'POST',
      `/apis/${server.group('authorization')}/v1/selfsubjectrulesreviews`,
      {
        as: user('alice'),
        body: { spec: { namespace: 'a' } },
      },
    )
    expect((body as { status: unknown }).status).toMatchObject({
      resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
      incomplete: false,
    })
  })
})

describe('the policy file', () => {
  const dialect = dialects.kubernetes
  const parse = (text: string) => {
    try {
      return parsePolicies(text, dialect).length
    } catch (error) {
      return (error as Error).message
    }
  }
  const line = (more: Spec) =>
    JSON.stringify({
      apiVersion: 'abac.authorization.kubernetes.io/v1beta1',
      kind: 'Policy',
      ...more,
    })

  it('[ABAC-001] belongs to its mode, and must be there', async () => {
    const path = join(folder, 'none.jsonl')
    expect(
      await refused(['--authorization-mode=ABAC', `--authorization-policy-file=${path}`]),
    ).toContain(`--authorization-policy-file: cannot read ${path}`)
    expect(await refused(['--authorization-mode=ABAC'])).toBe(
      "authorization-mode ABAC's authorization policy file not passed",
    )
    expect(await refused(['--authorization-policy-file=x'])).toBe(
      'cannot specify --authorization-policy-file without mode ABAC',
    )
  })
  it('[ABAC-002] holds one object a line, and no list', async () => {
    const two = `${line({ spec: { user: 'a' } })}\n\n# comment\n${line({ spec: { user: 'b' } })}\n`
    expect(parse(two)).toBe(2)
    expect(parse(two.replaceAll(/^/gm, '  \t').replaceAll('\n', '\r\n'))).toBe(2)
    expect(parse(`[${line({})}]`)).toBe('line 1: a line holds one JSON object')
    expect(await refused(flagsOf(`[${line({})}]`))).toContain(
      'line 1: a line holds one JSON object',
    )
  })
  it('[ABAC-003][ABAC-004] its kind and version', () => {
    expect(parse(line({}))).toBe(1)
    expect(parse(line({ apiVersion: 'abac.authorization.kubernetes.io/v1' }))).toContain(
      'line 1: no kind',
    )
    expect(parse(line({ kind: 'Role' }))).toContain('line 1: no kind "Role"')
    expect(parse('{"user":"alice"}')).toContain("Object 'Kind' is missing")
  })
  it('unknown fields and wrong types are refused with their line', () => {
    expect(parse(`${line({})}\n${line({ spec: { usr: 'x' } })}`)).toBe(
      'line 2: strict decoding error: unknown field "spec.usr"',
    )
    expect(parse(line({ spec: { readonly: 'yes' } }))).toMatch(
      /^line 1: .*Go struct field PolicySpec\.spec\.readonly of type bool$/,
    )
    expect(parse('{')).toContain('line 1: ')
  })

  const authorizerOf = (...specs: readonly Spec[]) =>
    abacAuthorizer(parsePolicies(specs.map((spec) => line({ spec })).join('\n'), dialect))
  const onPath = (path: string, verb = 'get'): AuthorizationAttributes => ({
    ...{ user: { name: 'x', groups: ['devs'] }, verb, isResourceRequest: false, path },
    ...{ group: '', version: '', resource: '', subresource: '', namespace: '', name: '' },
  })
  const noneMatched = { decision: 'no-opinion', reason: 'No policy matched.' }

  it('a line without a subject matches no request', () => {
    expect(authorizerOf({ nonResourcePath: '*' }).authorize(onPath('/'))).toEqual(noneMatched)
  })

  it('a line without a path matches no path, not even an empty one', () => {
    const authorizer = authorizerOf({ user: '*', namespace: '*', resource: '*', apiGroup: '*' })
    for (const path of ['', '/', '/healthz']) {
      expect(authorizer.authorize(onPath(path))).toEqual(noneMatched)
    }
  })

  it('a path without a star is that path alone', () => {
    const exact = authorizerOf({ user: 'x', nonResourcePath: '/logs' })
    const below = authorizerOf({ user: 'x', nonResourcePath: '/logs/*' })
    const allowed = (authorizer: typeof exact) =>
      ['/', '/log', '/logs', '/logsx', '/logs/', '/logs/a'].filter(
        (path) => (authorizer.authorize(onPath(path)) as { decision: string }).decision === 'allow',
      )
    expect(allowed(exact)).toEqual(['/logs'])
    expect(allowed(below)).toEqual(['/logs/', '/logs/a'])
  })

  it('a decision gives the line that made it', () => {
    const policy = { user: 'x', nonResourcePath: '/healthz', readonly: true }
    const authorizer = authorizerOf({ user: 'y', nonResourcePath: '*' }, policy)
    expect(authorizer.name).toBe('ABAC')
    const allowed = { decision: 'allow', reason: '' }
    expect(authorizer.authorize(onPath('/healthz'))).toEqual(allowed)
    expect(authorizer.explain?.(onPath('/healthz'))).toEqual({
      decision: allowed,
      detail: { policy },
    })
    expect(authorizer.explain?.(onPath('/healthz', 'post'))).toEqual({
      decision: noneMatched,
      detail: { missing: 'no line of the policy file allows it' },
    })
  })

  it('the rules of a user are those of his lines in the namespace, and of paths', () => {
    const authorizer = authorizerOf(
      { user: 'x', namespace: 'a', resource: 'pods' },
      { group: 'devs', namespace: '*', resource: '*', apiGroup: 'apps', readonly: true },
      { user: 'x', namespace: 'b', resource: 'secrets', apiGroup: '*' },
      { user: 'y', namespace: '*', resource: 'nodes', apiGroup: '*' },
      { user: 'x', namespace: '*', nonResourcePath: '/logs/*' },
      { group: '*', nonResourcePath: '/healthz', readonly: true },
      { user: 'y', nonResourcePath: '*' },
    )
    const reading = ['get', 'list', 'watch']
    const everywhere = { verbs: reading, apiGroups: ['apps'], resources: ['*'] }
    const nonResourceRules = [
      { verbs: ['*'], nonResourceURLs: ['/logs/*'] },
      { verbs: reading, nonResourceURLs: ['/healthz'] },
    ]
    const rulesIn = (namespace: string) =>
      authorizer.rulesFor?.({ name: 'x', groups: ['devs'] }, namespace)
    expect(rulesIn('a')).toEqual({
      resourceRules: [{ verbs: ['*'], apiGroups: [''], resources: ['pods'] }, everywhere],
      nonResourceRules,
      incomplete: false,
    })
    expect(rulesIn('c')).toEqual({
      resourceRules: [everywhere],
      nonResourceRules,
      incomplete: false,
    })
  })
})
