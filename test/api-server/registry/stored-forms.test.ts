/**
 * Objects as upstream's libraries store them, recorded by test/clients/fixtures/upstream-storage/record (k8s.io/api v0.32.3): one of
 * every built-in kind with a value in every field.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { parseFeatureGates } from '../../../components/api/feature-gates.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { strategyOf } from '../../../components/api-server/registry/strategies.ts'
import { createStoredForms } from '../../../components/api-server/registry/stored-forms.ts'
import { Entry } from '../../../components/api-server/watch-cache/entry.ts'
import { encodeForStore } from '../../../components/api-server/watch-cache/object-bytes.ts'
import { splitStoreKey } from '../../../components/api-server/watch-cache/store-keys.ts'
import { readStored } from '../../../components/api-server/watch-cache/stored-object.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'

interface Recorded {
  readonly folder: string
  /** Base64. */
  readonly stored: string
  readonly shown: KubeObject
}

const fixture = join(import.meta.dirname, 'fixtures/upstream-objects.jsonl.gz')
const recorded = gunzipSync(readFileSync(fixture))
  .toString()
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded)

const embedsJson = new Set([
  'controllerrevisions',
  'deviceclasses',
  'resourceclaims',
  'resourceclaimtemplates',
])

const dialect = dialects.kubernetes
const { gates } = parseFeatureGates('')
const resources = resourcesOf(dialect)

function formsOf(writesProtobuf: boolean) {
  return createStoredForms({
    resources,
    dialect,
    gates,
    writesProtobuf,
    encryption: undefined,
    pathOf: (key) => key,
  })
}

function withRevision(object: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: '7' } }
}

/** As a server that reads it from its store shows it: deprecated fields say what the ones in their place say. */
function defaulted(folder: string, object: KubeObject): KubeObject {
  const { prefix } = splitStoreKey(`/registry/${folder}/a`)!
  const resource = resources.all.find(
    ({ storagePrefix, package: own, storageVersion }) =>
      storagePrefix === prefix && own === storageVersion.package,
  )!
  const draft = structuredClone(object)
  strategyOf(resource).applyDefaults?.(draft, { resource, dialect, gates })
  return withRevision(draft)
}

/** How the server reads the bytes, and what it would store of that. */
function readAndStored(key: string, stored: Buffer, writesProtobuf: boolean) {
  const { prefix, key: name } = splitStoreKey(key)!
  const transformer = formsOf(writesProtobuf).of(prefix)!
  let isStale = false
  const entry = readStored({ key, value: stored, createRevision: 1, modRevision: 7 }, name, {
    transformer,
    upgrade: (bytes) => bytes,
    onStale: () => {
      isStale = true
    },
  })
  if (!(entry instanceof Entry)) return entry
  const object = entry.object()
  return { object, isStale, stored: transformer.toStorage(encodeForStore(object), key) }
}

it('there is one of every built-in kind that upstream stores as protobuf', () => {
  const kinds = resources.all.filter(
    ({ virtual, package: own }) => !virtual && !/^(apiextensions|apiregistration)\//.test(own),
  )
  const prefixes = new Set(kinds.map(({ storagePrefix }) => storagePrefix))
  const found = recorded.map(({ folder }) => splitStoreKey(`/registry/${folder}/some/filled`))
  expect(found.map((place) => place?.prefix).toSorted()).toEqual([...prefixes].toSorted())
})

describe.each(recorded.map((one) => [one.folder, one] as const))('%s', (folder, one) => {
  const key = `/registry/${folder}/some/filled`
  const stored = Buffer.from(one.stored, 'base64')
  const shown = defaulted(folder, one.shown)
  // Embedded JSON is stored as Go's encoder writes it, which escapes `<`.
  const staysTheSame = isDeepStrictEqual(shown, withRevision(one.shown)) && !embedsJson.has(folder)

  it('is read with its defaults, and stored again as the same bytes', () => {
    const read = readAndStored(key, stored, true)
    expect(read).toMatchObject({ object: shown, isStale: false })
    expect(read).toHaveProperty('object', shown)
    if (!('stored' in read)) throw new Error('it is not read')
    if (staysTheSame) expect(read.stored.equals(stored)).toBe(true)
    else expect(readAndStored(key, read.stored, true)).toMatchObject({ object: shown })
  })

  it('is read by a server that stores JSON, which is stale until it is written', () => {
    const read = readAndStored(key, stored, false)
    expect(read).toMatchObject({ object: shown, isStale: true })
    if (!('stored' in read)) throw new Error('it is not read')
    const again = readAndStored(key, read.stored, false)
    expect(again).toMatchObject({ object: shown, isStale: false, stored: read.stored })
    expect(readAndStored(key, read.stored, true)).toMatchObject({ object: shown, isStale: true })
  })
})

const configMap = recorded.find(({ folder }) => folder === 'configmaps')!

it.each([
  ['cut short', (bytes: Buffer) => bytes.subarray(0, -40)],
  [
    'another kind',
    (bytes: Buffer) =>
      Buffer.from(bytes.toString('latin1').replace('ConfigMap', 'ConfigTap'), 'latin1'),
  ],
  [
    'a version that is not known',
    (bytes: Buffer) => Buffer.from(bytes.toString('latin1').replace('v1', 'v9'), 'latin1'),
  ],
  ['nothing but the magic bytes', (bytes: Buffer) => bytes.subarray(0, 4)],
])('a message that is %s cannot be read', (_, change) => {
  const bytes = change(Buffer.from(configMap.stored, 'base64'))
  const read = readAndStored('/registry/configmaps/some/filled', bytes, true)
  expect(read).toMatchObject({ fault: 'undecodable', storeKey: '/registry/configmaps/some/filled' })
})

it.each([
  ['no JSON', '{"kind":"ConfigMap",'],
  ['another version', '{"kind":"ConfigMap","apiVersion":"v9","metadata":{"resourceVersion":""}}\n'],
  ['another kind', '{"kind":"Secret","apiVersion":"v1","metadata":{"resourceVersion":""}}\n'],
])('what is %s is stored as it is', (_, text) => {
  const bytes = Buffer.from(text)
  expect(formsOf(true).of('core/configmaps')?.toStorage(bytes, 'k')).toBe(bytes)
})

it('custom resources, definitions and APIServices are JSON, whatever the flag says', () => {
  const bytes = Buffer.from(
    '{"kind":"X","apiVersion":"a.b/v1","metadata":{"resourceVersion":""}}\n',
  )
  for (const prefix of [
    'example.com/things',
    resources.customResourceDefinitions.storagePrefix,
    resources.apiServices.storagePrefix,
  ])
    expect(formsOf(true).of(prefix)?.toStorage(bytes, 'k')).toBe(bytes)
})

describe('JSON of a kube-apiserver, which keeps no place for the resourceVersion', () => {
  const text = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`)
  it.each([
    [
      'custom resource',
      '/registry/example.com/things/a/b',
      // Its encoder writes fields in order of name.
      {
        apiVersion: 'example.com/v1',
        kind: 'Thing',
        metadata: { creationTimestamp: '2026-01-01T00:00:00Z', name: 'b', namespace: 'a' },
        spec: { of: { resourceVersion: '' } },
      },
    ],
    [
      'APIService',
      '/registry/apiregistration.k8s.io/apiservices/v1.',
      {
        kind: 'APIService',
        apiVersion: 'apiregistration.k8s.io/v1',
        metadata: { name: 'v1.', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
        spec: { version: 'v1', groupPriorityMinimum: 18000, versionPriority: 1 },
        status: {},
      },
    ],
    [
      'ConfigMap',
      '/registry/configmaps/a/b',
      {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { name: 'b', namespace: 'a', uid: 'u', creationTimestamp: null },
        data: { a: '"resourceVersion":""' },
      },
    ],
  ])('is read: a %s', (_, key, object) => {
    const { creationTimestamp, ...metadata } = object.metadata
    const created = creationTimestamp === null ? {} : { creationTimestamp }
    const read = readAndStored(key, text(object), false)
    expect(read).toMatchObject({
      object: { ...object, metadata: { ...metadata, ...created, resourceVersion: '7' } },
      isStale: false,
    })
  })
})
