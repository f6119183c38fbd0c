/** Admission webhooks that fail: by what they answer, or by not answering. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { storeKey } from '../../../components/api-server/watch-cache/store-keys.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import {
  configureWebhooks,
  startAdmissionRemote,
  type AdmissionRemote,
} from '../../support/admission-remote.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const body = (name: string, more: object = {}) => ({ metadata: { name }, ...more })

let remote: AdmissionRemote
beforeAll(async () => {
  remote = await startAdmissionRemote()
})
afterAll(async () => {
  await remote[Symbol.asyncDispose]()
})

describe('calls that fail', () => {
  let server: TestApiServer
  beforeAll(async () => {
    server = await startApiServer()
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })
  const failure = async (more: object, respond?: AdmissionRemote['respond']): Promise<string> => {
    let shown = ''
    await remote.during(server, { validating: [remote.webhook('v.x.io', more)] }, async (at) => {
      if (respond !== undefined) remote.respond = respond
      const { status, body: answer } = await server.request('POST', at.maps, { body: body('a') })
      shown = `${status} ${String(answer.message ?? '')}`
    })
    return shown
  }
  const failed = '500 Internal error occurred: failed calling webhook "v.x.io": '
  const nowhere = { clientConfig: { url: 'https://127.0.0.1:1/x' } }

  it('refuse the request by the policy Fail, and let it pass by Ignore', async () => {
    expect(await failure(nowhere)).toBe(
      `${failed}failed to call webhook: Post "https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused`,
    )
    expect(await failure({ ...nowhere, failurePolicy: 'Ignore' })).toBe('201 ')
    const { text } = await server.request('GET', '/metrics')
    expect(text).toContain(
      'apiserver_admission_webhook_fail_open_count{name="v.x.io",type="validating"} 1',
    )
    expect(text).toContain(
      'apiserver_admission_webhook_rejection_count{name="v.x.io",type="validating",operation="CREATE",error_type="calling_webhook_error",rejection_code="0"} 1',
    )
  })

  it('are those to strangers, to what is no review, and to answers for another request', async () => {
    const clientConfig = { url: remote.remote.url }
    expect(await failure({ clientConfig })).toMatch(
      /tls: failed to verify certificate: x509: certificate signed by unknown authority$/,
    )
    expect(await failure({}, () => ({ raw: { code: 404 } }))).toBe(
      `${failed}failed to call webhook: the server could not find the requested resource`,
    )
    expect(await failure({}, () => ({ raw: { code: 500 } }))).toBe(
      `${failed}failed to call webhook: an error on the server ("unknown") has prevented the request from succeeding`,
    )
    expect(await failure({}, () => ({ raw: { body: { apiVersion: 'x', kind: 'y' } } }))).toBe(
      `${failed}received invalid webhook response: webhook response was absent`,
    )
    const apiVersion = 'admission.k8s.io/v1'
    const other = { apiVersion, kind: 'AdmissionReview', response: { uid: 'other', allowed: true } }
    expect(await failure({}, () => ({ raw: { body: other } }))).toMatch(
      /received invalid webhook response: expected response.uid="[^"]+", got "other"$/,
    )
  })

  it('answers of any shape leave the server standing, and the client with a Status', async () => {
    const deep = JSON.parse(`${'['.repeat(900)}${']'.repeat(900)}`) as unknown
    const patch = (...operations: unknown[]) => ({
      allowed: true,
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
    })
    const responses: unknown[] = [
      null,
      [],
      'yes',
      deep,
      { allowed: 'yes' },
      { allowed: false, status: { code: 1e9, message: 5, reason: [], details: 'x' } },
      { allowed: false, status: 'no' },
      { allowed: true, warnings: [5, null, 'a\r\nb: c', '\u{1f600}'], auditAnnotations: [1] },
      { allowed: true, auditAnnotations: { ['__proto__']: 'x', 'a/b/c': 'y' } },
      { allowed: true, patch: '%%%', patchType: 'JSONPatch' },
      { allowed: true, patch: 7, patchType: 'JSONPatch' },
      { allowed: true, patch: 'bnVsbA==', patchType: 'JSONPatch' },
      patch(null),
      patch({ op: 'replace', path: '', value: 5 }),
      patch({ op: 'replace', path: '', value: null }),
      patch({ op: 'remove', path: '/metadata' }),
      patch({ op: 'replace', path: '/metadata/name', value: 'other/name' }),
      patch({ op: 'replace', path: '/metadata/namespace', value: 'kube-system' }),
      patch({ op: 'add', path: '/__proto__/polluted', value: true }),
      patch({ op: 'add', path: '/data/x', value: deep }),
      patch({ op: 'copy', from: '', path: '/data/x' }),
    ]
    const mutating = [remote.webhook('m.x.io')]
    await remote.during(
      server,
      { mutating, validating: [remote.webhook('v.x.io')] },
      async (at) => {
        for (const response of responses) {
          remote.respond = ({ uid }) => ({
            raw: {
              body: {
                apiVersion: 'admission.k8s.io/v1',
                kind: 'AdmissionReview',
                response:
                  typeof response === 'object' && response !== null && !Array.isArray(response)
                    ? { uid: uid as unknown, ...response }
                    : response,
              },
            },
          })
          const reply = await server.request('POST', at.maps, {
            body: { metadata: { generateName: 'a-' }, data: { x: '1' } },
          })
          const shown = `${JSON.stringify(response).slice(0, 100)} ${reply.text}`
          expect(reply.status, shown).toBeLessThan(600)
          expect(['Status', 'ConfigMap'], shown).toContain(reply.body.kind)
          if (reply.status === 500)
            expect(reply.body.message, shown).toMatch(/^Internal error occurred: ./)
        }
      },
    )
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect(server.faults).toEqual([])
  })

  it('do not keep the server from starting again', async () => {
    await using stored = await startApiServer({ store: 'sqlite' })
    const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }]
    await configureWebhooks(stored, 'Validating', [remote.webhook('v.x.io', { ...nowhere, rules })])
    await stored.restartWith(async (store) => {
      const prefix = storeKey(resourcesOf(stored.dialect).clusterRoles, '')
      const { kvs } = await store.range({ prefix })
      expect(kvs.length).toBeGreaterThan(50)
      for (const { key, modRevision } of kvs) {
        await store.txn({ key, expectedRevision: modRevision, value: null })
      }
    })
    expect((await stored.request('GET', '/readyz')).status).toBe(200)
    expect((await stored.request('POST', '/api/v1/namespaces', { body: body('x') })).status).toBe(
      500,
    )
  })

  it('webhooks of the beta version are asked in it, and need not repeat the uid', async () => {
    const admissionReviewVersions = ['v1beta1', 'v1']
    const answer = { response: { allowed: true } }
    expect(await failure({ admissionReviewVersions }, () => ({ raw: { body: answer } }))).toBe(
      '201 ',
    )
    expect(remote.remote.asked.at(-1)?.apiVersion).toBe('admission.k8s.io/v1beta1')
  })

  it('a Service is called at its endpoints, by the name of the Service', async () => {
    const service = { namespace: 'default', name: 'hook', path: '/check' }
    const clientConfig = { service, caBundle: remote.remote.caBundle }
    const post = `${failed}failed to call webhook: Post "https://hook.default.svc:443/check?timeout=10s": `
    expect(await failure({ clientConfig })).toBe(`${post}service "hook" not found`)
    const { port } = new URL(remote.remote.url)
    await server.ok('POST', '/api/v1/namespaces/default/services', {
      body: body('hook', { spec: { type: 'ExternalName', externalName: 'localhost' } }),
    })
    // The certificate is not one for the Service's name.
    const at = { service: { ...service, port: Number(port) }, caBundle: remote.remote.caBundle }
    expect(await failure({ clientConfig: at })).toMatch(/x509: .*hook\.default\.svc/)
  })

  it('are given up after their time, without a second attempt', async () => {
    const clock = new FakeClock(Date.now())
    await using other = await startApiServer({ clock })
    const before = remote.asked().length
    await remote.during(
      other,
      { validating: [remote.webhook('v.x.io', { timeoutSeconds: 3 })] },
      async (at) => {
        remote.respond = () => ({ raw: 'silence' })
        const asking = other.request('POST', at.maps, { body: body('a') })
        await eventually(() => expect(remote.asked()).toHaveLength(before + 1))
        await clock.step(3_100)
        const { status, body: answer } = await asking
        expect([status, answer.message]).toEqual([
          500,
          `Internal error occurred: failed calling webhook "v.x.io": failed to call webhook: Post "${remote.remote.url}/v.x.io?timeout=3s": context deadline exceeded`,
        ])
        expect(remote.asked()).toHaveLength(before + 1)
      },
    )
  })
})
