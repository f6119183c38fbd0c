/** Own writes in another form than JSON: written from the object, and taken from memory when the store shows them. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { parseFeatureGates } from '../../../components/api/feature-gates.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { createStoredForms } from '../../../components/api-server/registry/stored-forms.ts'
import {
  encodedObject,
  encodeForStore,
  storedObject,
} from '../../../components/api-server/watch-cache/object-bytes.ts'
import { OwnWrites } from '../../../components/api-server/watch-cache/own-writes.ts'
import { storeKey } from '../../../components/api-server/watch-cache/store-keys.ts'
import { WatchCache } from '../../../components/api-server/watch-cache/watch-cache.ts'
import { createMemoryStore } from '../../../components/store/memory-store.ts'
import { arbitraryObject } from '../../support/arbitrary-object.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const dialect = dialects.kubernetes
const resources = resourcesOf(dialect)
const forms = createStoredForms({
  resources,
  dialect,
  gates: parseFeatureGates('').gates,
  writesProtobuf: true,
  encryption: undefined,
  pathOf: (key) => key,
})
const kinds = resources.all.filter(
  ({ virtual, package: own, storageVersion }) => !virtual && own === storageVersion.package,
)
const creator = {
  manager: 'm"\u00e4',
  operation: 'Update',
  apiVersion: 'v1',
  subresource: '',
  time: '2024-01-02T03:04:05Z',
  fields: '{"f:metadata":{"f:labels":{".":{},"f:a/b":{}}},"f:x":{"k:{\\"port\\":80}":{}}}',
} as const

it.each(kinds.map((resource) => [`${resource.package}.${resource.kind}`, resource] as const))(
  '%s: the object gives the bytes that decoding its JSON gives, and an object that is read is stored as the same',
  (name, { storagePrefix, kind, storageVersion: { apiVersion } }) => {
    const form = forms.of(storagePrefix)!
    fc.assert(
      fc.property(arbitraryObject(name, { kind, apiVersion }), fc.boolean(), (object, isNew) => {
        if (isNew) delete object.metadata.managedFields
        const encoded = encodedObject(object, isNew ? creator : undefined)
        const stored = form.toStorage(encoded.bytes, 'k', () => storedObject(encoded))
        expect(stored.equals(form.toStorage(encoded.bytes, 'k'))).toBe(true)
        // Reading fills in defaults, so what has been read once is what a server writes.
        const once = form.fromStorage(stored, 'k')
        if (!once.ok) throw new Error(once.why)
        const again = form.fromStorage(form.toStorage(once.bytes, 'k'), 'k')
        expect(again).toMatchObject({ ok: true, isStale: false })
        if (!again.ok) throw new Error(again.why)
        expect(JSON.parse(String(again.bytes))).toEqual(JSON.parse(String(once.bytes)))
      }),
      { numRuns: 20 },
    )
  },
)

const { configMaps } = resources
const configMap = (value: string) => ({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name: 'a', namespace: 'n', uid: 'u' },
  data: { value },
})

it('a cache takes the JSON of an own write, and decodes what another server has stored', async () => {
  const store = createMemoryStore()
  let decoded = 0
  const form = forms.of(configMaps.storagePrefix)!
  const counting = {
    ...form,
    isLasting: true,
    toStorage: form.toStorage.bind(form),
    fromStorage: (stored: Buffer, key: string) => {
      decoded += 1
      return form.fromStorage(stored, key)
    },
  }
  const transformers = { of: () => counting, needsPreparing: false }
  const cache = new WatchCache({ store, clock: new FakeClock(), transformers })
  const stop = new AbortController()
  await cache.start(stop.signal)
  const key = storeKey(configMaps, 'n/a')
  let revision = 0
  const put = async (value: string, isOwn: boolean) => {
    const bytes = encodeForStore(configMap(value))
    const stored = form.toStorage(bytes, key)
    if (isOwn) cache.ownWrites.note(key, stored, bytes)
    const result = await store.txn({
      key,
      expectedRevision: revision,
      value: Buffer.from(stored),
    })
    if (!result.ok) throw new Error('lost')
    revision = result.revision
    await cache.applied(revision)
    return cache.get(configMaps, 'n', 'a')?.['data'] as unknown
  }
  expect(await put('own', true)).toEqual({ value: 'own' })
  expect(decoded).toBe(0)
  expect(await put('foreign', false)).toEqual({ value: 'foreign' })
  expect(decoded).toBe(1)
  stop.abort()
})

it('an own write is taken once, by its bytes, and the oldest are forgotten', () => {
  const writes = new OwnWrites()
  const bytes = Buffer.from('{}')
  writes.note('a', Buffer.from('1'), bytes)
  expect(writes.take('a', Buffer.from('2'))).toBeUndefined()
  expect(writes.take('b', Buffer.from('1'))).toBeUndefined()
  expect(writes.take('a', Buffer.from('1'))).toBe(bytes)
  expect(writes.take('a', Buffer.from('1'))).toBeUndefined()
  for (let at = 0; at < 600; at += 1) writes.note(`k${at}`, Buffer.from('1'), bytes)
  expect(writes.take('k0', Buffer.from('1'))).toBeUndefined()
  expect(writes.take('k599', Buffer.from('1'))).toBe(bytes)
  writes.note('large', Buffer.alloc(9 * 1024 * 1024), bytes)
  expect(writes.take('k598', Buffer.from('1'))).toBeUndefined()
})
