/** MutatingAdmissionPolicy on a server: stored policies, defined kinds, webhooks, sub-resources and names that the server gives. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  configureWebhooks,
  startAdmissionRemote,
  type AdmissionRemote,
} from '../../support/admission-remote.ts'
import { startApiServer } from '../../support/api-server.ts'
import { define } from '../../support/custom-definitions.ts'
import { describeDialects } from '../../support/shared-server.ts'

type Json = Record<string, unknown>
let names = 0
let remote: AdmissionRemote
beforeAll(async () => {
  remote = await startAdmissionRemote()
})
afterAll(() => remote[Symbol.asyncDispose]())

const alphaApis = '--runtime-config=api/alpha=true'
const flags = ['--feature-gates=MutatingAdmissionPolicy=true', alphaApis]

const rules = (...resources: string[]): Json => ({
  resourceRules: [
    {
      operations: ['CREATE', 'UPDATE', 'CONNECT'],
      apiGroups: ['*'],
      apiVersions: ['*'],
      resources,
    },
  ],
})
const apply = (expression: string): Json => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression },
})

describeDialects(
  'mutating admission policies',
  (server) => {
    /** Binds a policy to a fresh namespace. */
    async function bound(spec: Json, binding: Json = {}) {
      const group = `/apis/${server().group('admissionregistration')}/v1alpha1`
      const ns = await server().namespace()
      names += 1
      const policy = `policy-${names}`
      const given = { reinvocationPolicy: 'Never', matchConstraints: rules('configmaps'), ...spec }
      await server().ok('POST', `${group}/mutatingadmissionpolicies`, {
        body: { metadata: { name: policy }, spec: given },
      })
      const matchLabels = { [`${server().dialect.labelDomain}/metadata.name`]: ns }
      await server().ok('POST', `${group}/mutatingadmissionpolicybindings`, {
        body: {
          metadata: { name: `${policy}-binding` },
          spec: {
            policyName: policy,
            matchResources: { namespaceSelector: { matchLabels } },
            ...binding,
          },
        },
      })
      const maps = `/api/v1/namespaces/${ns}/configmaps`
      return { ns, policy, maps }
    }

    it('change what is created, updated, patched and applied, and dry runs too', async () => {
      const { maps } = await bound({
        mutations: [apply('Object{data: {"count": string(object.data.size())}}')],
      })
      const made = await server().ok('POST', maps, {
        body: { metadata: { name: 'a' }, data: { x: '1' } },
      })
      expect(made.data).toEqual({ x: '1', count: '1' })
      const put = await server().ok('PUT', `${maps}/a`, {
        body: { ...made, data: { x: '1', y: '2' } },
      })
      expect(put.data).toEqual({ x: '1', y: '2', count: '2' })
      const merged = await server().ok('PATCH', `${maps}/a`, {
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { data: { z: '3' } },
      })
      expect(merged.data).toEqual({ x: '1', y: '2', z: '3', count: '4' })
      const applied = await server().ok('PATCH', `${maps}/b?fieldManager=me`, {
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'b' }, data: { x: '1' } },
      })
      expect(applied.data).toEqual({ x: '1', count: '1' })
      const dry = await server().ok('POST', `${maps}?dryRun=All`, {
        body: { metadata: { name: 'c' }, data: { x: '1' } },
      })
      expect(dry.data).toEqual({ x: '1', count: '1' })
      expect((await server().request('GET', `${maps}/c`)).status).toBe(404)
    })

    it('see no name that the server has yet to give, and cannot take the identity from an object', async () => {
      const { maps } = await bound({
        mutations: [
          apply(
            'Object{data: {"name": has(object.metadata.name) ? "seen" : "hidden", "uid": has(object.metadata.uid) ? "seen" : "hidden"}}',
          ),
          {
            patchType: 'JSONPatch',
            jsonPatch: {
              expression: '[JSONPatch{op: "add", path: "/metadata/uid", value: "mine"}]',
            },
          },
        ],
      })
      const made = await server().ok('POST', maps, { body: { metadata: { generateName: 'a-' } } })
      expect(made.metadata.name).toMatch(/^a-.{5}$/)
      expect(made.metadata.uid).not.toBe('mine')
      expect(made.data).toEqual({ name: 'hidden', uid: 'hidden' })
      const put = await server().ok('PUT', `${maps}/${made.metadata.name}`, { body: made })
      expect(put.metadata.uid).toBe(made.metadata.uid)
      expect(put.data).toEqual({ name: 'seen', uid: 'seen' })
    })

    it('give pods what their defaults and validation then see', async () => {
      const { ns } = await bound({
        matchConstraints: rules('pods'),
        matchConditions: [{ name: 'new', expression: 'request.operation == "CREATE"' }],
        mutations: [
          apply(
            'Object{spec: Object.spec{containers: [Object.spec.containers{name: "side", image: "side", ports: [Object.spec.containers.ports{containerPort: 80}]}]}}',
          ),
        ],
      })
      const pods = `/api/v1/namespaces/${ns}/pods`
      const spec = { containers: [{ name: 'c', image: 'i' }] }
      const made = await server().ok('POST', pods, { body: { metadata: { name: 'p' }, spec } })
      expect(made.spec.containers).toMatchObject([
        { name: 'c', image: 'i' },
        {
          name: 'side',
          image: 'side',
          ports: [{ containerPort: 80, protocol: 'TCP' }],
          imagePullPolicy: 'Always',
        },
      ])
    })

    it('change objects of defined kinds by the schema of the version that they match', async () => {
      const group = 'policies.example.com'
      const properties = {
        spec: {
          type: 'object',
          properties: {
            size: { type: 'integer' },
            tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
            parts: {
              type: 'array',
              items: { type: 'object', properties: { n: { type: 'integer' } } },
            },
            mode: { type: 'string', default: 'plain' },
          },
        },
      }
      const pathIn = await define(server(), {
        group,
        kind: 'Gadget',
        schema: { type: 'object', properties },
        version: {
          subresources: {
            scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' },
          },
        },
      })
      const { ns, policy } = await bound({
        matchConstraints: rules('gadgets', 'gadgets/scale'),
        mutations: [
          apply(
            'request.subResource == "scale" ? Object{spec: Object.spec{replicas: object.spec.replicas + 1}} : Object{spec: Object.spec{size: object.spec.size * 2, tags: ["b"]}}',
          ),
        ],
      })
      const gadgets = pathIn(ns)
      const body = (spec: Json) => ({
        apiVersion: `${group}/v1`,
        kind: 'Gadget',
        metadata: { name: 'g' },
        spec,
      })
      const made = await server().ok('POST', gadgets, { body: body({ size: 2, tags: ['a'] }) })
      expect(made.spec).toEqual({ size: 4, tags: ['a', 'b'], mode: 'plain' })
      const scaled = await server().ok('PATCH', `${gadgets}/g/scale`, {
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { spec: { replicas: 7 } },
      })
      expect(scaled.spec.replicas).toBe(8)
      expect((await server().ok('GET', `${gadgets}/g`)).spec.size).toBe(8)

      const refused = await bound({
        matchConstraints: rules('gadgets'),
        mutations: [apply('Object{spec: Object.spec{parts: [Object.spec.parts{n: 1}]}}')],
      })
      const reply = await server().request('POST', pathIn(refused.ns), { body: body({ size: 1 }) })
      expect([reply.status, reply.body.reason, reply.body.message]).toEqual([
        403,
        'Invalid',
        `policy '${refused.policy}' with binding '${refused.policy}-binding' denied request: error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.parts`,
      ])
      const unknown = await bound({
        matchConstraints: rules('gadgets'),
        mutations: [apply('Object{spec: Object.spec{nope: 1}}')],
      })
      expect(
        (await server().request('POST', pathIn(unknown.ns), { body: body({ size: 1 }) })).body
          .message,
      ).toContain(
        'failed to convert patch object to typed object: .spec.nope: field not declared in schema',
      )
      expect(policy).not.toBe(unknown.policy)
    })

    it('run before webhooks, and again after a webhook that changed the object', async () => {
      const count = (key: string) =>
        apply(`Object{data: {"${key}": string(int(object.data[?"${key}"].orValue("0")) + 1)}}`)
      const asks = await bound({ mutations: [count('asks')], reinvocationPolicy: 'IfNeeded' })
      const once = await bound(
        { mutations: [count('once')] },
        {
          matchResources: {
            namespaceSelector: {
              matchLabels: { [`${server().dialect.labelDomain}/metadata.name`]: asks.ns },
            },
          },
        },
      )
      expect(once.ns).not.toBe(asks.ns)
      const seen: Json[] = []
      remote.respond = ({ object }) => {
        seen.push((object as { data: Json }).data)
        return {
          allowed: true,
          patch: [{ op: 'add', path: '/data/hook', value: `call-${seen.length}` }],
        }
      }
      const stop = await configureWebhooks(server(), 'Mutating', [
        remote.webhook('m.x.io', { reinvocationPolicy: 'IfNeeded' }),
      ])
      try {
        const made = await server().ok('POST', asks.maps, {
          body: { metadata: { name: 'a' }, data: { x: '1' } },
        })
        // The second policy ran once, the first again after the webhook, and the webhook again after the first.
        expect(seen).toEqual([
          { x: '1', asks: '1', once: '1' },
          { x: '1', asks: '2', once: '1', hook: 'call-1' },
        ])
        expect(made.data).toEqual({ x: '1', asks: '2', once: '1', hook: 'call-2' })
      } finally {
        await stop()
      }
    })

    it('take effect as soon as they are stored, and end with them', async () => {
      const { maps, policy } = await bound({ mutations: [apply('Object{data: {"by": "policy"}}')] })
      const dataOf = async (name: string) =>
        (await server().ok('POST', maps, { body: { metadata: { name } } })).data as unknown
      expect(await dataOf('a')).toEqual({ by: 'policy' })
      const at = `/apis/${server().group('admissionregistration')}/v1alpha1/mutatingadmissionpolicies/${policy}`
      const stored = await server().ok('GET', at)
      stored.spec.mutations = [apply('Object{data: {"by": "another"}}')]
      await server().ok('PUT', at, { body: stored })
      expect(await dataOf('b')).toEqual({ by: 'another' })
      await server().ok('DELETE', at)
      expect(await dataOf('c')).toBeUndefined()
    })
  },
  { flags },
)

describe('without the feature gate', () => {
  it('a client that creates a policy is warned that it has no effect, and it has none', async () => {
    await using server = await startApiServer({ flags: [alphaApis] })
    const group = '/apis/admissionregistration.k8s.io/v1alpha1'
    const mutations = [apply('Object{data: {"by": "policy"}}')]
    const spec = { reinvocationPolicy: 'Never', matchConstraints: rules('configmaps'), mutations }
    const reply = await server.request('POST', `${group}/mutatingadmissionpolicies`, {
      body: { metadata: { name: 'p' }, spec },
    })
    expect(reply.status).toBe(201)
    expect(reply.headers['warning']).toContain(
      'the feature gate MutatingAdmissionPolicy is off: this object has no effect',
    )
    await server.ok('POST', `${group}/mutatingadmissionpolicybindings`, {
      body: { metadata: { name: 'b' }, spec: { policyName: 'p' } },
    })
    const ns = await server.namespace()
    const made = await server.ok('POST', `/api/v1/namespaces/${ns}/configmaps`, {
      body: { metadata: { name: 'a' } },
    })
    expect(made.data).toBeUndefined()
  })
})
