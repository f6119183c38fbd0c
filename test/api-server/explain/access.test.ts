import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { startApiServer, user, type TestApiServer } from '../../support/api-server.ts'
import { explainAccess, type AskedAccess } from '../../support/explain.ts'
import { allow } from '../../support/grants.ts'
import { startReviewRemote, type ReviewRemote } from '../../support/review-remote.ts'
import { describeDialects } from '../../support/shared-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const everybody = ['system:authenticated']

/** Writes objects as they were suggested. */
async function apply(server: TestApiServer, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    const { apiVersion, kind, metadata } = object
    const place = metadata.namespace === undefined ? '' : `namespaces/${metadata.namespace}/`
    await server.ok('POST', `/apis/${apiVersion}/${place}${(kind ?? '').toLowerCase()}s`, {
      body: object,
    })
  }
}

const opinions = ({ authorizers }: Awaited<ReturnType<typeof explainAccess>>) =>
  authorizers.map(({ name, opinion }) => `${name}: ${opinion}`)

describeDialects('why access is allowed or denied', (server) => {
  it('is told to those alone whom authorization lets ask', async () => {
    const body = { spec: { user: 'a', nonResourceAttributes: { verb: 'get', path: '/' } } }
    for (const [method, path] of [
      ['POST', '/explain/access'],
      ['POST', '/explain/token'],
      ['GET', '/explain/denied'],
      ['GET', '/explain/changes?namespace=default'],
    ] as const) {
      const ask = method === 'POST' ? { body } : {}
      for (const as of [user('nosy'), user('n', 'system:nodes'), 'anonymous'] as const) {
        const { status } = await server().request(method, path, { ...ask, as })
        expect(status, `${method} ${path}`).toBe(403)
      }
    }
    const group = server().group('rbac.authorization')
    const names = { metadata: { name: 'explainers' } }
    await server().ok('POST', `/apis/${group}/v1/clusterroles`, {
      body: { ...names, rules: [{ nonResourceURLs: ['/explain/access'], verbs: ['post'] }] },
    })
    await server().ok('POST', `/apis/${group}/v1/clusterrolebindings`, {
      body: {
        ...names,
        roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'explainers' },
        subjects: [{ apiGroup: group, kind: 'User', name: 'helper' }],
      },
    })
    const as = user('helper')
    expect((await server().request('POST', '/explain/access', { body, as })).status).toBe(200)
    expect((await server().request('GET', '/explain/denied', { as })).status).toBe(403)
  })

  it('names the binding and the rule that allow it', async () => {
    const ns = await server().namespace()
    const rules = [
      { resources: ['configmaps'], verbs: ['get'] },
      { resources: ['pods', 'pods/log'], verbs: ['get', 'list'] },
    ]
    await allow(server(), ns, { name: 'reader', rules })
    const why = await explainAccess(server(), {
      user: 'reader',
      resourceAttributes: { verb: 'list', resource: 'pods', namespace: ns },
    })
    expect(why.allowed).toBe(true)
    expect(opinions(why)).toEqual(['node: no-opinion', 'rbac: allow'])
    expect(why.authorizers[1]?.detail).toEqual({
      grants: [
        {
          binding: { kind: 'RoleBinding', namespace: ns, name: 'reader' },
          role: { kind: 'Role', namespace: ns, name: 'reader' },
          subject: expect.objectContaining({ kind: 'User', name: 'reader' }) as unknown,
          rules: [{ apiGroups: ['*'], ...rules[1] }],
        },
      ],
    })
    expect(why.wouldAllow).toBeUndefined()
  })

  it('system:masters passes before all authorizers, which are not asked', async () => {
    const why = await explainAccess(server(), {
      user: 'root',
      groups: ['system:masters'],
      resourceAttributes: { verb: 'get', resource: 'pods' },
    })
    expect(opinions(why)).toEqual(['system:masters: allow', 'node: not-asked', 'rbac: not-asked'])
  })

  it.each<[string, (ns: string) => AskedAccess]>([
    [
      'a resource in a namespace',
      (namespace) => ({
        user: 'ann',
        resourceAttributes: { verb: 'list', resource: 'pods', namespace },
      }),
    ],
    [
      'one object by its name',
      (namespace) => ({
        user: 'Ann@Example.com',
        resourceAttributes: { verb: 'get', resource: 'secrets', namespace, name: 'tls' },
      }),
    ],
    [
      'a sub-resource',
      (namespace) => ({
        user: 'ann',
        resourceAttributes: {
          verb: 'create',
          group: 'apps',
          resource: 'deployments',
          subresource: 'scale',
          namespace,
        },
      }),
    ],
    [
      'a service account',
      (namespace) => ({
        user: `system:serviceaccount:${namespace}:robot`,
        resourceAttributes: { verb: 'watch', resource: 'pods', namespace },
      }),
    ],
    [
      'a group without a user',
      (namespace) => ({
        groups: ['devs'],
        resourceAttributes: { verb: 'patch', resource: 'pods', namespace },
      }),
    ],
    [
      'all namespaces at once',
      () => ({ user: 'ann', resourceAttributes: { verb: 'list', resource: 'pods' } }),
    ],
    [
      'a cluster-scoped resource',
      () => ({
        user: 'ann',
        resourceAttributes: { verb: 'delete', resource: 'nodes', name: 'n1' },
      }),
    ],
    ['a path', () => ({ user: 'ann', nonResourceAttributes: { verb: 'get', path: '/metrics' } })],
  ])('the role it suggests for %s allows that and nothing else', async (_, question) => {
    const ns = await server().namespace()
    const asked = question(ns)
    const before = await explainAccess(server(), asked)
    expect(before.allowed).toBe(false)
    expect(before.message).toContain('cannot')
    await apply(server(), before.wouldAllow ?? [])
    expect(await explainAccess(server(), asked)).toMatchObject({ allowed: true })
    const { resourceAttributes: resource, nonResourceAttributes: other } = asked
    const neighbours: AskedAccess[] = [
      { ...asked, user: 'somebody-else', groups: everybody },
      ...(other === undefined
        ? []
        : [
            { ...asked, nonResourceAttributes: { ...other, verb: 'post' } },
            { ...asked, nonResourceAttributes: { ...other, path: `${other.path}/more` } },
          ]),
      ...(resource === undefined
        ? []
        : [
            { ...resource, verb: 'deletecollection' },
            { ...resource, resource: 'configmaps' },
            { ...resource, group: 'example.com' },
            { ...resource, subresource: 'other' },
            ...(resource.namespace === undefined ? [] : [{ ...resource, namespace: 'default' }]),
            ...(resource.namespace === undefined ? [] : [{ ...resource, namespace: '' }]),
            ...(resource.name === undefined ? [] : [{ ...resource, name: 'other' }]),
          ].map((one) => ({ ...asked, resourceAttributes: one }))),
    ]
    for (const neighbour of neighbours) {
      const { allowed } = await explainAccess(server(), neighbour)
      expect(allowed, JSON.stringify(neighbour)).toBe(false)
    }
  })

  it('never suggests a name that is taken', async () => {
    const ns = await server().namespace()
    const asked = (name: string): AskedAccess => ({
      user: name,
      resourceAttributes: { verb: 'get', resource: 'pods', namespace: ns },
    })
    const names = []
    for (const name of ['a:b', 'a-b', 'a/b']) {
      const { wouldAllow = [] } = await explainAccess(server(), asked(name))
      names.push(wouldAllow.map(({ metadata }) => metadata.name))
      await apply(server(), wouldAllow)
    }
    expect(names).toEqual(['a-b-get-pods', 'a-b-get-pods-2', 'a-b-get-pods-3'].map((n) => [n, n]))
  })

  it('no role is suggested where a rule would allow more than what was asked', async () => {
    const why = await explainAccess(server(), {
      user: 'ann',
      nonResourceAttributes: { verb: 'get', path: '/metrics/*' },
    })
    expect(why).not.toHaveProperty('wouldAllow')
  })

  it('agrees with a SubjectAccessReview, whatever is asked', async () => {
    const ns = await server().namespace()
    await allow(server(), ns, {
      name: 'worker',
      rules: [
        { resources: ['pods', '*/scale'], verbs: ['get', 'list'] },
        { resources: ['secrets'], verbs: ['*'] },
      ],
    })
    const path = `/apis/${server().group('authorization')}/v1/subjectaccessreviews`
    const one = <T>(...values: T[]) => fc.constantFrom(...values)
    const resourceAttributes = fc.record({
      verb: one('get', 'list', 'create', 'impersonate', '*'),
      group: one('', 'apps', '*'),
      resource: one('pods', 'secrets', 'nodes', 'deployments', '*', ''),
      subresource: one('', 'scale', 'status'),
      namespace: one('', ns, 'default'),
      name: one('', 'x'),
    })
    const nonResourceAttributes = fc.record({
      verb: one('get', 'post'),
      path: one('/healthz', '/metrics', '/api/v1', '/explain/denied', '*'),
    })
    const questions = fc.record({
      user: one('worker', 'nobody', 'system:node:n1', 'system:kube-scheduler'),
      groups: fc.subarray(['system:nodes', 'system:masters', 'system:authenticated']),
      about: fc.oneof(fc.record({ resourceAttributes }), fc.record({ nonResourceAttributes })),
    })
    const counts = { allowed: 0, denied: 0 }
    await fc.assert(
      fc.asyncProperty(questions, async ({ about, ...who }) => {
        const spec = { ...who, ...about }
        const { status } = await server().ok('POST', path, { body: { spec } })
        const why = await explainAccess(server(), spec)
        expect(why.allowed).toBe(status.allowed)
        const decided = why.authorizers.find(({ opinion }) => opinion === 'allow')
        expect(decided !== undefined).toBe(why.allowed)
        if (decided?.type === 'RBAC') {
          expect(decided.reason).toBe(status.reason)
          expect(decided.detail?.grants).not.toEqual([])
        }
        counts[why.allowed ? 'allowed' : 'denied'] += 1
      }),
      { numRuns: 300 },
    )
    expect(counts.allowed).toBeGreaterThan(20)
    expect(counts.denied).toBeGreaterThan(20)
  })

  it('shows the way from the node over its pod to what the pod needs, or on which nodes it is needed', async () => {
    const ns = await server().namespace()
    const spec = (nodeName: string, volumes: unknown[]) => ({
      nodeName,
      containers: [{ name: 'c', image: 'example.com/a:1' }],
      volumes,
    })
    const pods = `/api/v1/namespaces/${ns}/pods`
    const tls = { name: 'v', secret: { secretName: 'tls' } }
    const data = { name: 'd', persistentVolumeClaim: { claimName: 'data' } }
    await server().ok('POST', pods, {
      body: { metadata: { name: 'web' }, spec: spec('n1', [tls, data]) },
    })
    const volume = `vol-${ns}`
    await server().ok('POST', '/api/v1/persistentvolumes', {
      body: {
        metadata: { name: volume },
        spec: {
          accessModes: ['ReadWriteOnce'],
          capacity: { storage: '1Gi' },
          claimRef: { namespace: ns, name: 'data' },
          csi: {
            driver: 'd.example.com',
            volumeHandle: 'h',
            nodePublishSecretRef: { name: 'publish', namespace: ns },
          },
        },
      },
    })
    const secret = (node: string, name: string): AskedAccess => ({
      user: `system:node:${node}`,
      groups: ['system:nodes'],
      resourceAttributes: { verb: 'get', resource: 'secrets', namespace: ns, name },
    })
    const detail = async (asked: AskedAccess) =>
      (await explainAccess(server(), asked)).authorizers[0]?.detail
    const direct = { node: 'n1', path: [`pod ${ns}/web`, `secret ${ns}/tls`] }
    const overVolume = {
      node: 'n1',
      path: [
        `pod ${ns}/web`,
        `persistentvolumeclaim ${ns}/data`,
        `persistentvolume ${volume}`,
        `secret ${ns}/publish`,
      ],
    }
    expect(await detail(secret('n1', 'tls'))).toEqual({ way: direct })
    expect(await detail(secret('n1', 'publish'))).toEqual({ way: overVolume })
    expect(await detail(secret('n2', 'publish'))).toEqual({
      missing: `no pod on n2 needs secret ${ns}/publish`,
      otherWays: [overVolume],
    })
    expect(await detail(secret('n1', 'other'))).toEqual({
      missing: `no pod on n1 needs secret ${ns}/other`,
    })
    expect(await detail({ ...secret('n1', 'tls'), groups: everybody })).toEqual({
      missing: 'the user is not in the group system:nodes',
    })
    expect(
      await detail({
        user: 'system:node:n1',
        groups: ['system:nodes'],
        resourceAttributes: { verb: 'list', resource: 'services' },
      }),
    ).toEqual({ rule: expect.objectContaining({ verbs: ['get', 'list', 'watch'] }) as unknown })
  })

  it.each([
    ['no review', '[]', 400],
    ['broken JSON', '{"spec"', 400],
    ['a field that there is not', '{"spec":{"user":"a","nope":1}}', 400],
    ['a list for a text', '{"spec":{"user":["a"]}}', 400],
    ['nobody', '{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}', 422],
    ['nothing', '{"spec":{"user":"a"}}', 422],
    ['a review larger than any', `{"spec":{"user":"${'a'.repeat(70_000)}"}}`, 413],
    ['a very deep one', `{"spec":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 400],
  ])('%s is refused', async (_, body, code) => {
    expect((await server().request('POST', '/explain/access', { body })).status).toBe(code)
  })

  it('other methods and paths below /explain/ do not exist', async () => {
    expect((await server().request('GET', '/explain/access')).status).toBe(405)
    expect((await server().request('POST', '/explain/denied', { body: {} })).status).toBe(405)
    expect((await server().request('GET', '/explain/')).status).toBe(404)
    expect((await server().request('GET', '/explain/access/more')).status).toBe(404)
    expect((await server().request('GET', '/explain/constructor')).status).toBe(404)
  })
})

describe('modes besides RBAC', () => {
  let remote: ReviewRemote
  let folder: string
  beforeAll(async () => {
    remote = await startReviewRemote()
    folder = temporaryFolder('explain')
  })
  afterAll(async () => {
    await remote[Symbol.asyncDispose]()
  })

  const pods: AskedAccess = {
    user: 'ann',
    resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' },
  }

  it('a webhook was asked, answered from memory, or could not be reached; behind its denial no role helps', async () => {
    const config = {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthorizationConfiguration',
      authorizers: [
        {
          type: 'Webhook',
          name: 'remote.example.com',
          webhook: {
            timeout: '3s',
            subjectAccessReviewVersion: 'v1',
            matchConditionSubjectAccessReviewVersion: 'v1',
            authorizedTTL: '5m',
            unauthorizedTTL: '5m',
            failurePolicy: 'NoOpinion',
            connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: remote.kubeconfig(folder) },
            matchConditions: [{ expression: "request.user != 'skipped'" }],
          },
        },
        { type: 'RBAC', name: 'rbac' },
      ],
    }
    const path = join(folder, 'authorization.json')
    writeFileSync(path, JSON.stringify(config))
    await using server = await startApiServer({
      flags: ['--authorization-mode=', `--authorization-config=${path}`],
    })
    remote.answer = () => ({ status: { allowed: false, denied: true, reason: 'no way' } })
    const webhook = { name: 'remote.example.com', type: 'Webhook' }
    const first = await explainAccess(server, pods)
    expect(first.authorizers).toEqual([
      { ...webhook, opinion: 'deny', reason: 'no way', detail: { call: 'asked' } },
      { name: 'rbac', type: 'RBAC', opinion: 'not-asked' },
    ])
    expect(first.message).toMatch(/no way$/)
    expect(first).not.toHaveProperty('wouldAllow')
    const asked = remote.asked.length
    expect((await explainAccess(server, pods)).authorizers[0]?.detail).toEqual({
      call: 'remembered from an earlier answer',
    })
    expect(remote.asked.length).toBe(asked)
    const skipped = await explainAccess(server, { ...pods, user: 'skipped' })
    expect(skipped.authorizers[0]).toEqual({
      ...webhook,
      opinion: 'no-opinion',
      detail: { call: "not asked: request.user != 'skipped' is false" },
    })
    expect(skipped.wouldAllow).toHaveLength(2)
    remote.answer = () => ({ code: 500 })
    const failed = await explainAccess(server, { ...pods, user: 'bob' })
    expect(failed.authorizers[0]).toMatchObject({
      opinion: 'no-opinion',
      detail: { call: 'asked, in vain' },
      evaluationError: expect.stringContaining('webhook') as unknown,
    })
    expect(failed.wouldAllow).toHaveLength(2)
  })

  it('ABAC shows the policy that matched; without RBAC no role is suggested', async () => {
    const path = join(folder, 'policies.jsonl')
    const group = 'abac.authorization.kubernetes.io'
    const spec = { user: 'ann', namespace: '*', resource: 'pods', readonly: true }
    writeFileSync(path, JSON.stringify({ apiVersion: `${group}/v1beta1`, kind: 'Policy', spec }))
    await using server = await startApiServer({
      flags: ['--authorization-mode=ABAC,AlwaysDeny', `--authorization-policy-file=${path}`],
    })
    const good = await explainAccess(server, pods)
    expect(good.authorizers).toEqual([
      { name: 'abac', type: 'ABAC', opinion: 'allow', detail: { policy: spec } },
      { name: 'alwaysdeny', type: 'AlwaysDeny', opinion: 'not-asked' },
    ])
    const bad = await explainAccess(server, { ...pods, user: 'bob' })
    expect(bad.authorizers.map(({ opinion, reason }) => [opinion, reason])).toEqual([
      ['no-opinion', 'No policy matched.'],
      ['no-opinion', 'Everything is forbidden.'],
    ])
    expect(bad).not.toHaveProperty('wouldAllow')
  })
})
