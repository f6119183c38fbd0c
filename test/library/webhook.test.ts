/** Webhooks of a test's own process, called by a real API server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { privateKeyPem } from '../../certs/keys.ts'
import type {
  AdmissionHandler,
  AdmissionRequest,
  ObjectClient,
  WebhookOptions,
} from '../../library/types.ts'
import type { ServedCluster } from '../../library/handler-server.ts'
import { serveWebhook } from '../../library/webhook.ts'
import { startApiServer, user, type TestApiServer } from '../support/api-server.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { clientOf } from './support/clients.ts'

function hostOf({ pki, dialect }: TestApiServer): ServedCluster {
  const { certificatePem, privateKey } = pki.authority
  return { authority: { certificatePem, privateKeyPem: privateKeyPem(privateKey) }, dialect }
}

let server: TestApiServer
let client: ObjectClient
let host: ServedCluster
beforeAll(async () => {
  server = await startApiServer()
  client = clientOf(server)
  host = hostOf(server)
})
afterAll(async () => {
  client.close()
  await server[Symbol.asyncDispose]()
})

const configMaps: WebhookOptions['rules'] = [
  { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['*'] },
]
const options = (more: Partial<WebhookOptions> = {}): WebhookOptions => ({
  name: 'maps.example.com',
  kind: 'validating',
  rules: configMaps,
  ...more,
})
const serve = (handler: AdmissionHandler, more: Partial<WebhookOptions> = {}) =>
  serveWebhook(client, host, options(more), handler)

let count = 0
const map = (data: Record<string, string> = {}) => {
  count += 1
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `map-${count}` }, data }
}
const configurations = async (kind: 'Validating' | 'Mutating') =>
  await client.list({ kind: `${kind}WebhookConfiguration` })

describe('a validating webhook', () => {
  test('is asked about each request that its rules match, as soon as it is there', async () => {
    const asked: AdmissionRequest[] = []
    await using _ = await serve((request) => void asked.push(request))
    const made = await client.create(map({ color: 'red' }))
    await client.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `of-${made.metadata.name}` },
    })
    expect(asked).toMatchObject([
      {
        operation: 'CREATE',
        namespace: 'default',
        name: made.metadata.name,
        object: { data: { color: 'red' } },
        oldObject: null,
        userInfo: { username: 'admin' },
        dryRun: false,
      },
    ])
  })

  test('rejects a request with the handler’s message and code', async () => {
    await using _ = await serve(async () => {
      await Promise.resolve()
      return { allowed: false, message: 'every map needs an owner', code: 418 }
    })
    await expect(client.create(map())).rejects.toMatchObject({
      code: 418,
      message: 'admission webhook "maps.example.com" denied the request: every map needs an owner',
    })
  })

  test('gives warnings', async () => {
    await using _ = await serve(() => ({ warnings: ['maps are old-fashioned'] }))
    const path = '/api/v1/namespaces/default/configmaps'
    const { headers } = await server.request('POST', path, { body: map() })
    expect(headers['warning']).toContain('maps are old-fashioned')
  })

  test('that changes the object fails the request, and says which kind it would have to be', async () => {
    const hook = await serve(({ object }) => ({ object: { ...object, data: {} } }))
    await expect(client.create(map({ a: '1' }))).rejects.toThrow(/use kind mutating/)
    await expect(hook.dispose()).rejects.toThrow(/use kind mutating/)
  })

  test('leaves only its own entry in the configuration, and nothing when it is disposed of', async () => {
    const hook = await serve(() => undefined, { failurePolicy: 'Ignore', timeoutSeconds: 3 })
    const [configuration] = await configurations('Validating')
    expect(configuration).toMatchObject({
      metadata: { name: 'maps.example.com' },
      webhooks: [{ name: 'maps.example.com', failurePolicy: 'Ignore', timeoutSeconds: 3 }],
    })
    const { url } = configuration?.['webhooks'][0].clientConfig as { url: string }
    await hook.dispose()
    expect(await configurations('Validating')).toEqual([])
    await expect(fetch(url)).rejects.toThrow('fetch failed')
    await client.create(map())
  })
})

test('a configuration that is another one by now stays when a webhook is disposed of', async () => {
  const hook = await serve(() => undefined)
  const [own] = await configurations('Validating')
  await client.replace({ ...own, webhooks: [] })
  await hook.dispose()
  expect(await configurations('Validating')).toMatchObject([{ metadata: { name: options().name } }])
  await client.delete({ kind: 'ValidatingWebhookConfiguration', name: options().name })
})

describe('a mutating webhook', () => {
  const mutating = { kind: 'mutating' } as const

  const note = { 'example.com/color': 'red' }
  test.each<[string, AdmissionHandler]>([
    [
      'the object, changed in place',
      ({ object }) => {
        Object.assign(object?.metadata ?? {}, { annotations: note })
        return { object: object ?? {} }
      },
    ],
    [
      'another object',
      ({ object }) => ({
        object: { ...object, metadata: { ...object?.metadata, annotations: note } },
      }),
    ],
    [
      'a JSON patch',
      () => ({
        patch: [
          { op: 'add', path: '/metadata/annotations', value: {} },
          { op: 'add', path: '/metadata/annotations/example.com~1color', value: 'red' },
        ],
      }),
    ],
  ])('changes what is stored: %s', async (_, handler) => {
    await using hook = await serve(handler, mutating)
    expect(hook).toBeDefined()
    const stored = await client.create(map({ size: 'large' }))
    expect(stored).toMatchObject({ metadata: { annotations: note }, data: { size: 'large' } })
  })

  test('removes and replaces fields of the object', async () => {
    await using _ = await serve(
      ({ object }) => ({ object: { ...object, data: { color: 'blue', size: undefined } } }),
      mutating,
    )
    const stored = await client.create(map({ color: 'red', size: 'large', shape: 'round' }))
    expect(stored.data).toEqual({ color: 'blue' })
  })

  test('that answers with object and patch fails the request', async () => {
    const hook = await serve(({ object }) => ({ object: object ?? {}, patch: [] }), mutating)
    await expect(client.create(map())).rejects.toThrow(/give one of them/)
    await expect(hook.dispose()).rejects.toThrow(/give one of them/)
  })
})

describe('a handler that throws', () => {
  test('fails the request with its message, and the disposal with its error', async () => {
    const bug = new Error('owner is not defined')
    const hook = await serve(() => {
      throw bug
    })
    await expect(client.create(map())).rejects.toThrow(
      /failed calling webhook "maps.example.com".*owner is not defined/,
    )
    await expect(hook.dispose()).rejects.toBe(bug)
    expect(await configurations('Validating')).toEqual([])
  })

  test('admits the request when failures are ignored; its errors are not', async () => {
    const hook = await serve(
      () => {
        throw new Error('a bug')
      },
      { failurePolicy: 'Ignore' },
    )
    await client.create(map())
    await client.create(map())
    await expect(hook.dispose()).rejects.toThrow('failed 2 times, first: a bug')
  })
})

describe('a webhook that cannot be registered', () => {
  test('leaves no server and no configuration', async () => {
    const stranger = clientOf(server, user('stranger'))
    await expect(serveWebhook(stranger, host, options(), () => undefined)).rejects.toThrow(
      /cannot create resource/,
    )
    stranger.close()
    await using _ = await serve(() => undefined)
    await expect(serve(() => undefined)).rejects.toThrow(/already exists/)
    expect(await configurations('Validating')).toHaveLength(1)
  })

  test('says why the API server does not call it, and takes the configuration back', async () => {
    const flags = ['--disable-admission-plugins=ValidatingAdmissionWebhook']
    await using other = await startApiServer({ flags })
    const clock = new FakeClock()
    const lonely = clientOf(other)
    const at = { ...hostOf(other), networkClock: clock }
    const result = serveWebhook(lonely, at, options(), () => undefined)
    const seen = expect(result).rejects.toThrow(
      /the API server does not call the webhook at https:\/\/127\.0\.0\.1:\d+: it accepted a request without a call/,
    )
    let isOver = false
    void result.catch(() => {}).finally(() => (isOver = true))
    while (!isOver) await clock.step(1000)
    await seen
    expect(await lonely.list({ kind: 'ValidatingWebhookConfiguration' })).toEqual([])
    lonely.close()
  })
})

test('webhooks of two clusters on one machine do not meet', async () => {
  await using other = await startApiServer()
  const theirs = clientOf(other)
  const asked: string[] = []
  const at = (name: string, of: ServedCluster, by: ObjectClient) =>
    serveWebhook(by, of, options(), () => void asked.push(name))
  await using one = await at('one', host, client)
  await using two = await at('two', hostOf(other), theirs)
  expect([one, two]).toHaveLength(2)
  await theirs.create(map())
  await client.create(map())
  expect(asked).toEqual(['two', 'one'])
  theirs.close()
})
