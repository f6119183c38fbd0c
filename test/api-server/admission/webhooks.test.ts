/** Admission webhooks: what they are asked, what their answers do, when they are not asked; row DRY-008. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { storeKey } from '../../../components/api-server/watch-cache/store-keys.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import {
  configMapRule,
  configureWebhooks,
  startAdmissionRemote,
  type AdmissionRemote,
  type AdmissionResponse,
} from '../../support/admission-remote.ts'
import { startApiServer, user, type TestApiServer } from '../../support/api-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }
const body = (name: string, more: object = {}) => ({ metadata: { name }, ...more })
const addLabel = (key: string, value: string): AdmissionResponse => ({
  allowed: true,
  patch: [{ op: 'add', path: `/data/${key}`, value }],
})

let remote: AdmissionRemote
beforeAll(async () => {
  remote = await startAdmissionRemote()
})
afterAll(async () => {
  await remote[Symbol.asyncDispose]()
})

describe.each(['kubernetes', 'svc'] as const)('admission webhooks, dialect %s', (dialect) => {
  let server: TestApiServer
  beforeAll(async () => {
    server = await startApiServer({ dialect })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })

  it('are asked about a write in the form of upstream', async () => {
    await remote.during(server, { validating: [remote.webhook('v.x.io')] }, async (at) => {
      const name = 'a'
      const made = await server.ok('POST', `${at.maps}?fieldManager=me`, { body: body(name) })
      expect(at.asked()).toEqual([
        {
          uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
          kind: { group: '', version: 'v1', kind: 'ConfigMap' },
          resource: { group: '', version: 'v1', resource: 'configmaps' },
          requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
          requestResource: { group: '', version: 'v1', resource: 'configmaps' },
          name,
          namespace: at.ns,
          operation: 'CREATE',
          userInfo: expect.objectContaining({
            username: expect.any(String),
            groups: expect.arrayContaining(['system:authenticated']),
          }),
          object: expect.objectContaining({
            kind: 'ConfigMap',
            apiVersion: 'v1',
            metadata: expect.objectContaining({ name, uid: made.metadata.uid }),
          }),
          oldObject: null,
          dryRun: false,
          options: {
            kind: 'CreateOptions',
            apiVersion: server.dialect.name === 'svc' ? 'meta.svc.io/v1' : 'meta.k8s.io/v1',
            fieldManager: 'me',
          },
        },
      ])
      expect(remote.remote.asked.at(-1)).toMatchObject({
        kind: 'AdmissionReview',
        apiVersion: `${server.group('admission')}/v1`,
      })
    })
  })

  it('refuse with their own words, code and reason', async () => {
    await remote.during(server, { validating: [remote.webhook('v.x.io')] }, async ({ maps }) => {
      const refusal = async (response: Partial<AdmissionResponse>) => {
        remote.respond = () => ({ allowed: false, ...response })
        const { status, body: answer } = await server.request('POST', maps, { body: body('a') })
        return [status, answer.reason, answer.message]
      }
      const denied = 'admission webhook "v.x.io" denied the request'
      expect(await refusal({})).toEqual([400, undefined, `${denied} without explanation`])
      expect(await refusal({ status: { message: 'no' } })).toEqual([
        400,
        undefined,
        `${denied}: no`,
      ])
      expect(await refusal({ status: { reason: 'Forbidden', code: 403 } })).toEqual([
        403,
        'Forbidden',
        `${denied}: Forbidden`,
      ])
      expect(await refusal({ status: { code: 200, message: 'x', reason: 'Mine' } })).toEqual([
        400,
        'Mine',
        `${denied}: x`,
      ])
      expect((await server.request('GET', `${maps}/a`)).status).toBe(404)
    })
  })

  it('change what is stored, defaults of what they add included', async () => {
    const rules = [{ ...configMapRule, resources: ['pods'], operations: ['CREATE'] }]
    await remote.during(server, { mutating: [remote.webhook('m.x.io', { rules })] }, async (at) => {
      const sidecar = { name: 'sidecar', image: 'side:1' }
      remote.respond = () => ({
        allowed: true,
        patch: [
          { op: 'add', path: '/spec/containers/-', value: sidecar },
          { op: 'add', path: '/metadata/labels', value: { injected: 'yes' } },
        ],
      })
      const spec = { containers: [{ name: 'c', image: 'i' }] }
      const pods = at.maps.replace('configmaps', 'pods')
      const pod = await server.ok('POST', pods, {
        body: { metadata: { generateName: 'p-' }, spec },
      })
      expect(pod.metadata.name).toMatch(/^p-.{5}$/)
      expect(pod.metadata.labels).toEqual({ injected: 'yes' })
      expect(pod.metadata).toMatchObject({
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        creationTimestamp: expect.stringMatching(/^\d{4}-.*Z$/),
        namespace: pods.split('/')[4],
      })
      expect(pod.spec.containers[1]).toMatchObject({
        ...sidecar,
        terminationMessagePolicy: 'File',
        // The other plugins run once more after a change.
        volumeMounts: [{ readOnly: true }],
      })
      const [asked] = at.asked()
      expect(asked).not.toHaveProperty('name')
      expect(asked?.['object'].metadata).not.toHaveProperty('uid')
      expect(asked?.['object'].metadata).not.toHaveProperty('name')
      expect(await server.ok('GET', `${pods}/${pod.metadata.name}`)).toEqual(pod)
    })
  })

  it('[DRY-008] a dry run that would meet side effects fails, and the webhook is not called', async () => {
    await using stored = await startApiServer({ dialect, store: 'sqlite' })
    const resources = resourcesOf(stored.dialect)
    for (const kind of ['mutating', 'validating'] as const) {
      const webhook = remote.webhook('s.x.io', { sideEffects: 'NoneOnDryRun' })
      await remote.during(stored, { [kind]: [webhook] }, async ({ maps, asked }) => {
        await stored.ok('POST', `${maps}?dryRun=All`, { body: body('a') })
        expect(asked().map(({ dryRun }) => dryRun as boolean)).toEqual([true])
        // What earlier releases took, and no client can write any more.
        await stored.restartWith(async (store) => {
          const key = storeKey(resources[`${kind}WebhookConfigurations`], 'hooks')
          const kv = await store.get(key)
          const value = Buffer.from(String(kv?.value).replace('"NoneOnDryRun"', '"Some"'))
          await store.txn({ key, expectedRevision: kv?.modRevision ?? 0, value })
        })
        const dry = await stored.request('POST', `${maps}?dryRun=All`, { body: body('a') })
        expect([dry.status, dry.body.reason, dry.body.message]).toEqual([
          400,
          'BadRequest',
          'admission webhook "s.x.io" does not support dry run',
        ])
        expect(asked()).toHaveLength(1)
        await stored.ok('POST', maps, { body: body('a') })
        expect(asked()).toHaveLength(2)
      })
    }
  })

  it('are asked about updates, patches, deletions and sub-resources', async () => {
    const rules = [
      { ...configMapRule, apiGroups: ['*'], resources: ['configmaps', 'deployments/scale'] },
    ]
    await remote.during(
      server,
      { validating: [remote.webhook('v.x.io', { rules })] },
      async (at) => {
        const { maps, asked } = at
        const made = await server.ok('POST', maps, { body: body('a') })
        await server.ok('PUT', `${maps}/a`, { body: { ...made, data: { a: '1' } } })
        await server.ok('PATCH', `${maps}/a`, { headers: merge, body: { data: { b: '2' } } })
        await server.ok('DELETE', `${maps}/a?gracePeriodSeconds=7`)
        await server.ok('POST', maps, { body: body('b') })
        await server.ok('DELETE', maps)
        expect(asked().map(({ operation, options }) => [operation, options.kind])).toEqual([
          ['CREATE', 'CreateOptions'],
          ['UPDATE', 'UpdateOptions'],
          ['UPDATE', 'UpdateOptions'],
          ['DELETE', 'DeleteOptions'],
          ['CREATE', 'CreateOptions'],
          ['DELETE', 'DeleteOptions'],
        ])
        expect(asked()[2]).toMatchObject({
          object: { data: { a: '1', b: '2' } },
          oldObject: { data: { a: '1' } },
        })
        expect(asked()[3]).toMatchObject({
          object: null,
          oldObject: { data: { a: '1', b: '2' } },
          options: { gracePeriodSeconds: 7 },
        })
        const deployments = `/apis/apps/v1/namespaces/${at.ns}/deployments`
        const labels = { app: 'x' }
        const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
        await server.ok('POST', deployments, {
          body: body('d', { spec: { replicas: 1, selector: { matchLabels: labels }, template } }),
        })
        const scale = { headers: merge, body: { spec: { replicas: 3 } } }
        await server.ok('PATCH', `${deployments}/d/scale`, scale)
        expect(asked().at(-1)).toMatchObject({
          kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
          subResource: 'scale',
          object: { kind: 'Scale', spec: { replicas: 3 } },
          oldObject: { kind: 'Scale', spec: { replicas: 1 } },
        })
        expect(asked()).toHaveLength(7)
      },
    )
  })

  it('are asked about evictions, bindings and connections', async () => {
    const resources = ['pods/eviction', 'pods/binding', 'pods/proxy']
    const rules = [{ ...configMapRule, resources }]
    await remote.during(
      server,
      { validating: [remote.webhook('v.x.io', { rules })] },
      async (at) => {
        const pods = at.maps.replace('configmaps', 'pods')
        const spec = { containers: [{ name: 'c', image: 'i' }] }
        await server.ok('POST', pods, { body: body('p', { spec }) })
        await server.ok('POST', `${pods}/p/binding`, { body: { target: { name: 'n' } } })
        await server.request('GET', `${pods}/p/proxy/x/y`)
        remote.respond = () => ({ allowed: false })
        expect(
          (await server.request('POST', `${pods}/p/eviction`, { body: body('p') })).status,
        ).toBe(400)
        expect(
          at.asked().map(({ operation, kind, object }) => [operation, kind.kind, object.kind]),
        ).toEqual([
          ['CREATE', 'Binding', 'Binding'],
          ['CONNECT', 'PodProxyOptions', 'PodProxyOptions'],
          ['CREATE', 'Eviction', 'Eviction'],
        ])
        expect(at.asked()[1]?.['object']).toEqual({
          kind: 'PodProxyOptions',
          apiVersion: 'v1',
          path: '/x/y',
        })
        expect((await server.ok('GET', `${pods}/p`)).metadata).not.toHaveProperty(
          'deletionTimestamp',
        )
      },
    )
  })

  it('are never asked about the objects that configure admission', async () => {
    const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }]
    await remote.during(
      server,
      { validating: [remote.webhook('v.x.io', { rules })] },
      async ({ asked }) => {
        remote.respond = () => ({ allowed: false })
        const undo = await configureWebhooks(
          server,
          'Mutating',
          [remote.webhook('m.x.io')],
          'other',
        )
        await undo()
        expect(asked()).toEqual([])
      },
    )
  })
})

describe('which requests webhooks are for', () => {
  let server: TestApiServer
  beforeAll(async () => {
    server = await startApiServer()
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })
  const countOf = async (more: object, method = 'POST'): Promise<number> => {
    let count = 0
    await remote.during(server, { validating: [remote.webhook('v.x.io', more)] }, async (at) => {
      const labels = { tier: 'web' }
      await server.ok('POST', at.maps, { body: { metadata: { name: 'a', labels } } })
      if (method === 'DELETE') await server.ok('DELETE', `${at.maps}/a`)
      count = at.asked().length
    })
    return count
  }
  const rule = (change: object) => ({ rules: [{ ...configMapRule, ...change }] })

  it('rules name operations, groups, versions, resources and scope', async () => {
    expect(await countOf(rule({ operations: ['UPDATE'] }))).toBe(0)
    expect(await countOf(rule({ operations: ['CREATE'] }), 'DELETE')).toBe(1)
    expect(await countOf(rule({ apiGroups: ['apps'] }))).toBe(0)
    expect(await countOf(rule({ apiVersions: ['v2'] }))).toBe(0)
    expect(await countOf(rule({ resources: ['*'] }))).toBe(1)
    expect(await countOf(rule({ resources: ['configmaps/*'] }))).toBe(1)
    expect(await countOf(rule({ resources: ['configmaps/status'] }))).toBe(0)
    expect(await countOf(rule({ scope: 'Cluster' }))).toBe(0)
    expect(await countOf(rule({ scope: 'Namespaced' }))).toBe(1)
  })

  it('selectors look at labels of the object and of its namespace', async () => {
    expect(await countOf({ objectSelector: { matchLabels: { tier: 'web' } } })).toBe(1)
    expect(await countOf({ objectSelector: { matchLabels: { tier: 'db' } } })).toBe(0)
    expect(await countOf({ objectSelector: { matchLabels: { tier: 'web' } } }, 'DELETE')).toBe(2)
    const key = 'kubernetes.io/metadata.name'
    const inNamespace = (operator: string) => ({
      namespaceSelector: { matchExpressions: [{ key, operator }] },
    })
    expect(await countOf(inNamespace('Exists'))).toBe(1)
    expect(await countOf(inNamespace('DoesNotExist'))).toBe(0)
  })

  it('a rule for another version of the same objects matches, unless the policy is Exact', async () => {
    const rules = [
      { ...configMapRule, apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'] },
    ]
    const target = { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' }
    const counts: unknown[] = []
    for (const matchPolicy of ['Equivalent', 'Exact']) {
      const webhook = remote.webhook('v.x.io', { rules, matchPolicy })
      await remote.during(server, { validating: [webhook] }, async (at) => {
        const scalers = `/apis/autoscaling/v2/namespaces/${at.ns}/horizontalpodautoscalers`
        await server.ok('POST', scalers, {
          body: body('h', { spec: { maxReplicas: 3, scaleTargetRef: target } }),
        })
        counts.push(
          ...at
            .asked()
            .map(({ kind, requestKind, object }) => [kind, requestKind, object.apiVersion]),
        )
      })
    }
    const kind = { group: 'autoscaling', kind: 'HorizontalPodAutoscaler' }
    expect(counts).toEqual([
      [{ ...kind, version: 'v1' }, { ...kind, version: 'v2' }, 'autoscaling/v1'],
    ])
  })

  it('match conditions must all hold; one that fails counts as the failure policy says', async () => {
    const conditions = (...expressions: string[]) => ({
      matchConditions: expressions.map((expression, i) => ({ name: `c${i}`, expression })),
    })
    const isWeb = 'object.metadata.labels.tier == "web"'
    const isMaster = 'request.userInfo.groups.exists(g, g == "system:masters")'
    expect(await countOf(conditions(isWeb, isMaster, 'request.operation == "CREATE"'))).toBe(1)
    expect(await countOf(conditions(isWeb, 'request.operation == "DELETE"'))).toBe(0)
    const broken = conditions('object.nothing.here == 1')
    expect(await countOf({ ...broken, failurePolicy: 'Ignore' })).toBe(0)
    await expect(countOf(broken)).rejects.toThrow(
      /403 .*configmaps \\"a\\" is forbidden: .*no such key/,
    )
    expect((await server.request('GET', '/metrics')).text).toMatch(
      /apiserver_admission_match_condition_exclusions_total\{name="v.x.io",kind="webhook",type="validating",operation="CREATE"\} 1/,
    )
  })
})

describe('several mutating webhooks', () => {
  let server: TestApiServer
  beforeAll(async () => {
    server = await startApiServer()
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })

  it('are asked in the order of configuration names, each seeing the changes before it', async () => {
    const first = await configureWebhooks(server, 'Mutating', [remote.webhook('z.x.io')], 'a')
    await remote.during(
      server,
      { mutating: [remote.webhook('b.x.io'), remote.webhook('a.x.io')] },
      async (at) => {
        remote.respond = (_, path) => addLabel(path.charAt(0), path)
        await server.ok('POST', at.maps, { body: body('m', { data: { x: '1' } }) })
        expect(at.asked().map(({ object }) => Object.keys(object.data as object))).toEqual(
          [['x'], ['x', 'z'], ['b', 'x', 'z']].map((names) => expect.arrayContaining(names)),
        )
        expect((await server.ok('GET', `${at.maps}/m`)).data).toEqual({
          x: '1',
          z: 'z.x.io',
          b: 'b.x.io',
          a: 'a.x.io',
        })
      },
    )
    await first()
  })

  it('one that wants it is asked again when a later one changed the object', async () => {
    for (const [policy, times] of [
      ['IfNeeded', 2],
      ['Never', 1],
    ] as const) {
      const mutating = [
        remote.webhook('first.x.io', { reinvocationPolicy: policy }),
        remote.webhook('later.x.io'),
      ]
      await remote.during(server, { mutating }, async (at) => {
        const paths: string[] = []
        remote.respond = (_, path) => {
          paths.push(path)
          return path === 'later.x.io' ? addLabel('later', 'yes') : { allowed: true }
        }
        const reply = await server.request('POST', at.maps, {
          body: body('m', { data: { x: '1' } }),
        })
        expect(paths.filter((path) => path === 'first.x.io')).toHaveLength(times)
        expect(paths.filter((path) => path === 'later.x.io')).toHaveLength(1)
        expect((await server.auditOf(reply)).annotations).toMatchObject({
          'mutation.webhook.admission.k8s.io/round_0_index_1':
            '{"configuration":"hooks","webhook":"later.x.io","mutated":true}',
        })
      })
    }
  })

  it('cannot change what is not theirs: identity, status of a plain update, an object that goes', async () => {
    await remote.during(server, { mutating: [remote.webhook('m.x.io')] }, async (at) => {
      const made = await server.ok('POST', at.maps, { body: body('m', { data: { x: '1' } }) })
      remote.respond = () => ({
        allowed: true,
        patch: [{ op: 'replace', path: '/metadata/uid', value: 'mine' }],
      })
      const put = await server.ok('PUT', `${at.maps}/m`, { body: { ...made, data: { x: '2' } } })
      expect(put.metadata.uid).toBe(made.metadata.uid)
      const gone = await server.request('DELETE', `${at.maps}/m`)
      expect([gone.status, gone.body.message]).toEqual([
        500,
        'Internal error occurred: admission webhook "m.x.io" attempted to modify the object, which is not supported for this operation',
      ])
    })
  })
})

describe('what webhooks say besides', () => {
  it('warnings reach the client, annotations the audit record, calls the metrics', async () => {
    await using server = await startApiServer()
    await remote.during(server, { validating: [remote.webhook('v.x.io')] }, async ({ maps }) => {
      remote.respond = () => ({
        allowed: true,
        warnings: ['mind the gap'],
        auditAnnotations: { why: 'because' },
      })
      const reply = await server.request('POST', maps, {
        body: body('a'),
        as: user('admin', 'system:masters'),
      })
      expect(reply.headers['warning']).toContain('299 - "mind the gap"')
      expect((await server.auditOf(reply)).annotations['v.x.io/why']).toBe('because')
      const { text } = await server.request('GET', '/metrics')
      expect(text).toContain(
        'apiserver_admission_webhook_request_total{name="v.x.io",type="validating",operation="CREATE",code="200",rejected="false"} 1',
      )
      expect(text).toMatch(
        /apiserver_admission_webhook_admission_duration_seconds_count\{name="v.x.io",operation="CREATE",rejected="false",type="validating"\} 1/,
      )
    })
  })
})
