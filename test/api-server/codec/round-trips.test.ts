/** Random objects of every built-in kind, stored and shown: each form of an answer, alone, in a list and in a watch, says the same. */
import fc from 'fast-check'
import { load } from 'js-yaml'
import { afterAll, expect, it } from 'vitest'
import { schemaOf } from '../../../components/api/schemas.ts'
import { objectKindOf } from '../../../components/api/object-kind.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { YamlBodies } from '../../../components/api-server/encoding/yaml-bodies.ts'
import { cbor } from '../../../components/api-server/encoding/cbor-form.ts'
import {
  jsonForm,
  prettyForm,
  storedForm,
} from '../../../components/api-server/encoding/json-form.ts'
import { protobufForm } from '../../../components/api-server/encoding/protobuf-form.ts'
import { objectView } from '../../../components/api-server/encoding/view.ts'
import { yamlForm } from '../../../components/api-server/encoding/yaml-form.ts'
import type { Form, Shown } from '../../../components/api-server/encoding/form.ts'
import { Deliveries } from '../../../components/api-server/watch-cache/deliveries.ts'
import { encodeForStore } from '../../../components/api-server/watch-cache/object-bytes.ts'
import { storeKey } from '../../../components/api-server/watch-cache/store-keys.ts'
import { WatchCache } from '../../../components/api-server/watch-cache/watch-cache.ts'
import { Watcher } from '../../../components/api-server/watch-cache/watcher.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { decode } from '../../../components/machinery/schema/decode.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { readProtobuf } from '../../../components/machinery/protobuf/protobuf-reader.ts'
import { apiVersionOf, type Resource } from '../../../components/machinery/objects/resource.ts'
import { createMemoryStore } from '../../../components/store/memory-store.ts'
import { arbitraryObject } from '../../support/arbitrary-object.ts'
import { withoutInnerTypes } from '../../support/representations.ts'
import {
  cborItems,
  envelopeOf,
  fieldsOf,
  framesOf,
  protobufEvent,
} from '../../support/binary-forms.ts'

const runs = 40
const yaml = new YamlBodies(systemClock)
afterAll(() => yaml.close())

function isStoredForm(resource: Resource): boolean {
  return resource.package === resource.storageVersion.package
}

/** How a client of a form reads it. */
interface Reader {
  readonly form: Form
  one(bytes: Buffer): unknown
  items(bytes: Buffer): unknown[]
  events(bytes: Buffer): { type: string; object: unknown }[]
}

function readersOf(resource: Resource): Reader[] {
  const view = objectView(resource)
  const schema = schemaOf(`${resource.package}.${resource.kind}`)
  const { kind } = resource
  const apiVersion = apiVersionOf(resource)
  const typed = (item: unknown): unknown => ({ kind, apiVersion, ...(item as object) })
  const fromMessage = (raw: Buffer): unknown =>
    typed(decode(readProtobuf(schema, raw), schema).object)
  const json = (form: Form): Reader => ({
    form,
    one: (bytes) => JSON.parse(bytes.toString()),
    items: (bytes) => JSON.parse(bytes.toString()).items.map(typed),
    events: (bytes) =>
      bytes
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
  })
  const { form: cborForm } = cbor
  return [
    ...(isStoredForm(resource) ? [json(storedForm(resource))] : []),
    json(jsonForm(view)),
    json(prettyForm(view)),
    {
      form: yamlForm(view, jsonForm(view), yaml),
      one: (bytes) => load(bytes.toString()),
      items: (bytes) => (load(bytes.toString()) as { items: unknown[] }).items.map(typed),
      events: () => [],
    },
    {
      form: protobufForm(view, schema, 'application/x'),
      one: (bytes) => fromMessage(envelopeOf(bytes).raw),
      items: (bytes) =>
        (fieldsOf(envelopeOf(bytes).raw).get(2) ?? []).map((raw) => fromMessage(raw as Buffer)),
      events: (bytes) =>
        framesOf(bytes)
          .frames.map(protobufEvent)
          .map(({ type, object }) => ({ type, object: fromMessage(object.raw) })),
    },
    {
      form: cborForm(view),
      one: (bytes) => cborItems(bytes)[0],
      items: (bytes) => (cborItems(bytes)[0] as { items: unknown[] }).items.map(typed),
      events: (bytes) => cborItems(bytes) as { type: string; object: unknown }[],
    },
  ]
}

async function listOf(form: Form, shown: readonly Shown[]): Promise<Buffer> {
  const list = form.list({ resourceVersion: '1' }, shown)
  return Buffer.concat(Symbol.asyncIterator in list ? await Array.fromAsync(list) : [...list])
}

/** Stores objects as a server does, and follows the store as its cache does. */
async function stored(resource: Resource, objects: readonly KubeObject[]) {
  const store = createMemoryStore()
  const cache = new WatchCache({ store, clock: systemClock })
  const stopping = new AbortController()
  const { run } = await cache.start(stopping.signal)
  const watchers = readersOf(resource).map((reader) => {
    const watcher = new Watcher({
      keyPrefix: '',
      exactKey: false,
      matches: undefined,
      form: reader.form.name,
      encode: (type, entry) => reader.form.frame(type, entry),
      takeFirst: () => undefined,
      deliveries: new Deliveries(),
      maxQueuedBytes: 2 ** 30,
    })
    if (reader.form.streamType !== undefined) cache.collection(resource).attach(watcher, 0)
    return { reader, watcher }
  })
  let revision = 0
  for (const [index, object] of objects.entries()) {
    const result = await store.txn({
      key: storeKey(resource, `n${String(index).padStart(3, '0')}`),
      expectedRevision: 0,
      value: encodeForStore(object),
    })
    if (!result.ok) throw new Error('the key was there')
    revision = result.revision
  }
  await cache.applied(revision)
  stopping.abort()
  await run.catch(() => {})
  const entries = [...cache.collection(resource).snapshot(revision).entries('')]
  await store.close()
  return { entries, watchers }
}

const kinds = resourcesOf(dialects.kubernetes).all.filter((resource) => !resource.virtual)

it('there are kinds to try', () => {
  expect(kinds.length).toBeGreaterThan(70)
})

it.each(kinds.map((resource) => [`${resource.package}.${resource.kind}`, resource] as const))(
  '%s survives every form, store, list and watch',
  async (name, resource) => {
    const { package: packageName, apiVersion } = resource.storageVersion
    const inStore = `${packageName}.${resource.kind}`
    await fc.assert(
      fc.asyncProperty(
        fc.array(arbitraryObject(inStore, { kind: resource.kind, apiVersion }), {
          minLength: 1,
          maxLength: 3,
        }),
        async (sent) => {
          const { entries, watchers } = await stored(resource, sent)
          const kept = sent.map((object, index) => ({
            ...object,
            metadata: { ...object.metadata, resourceVersion: String(entries[index]?.revision) },
          }))
          expect(entries.map((entry) => entry.object())).toEqual(kept)
          const wanted = entries.map((entry) => objectKindOf(resource).fromStored(entry.object()))
          for (const { reader, watcher } of watchers) {
            const isProtobuf = reader.form.name.startsWith('protobuf')
            const expected = isProtobuf ? wanted.map(withoutInnerTypes) : wanted
            const of = `${name} ${reader.form.name}`
            const alone = await Promise.all(entries.map((entry) => reader.form.one(entry)))
            expect(
              alone.map((bytes) => reader.one(bytes)),
              of,
            ).toEqual(expected)
            expect(reader.items(await listOf(reader.form, entries)), of).toEqual(expected)
            if (reader.form.streamType === undefined) continue
            const events = reader.events(Buffer.concat(watcher.take()))
            expect(events, of).toEqual(expected.map((object) => ({ type: 'ADDED', object })))
          }
        },
      ),
      { numRuns: runs },
    )
  },
)
