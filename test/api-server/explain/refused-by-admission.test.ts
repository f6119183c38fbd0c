/** What admission refused, among the last denied requests: by which plugin, policy or webhook, and in which words. */
import { expect, it } from 'vitest'
import { deniedText } from '../../../cluster/cli/why-request-text.ts'
import { denied } from '../../support/explain.ts'
import { describeDialects } from '../../support/shared-server.ts'

type Json = Record<string, unknown>
let names = 0

describeDialects('requests that admission refused', (server) => {
  const newest = async () => (await denied(server(), 1)).items[0]
  const group = () => `/apis/${server().group('admissionregistration')}/v1`
  const constraints = (ns: string) => ({
    resourceRules: [
      { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
    ],
    namespaceSelector: { matchLabels: { [`${server().dialect.labelDomain}/metadata.name`]: ns } },
  })
  const create = async (ns: string) =>
    await server().request('POST', `/api/v1/namespaces/${ns}/configmaps`, {
      body: { metadata: { name: 'a' } },
    })

  it('bear the plugin’s name and its message', async () => {
    const reply = await create('nowhere')
    expect(reply.status).toBe(404)
    const one = await newest()
    expect(one).toMatchObject({
      status: 404,
      count: 1,
      method: 'POST',
      path: '/api/v1/namespaces/nowhere/configmaps',
      reason: 'namespaces "nowhere" not found',
      admission: { plugin: 'NamespaceLifecycle' },
    })
    expect(one).not.toHaveProperty('explanation')
    expect((await create('nowhere')).status).toBe(404)
    expect(await newest()).toMatchObject({ count: 2 })
  })

  it('by a policy name it with its binding', async () => {
    const ns = await server().namespace()
    const { namespaceSelector, ...matchConstraints } = constraints(ns)
    names += 1
    const metadata = { name: `refusing-${names}` }
    await server().ok('POST', `${group()}/validatingadmissionpolicies`, {
      body: {
        metadata,
        spec: { matchConstraints, validations: [{ expression: 'false', message: 'never' }] },
      },
    })
    await server().ok('POST', `${group()}/validatingadmissionpolicybindings`, {
      body: {
        metadata: { name: 'its-binding' },
        spec: {
          policyName: metadata.name,
          validationActions: ['Deny'],
          matchResources: { namespaceSelector },
        },
      },
    })
    expect((await create(ns)).status).toBe(422)
    const one = await newest()
    expect(one).toMatchObject({
      status: 422,
      reason: expect.stringMatching(/denied request: never$/) as unknown,
      admission: {
        plugin: 'ValidatingAdmissionPolicy',
        policy: metadata.name,
        binding: 'its-binding',
      },
    })
    const text = deniedText({ items: one === undefined ? [] : [one] }, { colors: false, nowMs: 0 })
    expect(text).toMatch(/^422 POST [^]*Rejected by admission: [^]*denied request: never\n/)
    expect(text).toMatch(/^policy +refusing-\d+$/m)
    await server().ok('DELETE', `${group()}/validatingadmissionpolicybindings/its-binding`)
  })

  it.each([
    ['that cannot be asked', { failurePolicy: 'Fail' }, 500, /failed calling webhook/],
    [
      'whose conditions fail',
      { matchConditions: [{ name: 'a', expression: 'object.nothing == 1' }] },
      403,
      /no such key: nothing/,
    ],
  ])('by a webhook %s name it', async (_what, more: Json, status, reason) => {
    const ns = await server().namespace()
    const { resourceRules: rules, namespaceSelector } = constraints(ns)
    names += 1
    const name = `refusing-${names}.example.com`
    await server().ok('POST', `${group()}/validatingwebhookconfigurations`, {
      body: {
        metadata: { name },
        webhooks: [
          {
            name,
            clientConfig: { url: 'https://127.0.0.1:1/' },
            rules,
            namespaceSelector,
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            ...more,
          },
        ],
      },
    })
    expect((await create(ns)).status).toBe(status)
    expect(await newest()).toMatchObject({
      status,
      reason: expect.stringMatching(reason) as unknown,
      admission: { plugin: 'ValidatingAdmissionWebhook', webhook: name },
    })
    await server().ok('DELETE', `${group()}/validatingwebhookconfigurations/${name}`)
  })

  it('what the registry or the decoder refuses is not among them', async () => {
    const ns = await server().namespace()
    const before = await newest()
    const path = `/api/v1/namespaces/${ns}/configmaps`
    const bad = await server().request('POST', path, { body: { metadata: { name: 'Not Valid' } } })
    expect(bad.status).toBe(422)
    expect((await server().request('POST', path, { body: '{' })).status).toBe(400)
    expect(await newest()).toEqual(before)
  })
})
