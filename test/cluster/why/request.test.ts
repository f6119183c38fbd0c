/** `skiff why`: questions from words and manifests against a real API server, and what people read. */
import { describe, expect, it } from 'vitest'
import { accessText, deniedText, tokenText } from '../../../cluster/cli/why-request-text.ts'
import {
  accessSpec,
  explainAccess,
  explainManifest,
  withUsualGroups,
} from '../../../cluster/why/request.ts'
import type { AccessExplanation, DeniedRequest } from '../../../components/api/explanations.ts'
import { createClient, type Client } from '../../../components/client/client.ts'
import type { TestApiServer } from '../../support/api-server.ts'
import { createDiscovery } from '../../../components/client/server-resources.ts'
import { describeDialects } from '../../support/shared-server.ts'

const shown = { colors: false, nowMs: 1_000_000_000 }
const ann = { user: 'ann', groups: ['system:authenticated'] }

async function withClient<T>(server: TestApiServer, work: (client: Client) => Promise<T>) {
  const credential = server.credential({ user: 'operator', groups: ['system:masters'] })
  const client = createClient({
    server: `https://127.0.0.1:${server.port}`,
    ca: server.pki.authority.certificatePem,
    credentials: { cert: credential?.certificatePem ?? '', key: credential?.privateKeyPem ?? '' },
    dialect: server.dialect,
  })
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

describeDialects('questions', (server) => {
  const warnings: string[] = []
  const specOf = (target: string, more: { subresource?: string; namespace?: string } = {}) =>
    withClient(server(), (client) =>
      accessSpec(client, {
        who: ann,
        verb: 'get',
        target,
        subresource: '',
        namespace: 'web',
        warn: (text) => void warnings.push(text),
        ...more,
      }),
    )

  it.each([
    ['pods', { group: '', resource: 'pods', namespace: 'web' }],
    ['po/web-0', { group: '', resource: 'pods', namespace: 'web', name: 'web-0' }],
    ['deployment', { group: 'apps', resource: 'deployments', namespace: 'web' }],
    ['deployments.apps', { group: 'apps', resource: 'deployments', namespace: 'web' }],
    ['no/n1', { group: '', resource: 'nodes', name: 'n1' }],
    ['*', { group: '*', resource: '*', namespace: 'web' }],
  ])('%s is the resource that the server means by it', async (target, attributes) => {
    const spec = await specOf(target)
    expect(spec).toMatchObject({ ...ann, resourceAttributes: { verb: 'get', ...attributes } })
    const { namespace, name } = spec['resourceAttributes'] as Record<string, unknown>
    const wanted = attributes as Record<string, unknown>
    expect({ namespace, name }).toEqual({ namespace: wanted['namespace'], name: wanted['name'] })
  })

  it('paths, sub-resources, all namespaces, and resources that there are not', async () => {
    expect(await specOf('/metrics')).toEqual({
      ...ann,
      nonResourceAttributes: { path: '/metrics', verb: 'get' },
    })
    expect(await specOf('pods', { subresource: 'log', namespace: '' })).toEqual({
      ...ann,
      resourceAttributes: {
        verb: 'get',
        group: '',
        version: 'v1',
        resource: 'pods',
        subresource: 'log',
      },
    })
    expect(warnings).toEqual([])
    expect(await specOf('foos.example.com')).toMatchObject({
      resourceAttributes: { group: 'example.com', resource: 'foos', namespace: 'web' },
    })
    expect(warnings).toEqual([
      'the server has no resource "foos.example.com"; asking about that name unchanged',
    ])
    await expect(specOf('pods/a/b')).rejects.toThrow('neither RESOURCE[/NAME] nor a path')
  })

  it.each([
    ['gett', 'pods', 'no request has the verb "gett": did you mean get?'],
    ['post', 'pods', 'no request has the verb "post": did you mean create?'],
    ['List', 'pods', 'no request has the verb "List": did you mean list?'],
    [
      'frobnicate',
      'pods',
      'no request has the verb "frobnicate": the verbs are get, list, watch, ',
    ],
    ['list', '/metrics', 'no request has the verb "list": did you mean get?'],
  ])(
    'for the verb %s of %s no role is suggested, but what is wrong',
    async (verb, target, fault) => {
      const told: string[] = []
      const explained = await withClient(server(), async (client) => {
        const warn = (text: string): void => void told.push(text)
        const about = { who: ann, verb, target, subresource: '', namespace: 'web', warn }
        return await explainAccess(client, await accessSpec(client, about), warn)
      })
      expect(told).toEqual([expect.stringContaining(fault)])
      expect(explained).toMatchObject({ kind: 'access', explanation: { allowed: false } })
      expect(explained.explanation).not.toHaveProperty('wouldAllow')
    },
  )

  it.each(['deletecollection', 'impersonate', 'use', 'sign', '*'])(
    'the verb %s has a role',
    async (verb) => {
      const told: string[] = []
      const explained = await withClient(server(), (client) =>
        explainAccess(
          client,
          { ...ann, resourceAttributes: { verb, group: '', resource: 'pods', namespace: 'web' } },
          (text) => void told.push(text),
        ),
      )
      expect(told).toEqual([])
      expect(explained.explanation).toHaveProperty('wouldAllow')
    },
  )

  it('a manifest is a review, or what somebody wants to create', async () => {
    const group = (stem: string) => `${server().group(stem)}/v1`
    const explained = (object: object, who: typeof ann | undefined = ann) =>
      withClient(server(), async (client) => {
        const resources = await createDiscovery(client)()
        const warn = (text: string) => void warnings.push(text)
        const by = { who, namespace: 'web', resources, warn }
        return await explainManifest(client, { metadata: {}, ...object }, by)
      })
    const resourceAttributes = { verb: 'list', resource: 'pods' }
    const apiVersion = group('authorization')
    const review = { apiVersion, kind: 'SubjectAccessReview' }
    expect(
      await explained({ ...review, spec: { user: 'bob', group: ['g'], resourceAttributes } }),
    ).toMatchObject({
      kind: 'access',
      explanation: { attributes: { user: { name: 'bob', groups: ['g'] }, resource: 'pods' } },
    })
    const self = { apiVersion, kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } }
    expect(await explained(self)).toMatchObject({
      explanation: { attributes: { user: { name: 'ann' } } },
    })
    await expect(
      withClient(server(), async (client) => {
        const resources = await createDiscovery(client)()
        const by = { who: undefined, namespace: '', resources, warn: () => {} }
        return await explainManifest(client, { metadata: {}, ...self }, by)
      }),
    ).rejects.toThrow('the user is missing: pass --as USER')
    expect(
      await explained({
        apiVersion: group('authentication'),
        kind: 'TokenReview',
        spec: { token: 'x' },
      }),
    ).toMatchObject({ kind: 'token', explanation: { authenticated: false } })
    expect(await explained({ apiVersion: 'apps/v1', kind: 'Deployment' })).toMatchObject({
      explanation: {
        attributes: { verb: 'create', group: 'apps', resource: 'deployments', namespace: 'web' },
      },
    })
    expect(
      await explained({ apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'own' } }),
    ).toMatchObject({ explanation: { attributes: { namespace: 'own' } } })
    await expect(explained({ apiVersion: 'v1', kind: 'Foo' })).rejects.toThrow(
      'the server has no Foo in version v1',
    )
  })
})

describe('users', () => {
  it('have the groups that everybody of their name has', () => {
    const groupsOf = (user: string, groups: string[] = []) =>
      withUsualGroups({ user, groups }).groups
    expect(groupsOf('ann', ['devs'])).toEqual(['devs', 'system:authenticated'])
    expect(groupsOf('system:anonymous')).toEqual(['system:unauthenticated'])
    expect(groupsOf('system:serviceaccount:web:robot')).toEqual([
      'system:serviceaccounts',
      'system:serviceaccounts:web',
      'system:authenticated',
    ])
  })
})

describe('texts', () => {
  const attributes = {
    user: { name: 'ann', groups: [] },
    verb: 'get',
    isResourceRequest: true,
    group: '',
    resource: 'pods',
    subresource: '',
    namespace: 'web',
    name: '',
    path: '',
  }
  const allowed: AccessExplanation = {
    allowed: true,
    attributes,
    authorizers: [
      { name: 'node', type: 'Node', opinion: 'no-opinion', detail: { missing: 'no node agent' } },
      {
        name: 'rbac',
        type: 'RBAC',
        opinion: 'allow',
        reason: 'RBAC: allowed by ...',
        detail: {
          grants: [
            {
              binding: { kind: 'RoleBinding', namespace: 'web', name: 'readers' },
              role: { kind: 'ClusterRole', name: 'view' },
              subject: { kind: 'User', name: 'ann' },
              rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
            },
          ],
        },
      },
      { name: 'late', type: 'Webhook', opinion: 'not-asked' },
    ],
  }

  it('what allows something is read at a glance', () => {
    expect(accessText(allowed, shown)).toBe(
      [
        'Allowed: get pods in namespace web',
        'user    ann',
        'groups  (none)',
        '',
        'AUTHORIZER  TYPE     OPINION     WHY',
        'node        Node     no opinion  no node agent',
        'rbac        RBAC     allows      RoleBinding web/readers gives ClusterRole view to User ann',
        '                                   get pods',
        'late        Webhook  not asked',
        '',
      ].join('\n'),
    )
  })

  it('a way from a node is one line, and colours are on the verdict alone', () => {
    const text = accessText(
      {
        ...allowed,
        authorizers: [
          {
            name: 'node',
            type: 'Node',
            opinion: 'allow',
            detail: { way: { node: 'n1', path: ['pod web/a', 'secret web/tls'] } },
          },
        ],
      },
      { ...shown, colors: true },
    )
    expect(text).toContain('node n1 > pod web/a > secret web/tls\n')
    expect(text.startsWith('\u001b[32mAllowed\u001b[0m: get pods')).toBe(true)
    expect(text.split('\u001b')).toHaveLength(3)
  })

  it('control characters of clients do not reach the terminal', () => {
    const evil = 'x\u001b[2J\u009b1m\r\n\u202ey'
    const request: DeniedRequest = {
      status: 401,
      time: '1970-01-12T13:46:38Z',
      requestId: 'id',
      count: 3,
      method: 'GET',
      path: `/${evil}`,
      remoteAddress: '127.0.0.1',
      reason: evil,
      authenticators: [{ name: 'x', result: 'failed', why: evil }],
    }
    const { authenticators: _, ...withoutTrials } = request
    const admission = { user: evil, plugin: evil, policy: evil, binding: evil, webhook: evil }
    const user = { name: evil, groups: [evil], uid: evil }
    const texts = [
      deniedText({ items: [request] }, shown),
      deniedText({ items: [{ ...withoutTrials, admission }] }, shown),
      accessText(
        {
          ...allowed,
          attributes: { ...attributes, user, name: evil, namespace: evil },
          authorizers: [{ name: evil, type: 'Webhook', opinion: 'deny', reason: evil }],
        },
        shown,
      ),
      tokenText(
        {
          authenticated: true,
          user,
          audiences: [evil],
          token: {
            form: 'jwt',
            header: { alg: evil, kid: evil },
            claims: { [evil]: evil, b: [evil] },
          },
          authenticators: [],
        },
        shown,
      ),
    ]
    for (const text of texts) {
      // oxlint-disable-next-line no-control-regex -- they are what is looked for
      expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
    }
    expect(texts[0]).toContain('401 GET /x\\u001b[2J')
    expect(texts[0]).toContain('2.0 s ago, 3 times')
  })

  it('times of a token are shown as such, and times that are none as they stand', () => {
    const text = tokenText(
      {
        authenticated: false,
        reason: 'expired',
        token: {
          form: 'jwt',
          header: { alg: 'RS256' },
          claims: { exp: 999_000, nbf: 1e300, iat: 'soon' },
        },
        authenticators: [{ name: 'oidc', result: 'failed', why: 'expired' }],
      },
      shown,
    )
    expect(text).toContain('exp    1970-01-12T13:30:00Z (17 min ago)\n')
    expect(text).toContain('nbf    1e+300\n')
    expect(text).toContain('iat    soon\n')
  })
})
