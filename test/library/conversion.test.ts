/** Conversion webhooks of a test's own process, called by the API server of a real cluster. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { StatusError, startCluster } from '../../library/index.ts'
import { builtOnce } from '../e2e/built.ts'
import type {
  Cluster,
  ConversionHandler,
  ConversionOptions,
  KubernetesObject,
  Snapshot,
  WatchEvent,
} from '../../library/index.ts'

const group = 'example.com'
const crd = `websites.${group}`
const [v1, v2] = [`${group}/v1`, `${group}/v2`]
const definition = { kind: 'CustomResourceDefinition', name: crd }

const text = { type: 'string' }
const schemaOf = (properties: object) => ({
  openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } },
})
/** v1 has a host and a port, v2 both in one text. */
const definitionWith = (storage: 'v1' | 'v2', more: object = {}): KubernetesObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: crd },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'websites', singular: 'website', kind: 'Website' },
    versions: [
      { name: 'v1', schema: schemaOf({ host: text, port: { type: 'integer' } }) },
      { name: 'v2', schema: schemaOf({ address: text }) },
    ].map((one) => ({ ...one, served: true, storage: one.name === storage })),
    ...more,
  },
})

const converted = (object: KubernetesObject, apiVersion: string): KubernetesObject => {
  const { host = '', port = 0, address = ':0' } = object['spec'] ?? {}
  const [name = '', number = ''] = String(address).split(':')
  const spec =
    apiVersion === v2 ? { address: `${host}:${port}` } : { host: name, port: Number(number) }
  return { ...object, apiVersion, spec }
}

let cluster: Cluster
let fresh: Snapshot
beforeAll(async () => {
  cluster = await startCluster({ nodes: 0, components: [], objects: [definitionWith('v1')] })
  fresh = await cluster.snapshot()
})
afterAll(async () => await cluster.stop())
beforeEach(async () => await cluster.restore(fresh))

const site = (apiVersion: string, name: string, spec: object): KubernetesObject => ({
  apiVersion,
  kind: 'Website',
  metadata: { name },
  spec,
})
const at = (apiVersion: string, name: string) => ({ apiVersion, kind: 'Website', name })
const specOf = async (apiVersion: string, name: string): Promise<unknown> =>
  (await cluster.admin.get(at(apiVersion, name)))['spec']
const convert = (handler: ConversionHandler, more: Partial<ConversionOptions> = {}) =>
  cluster.conversion({ crd, ...more }, handler)
const conversionNow = async (of = cluster) => {
  const { spec } = await of.admin.get(definition)
  return spec.conversion as {
    strategy: string
    webhook?: { clientConfig: { url: string }; conversionReviewVersions: string[] }
  }
}

describe('a conversion handler', () => {
  test('serves each object in both versions: created, read, listed, replaced, patched, applied', async () => {
    await using _ = await convert(converted)
    const { admin } = cluster
    await admin.create(site(v1, 'a', { host: 'a.org', port: 80 }))
    const made = await admin.create(site(v2, 'b', { address: 'b.org:81' }))
    expect(made).toMatchObject({ apiVersion: v2, spec: { address: 'b.org:81' } })
    expect(await specOf(v2, 'a')).toEqual({ address: 'a.org:80' })
    expect(await specOf(v1, 'b')).toEqual({ host: 'b.org', port: 81 })
    await admin.replace({ ...made, spec: { address: 'b.org:82' } })
    await admin.patch(at(v2, 'a'), { spec: { address: 'a.net:83' } }, { type: 'merge' })
    await admin.apply(site(v2, 'c', { address: 'c.org:84' }))
    const specs = async (apiVersion: string) =>
      (await admin.list({ apiVersion, kind: 'Website' })).map(({ spec }) => spec as unknown)
    expect(await specs(v1)).toEqual([
      { host: 'a.net', port: 83 },
      { host: 'b.org', port: 82 },
      { host: 'c.org', port: 84 },
    ])
    expect(await specs(v2)).toEqual([
      { address: 'a.net:83' },
      { address: 'b.org:82' },
      { address: 'c.org:84' },
    ])
  })

  test('gets each object with the desired version, and may change it in place and take its time', async () => {
    const asked: unknown[] = []
    await using _ = await convert(async (object, apiVersion) => {
      asked.push([object.apiVersion, object.metadata?.name, apiVersion])
      await Promise.resolve()
      return Object.assign(object, converted(object, apiVersion))
    })
    await cluster.admin.create(site(v1, 'a', { host: 'a.org', port: 80 }))
    expect(asked).toEqual([])
    await cluster.admin.get(at(v2, 'a'))
    expect(asked).toEqual([[v1, 'a', v2]])
  })

  test('is called from the first request on, whenever it is registered', async () => {
    await cluster.admin.create(site(v1, 'a', { host: 'a.org', port: 80 }))
    for (let round = 0; round < 20; round += 1) {
      await using _ = await convert((object, apiVersion) => ({
        ...object,
        apiVersion,
        spec: { address: `round ${round}` },
      }))
      expect(await specOf(v2, 'a')).toEqual({ address: `round ${round}` })
    }
  })

  test('converts the objects of watches, from before and from now on', async () => {
    await using _ = await convert(converted)
    const { admin } = cluster
    await admin.create(site(v1, 'a', { host: 'a.org', port: 80 }))
    const seen: string[] = []
    const stop = new AbortController()
    const show = ({ type, object }: WatchEvent) => `${type} ${object['spec'].address}`
    const watching = (async () => {
      const events = admin.watch({ apiVersion: v2, kind: 'Website' }, { signal: stop.signal })
      for await (const event of events) seen.push(show(event))
    })()
    await expect.poll(() => seen).toEqual(['ADDED a.org:80'])
    await admin.create(site(v1, 'b', { host: 'b.org', port: 81 }))
    await admin.patch(at(v1, 'a'), { spec: { port: 82 } }, { type: 'merge' })
    await admin.delete(at(v1, 'b'))
    const later = ['ADDED b.org:81', 'MODIFIED a.org:82', 'DELETED b.org:81']
    await expect.poll(() => seen).toEqual(['ADDED a.org:80', ...later])
    stop.abort()
    await watching
  })

  test('converts what is stored when the storage version changes', async () => {
    const { admin } = cluster
    const registration = await convert(converted)
    const old = await admin.create(site(v1, 'old', { host: 'old.org', port: 80 }))
    await cluster.apply(definitionWith('v2', { conversion: await conversionNow() }))
    await admin.create(site(v1, 'new', { host: 'new.org', port: 81 }))
    expect(await specOf(v2, 'old')).toEqual({ address: 'old.org:80' })
    await admin.replace(old)
    expect(await specOf(v1, 'old')).toEqual({ host: 'old.org', port: 80 })
    await registration.dispose()
    // Nothing converts any more: what is stored in v2 reads as it is.
    expect(await specOf(v2, 'old')).toEqual({ address: 'old.org:80' })
    expect(await specOf(v2, 'new')).toEqual({ address: 'new.org:81' })
  })

  test('gets the objects of a list in one review, in their order', async () => {
    const { admin } = cluster
    const names = Array.from(
      { length: 300 },
      (_, index) => `site-${String(index).padStart(3, '0')}`,
    )
    await Promise.all(names.map((name) => admin.create(site(v1, name, { host: name, port: 80 }))))
    const asked: unknown[] = []
    await using _ = await convert((object, apiVersion) => {
      asked.push(object.metadata?.name)
      return converted(object, apiVersion)
    })
    const listed = await admin.list({ apiVersion: v2, kind: 'Website' })
    expect(listed.map(({ spec }) => spec.address)).toEqual(names.map((name) => `${name}:80`))
    expect(asked).toEqual(names)
  })

  test.each(['v1', 'v1beta1'] as const)('speaks ConversionReview %s', async (version) => {
    await using _ = await convert(converted, { versions: [version] })
    await cluster.admin.create(site(v2, 'a', { address: 'a.org:80' }))
    expect(await specOf(v1, 'a')).toEqual({ host: 'a.org', port: 80 })
    expect((await conversionNow()).webhook?.conversionReviewVersions).toEqual([version])
  })

  test('may change labels and annotations; other metadata stays as it was', async () => {
    await using _ = await convert((object, apiVersion) => ({
      ...converted(object, apiVersion),
      metadata: { ...object.metadata, labels: { from: 'v1' }, finalizers: ['example.com/no'] },
    }))
    await cluster.admin.create(site(v1, 'a', { host: 'a.org', port: 80 }))
    const { metadata } = await cluster.admin.get(at(v2, 'a'))
    expect(metadata?.labels).toEqual({ from: 'v1' })
    expect(metadata?.['finalizers']).toBeUndefined()
  })
})

describe('a conversion that fails', () => {
  test('fails the request with the handler’s message, and the disposal with its error', async () => {
    const bug = new Error('host is not defined')
    const registration = await convert(() => {
      throw bug
    })
    await cluster.admin.create(site(v1, 'a', { host: 'a.org', port: 80 }))
    await expect(cluster.admin.get(at(v2, 'a'))).rejects.toThrow(
      `conversion webhook for ${v1}, Kind=Website failed: host is not defined`,
    )
    expect(await specOf(v1, 'a')).toEqual({ host: 'a.org', port: 80 })
    await expect(registration.dispose()).rejects.toBe(bug)
    expect(await conversionNow()).toEqual({ strategy: 'None' })
  })

  test('fails the whole list for one object', async () => {
    const registration = await convert((object, apiVersion) => {
      if (object.metadata?.name === 'b') throw new Error('b has no host')
      return converted(object, apiVersion)
    })
    for (const name of ['a', 'b', 'c'])
      await cluster.admin.create(site(v1, name, { host: name, port: 80 }))
    const listing = cluster.admin.list({ apiVersion: v2, kind: 'Website' })
    await expect(listing).rejects.toThrow('b has no host')
    await expect(registration.dispose()).rejects.toThrow('b has no host')
  })

  const what = 'the conversion of Website default/a to example.com/v2'
  test.each<[string, ConversionHandler, string]>([
    ['nothing', () => undefined as never, `${what} gave nothing: return the converted object`],
    ['a text', () => 'a' as never, `${what} gave "a": return the converted object`],
    [
      'the earlier version',
      (object) => object,
      `${what} gave apiVersion "example.com/v1": set it to the handler's second argument`,
    ],
    [
      'another kind',
      (object, apiVersion) => ({ ...object, apiVersion, kind: 'Page' }),
      `${what} changed kind to "Page": leave it as it is`,
    ],
    [
      'another name',
      (object, apiVersion) => {
        Object.assign(object.metadata ?? {}, { name: 'b' })
        return { ...object, apiVersion }
      },
      `${what} changed metadata.name to "b": leave it as it is`,
    ],
    [
      'another namespace',
      (object, apiVersion) => ({
        ...object,
        apiVersion,
        metadata: { ...object.metadata, namespace: 'shop' },
      }),
      `${what} changed metadata.namespace to "shop": leave it as it is`,
    ],
    [
      'no metadata',
      ({ kind, spec }, apiVersion) => ({ apiVersion, kind: kind ?? '', spec }),
      `${what} changed metadata.name to "": leave it as it is`,
    ],
  ])('says what is wrong with an object: %s', async (_, handler, message) => {
    const registration = await convert(handler)
    await cluster.admin.create(site(v1, 'a', { host: 'a.org', port: 80 }))
    await expect(cluster.admin.get(at(v2, 'a'))).rejects.toThrow(message)
    await expect(registration.dispose()).rejects.toThrow(message)
  })
})

describe('the conversion of a definition', () => {
  test('is what it was before, once the handler is disposed of, and its server is gone', async () => {
    const earlier = {
      strategy: 'Webhook',
      webhook: {
        clientConfig: { url: 'https://127.0.0.1:1/convert' },
        conversionReviewVersions: ['v1beta1'],
      },
    }
    const patch = { spec: { conversion: earlier } }
    await cluster.admin.patch(definition, patch, { type: 'merge' })
    const registration = await convert(converted)
    const { webhook } = await conversionNow()
    const url = webhook?.clientConfig.url ?? ''
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/convert$/)
    await registration.dispose()
    await registration.dispose()
    expect(await conversionNow()).toEqual(earlier)
    await expect(fetch(url)).rejects.toThrow('fetch failed')
  })

  test('stays as it is when something else has been set meanwhile, and a definition may be gone', async () => {
    const first = await convert(converted)
    const other = { strategy: 'None', webhook: null }
    await cluster.admin.patch(definition, { spec: { conversion: other } }, { type: 'merge' })
    await first.dispose()
    expect(await conversionNow()).toEqual({ strategy: 'None' })
    const second = await convert(converted)
    await cluster.admin.delete(definition)
    await second.dispose()
  })

  test('has one handler at a time', async () => {
    const first = await convert(converted)
    await expect(convert(converted)).rejects.toThrow(
      `conversion: a handler converts ${crd} already: dispose of that one first`,
    )
    await first.dispose()
    await using _ = await convert(converted)
  })

  test('cannot be changed where there is no such definition, and nothing is left', async () => {
    const servers = (): number =>
      process.getActiveResourcesInfo().filter((one) => one === 'TCPServerWrap').length
    await expect.poll(servers).toBe(0)
    const missing = cluster.conversion({ crd: 'pages.example.com' }, converted)
    await expect(missing).rejects.toBeInstanceOf(StatusError)
    await expect(cluster.conversion({ crd: 'pages.example.com' }, converted)).rejects.toThrow(
      'customresourcedefinitions.apiextensions.k8s.io "pages.example.com" not found',
    )
    await expect.poll(servers).toBe(0)
  })
})

describe('other forms of a cluster', () => {
  test('a fork holds the conversion, and may have one of its own', async () => {
    await using _ = await convert(converted)
    await cluster.admin.create(site(v1, 'a', { host: 'a.org', port: 80 }))
    await using fork = await cluster.fork()
    const read = async () => (await fork.admin.get(at(v2, 'a')))['spec'] as unknown
    expect(await read()).toEqual({ address: 'a.org:80' })
    const own = await fork.conversion({ crd }, (object, apiVersion) => ({
      ...object,
      apiVersion,
      spec: { address: 'of the fork' },
    }))
    expect(await read()).toEqual({ address: 'of the fork' })
    expect(await specOf(v2, 'a')).toEqual({ address: 'a.org:80' })
    await own.dispose()
    expect(await read()).toEqual({ address: 'a.org:80' })
  })

  test('a snapshot from before has no conversion; a disposal leaves it alone', async () => {
    using snapshot = await cluster.snapshot()
    const registration = await convert(converted)
    await cluster.restore(snapshot)
    expect(await conversionNow()).toEqual({ strategy: 'None' })
    await registration.dispose()
    expect(await conversionNow()).toEqual({ strategy: 'None' })
  })

  test('it ends with its cluster, which rejects with what the handler threw', async () => {
    const other = await startCluster({ nodes: 0, components: [], objects: [definitionWith('v1')] })
    await other.conversion({ crd }, () => {
      throw new Error('a bug')
    })
    const creating = other.admin.create(site(v2, 'a', { address: 'a.org:80' }))
    await expect(creating).rejects.toThrow('a bug')
    await expect(other.stop()).rejects.toThrow('a bug')
  })

  test('a cluster of processes converts through it, too', async () => {
    await builtOnce()
    await using other = await startCluster({
      form: 'processes',
      nodes: 0,
      components: [],
      objects: [definitionWith('v1')],
    })
    await using _ = await other.conversion({ crd }, converted)
    await other.admin.create(site(v2, 'a', { address: 'a.org:80' }))
    const read = await other.admin.get(at(v1, 'a'))
    expect(read['spec']).toEqual({ host: 'a.org', port: 80 })
  })
})
