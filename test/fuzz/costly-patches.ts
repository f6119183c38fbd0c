/** Patches as large as asked, with the objects that they are for. */
import { entry, keys, keysObject, list, many } from './costly-bodies.ts'

const json = (value: unknown): string => JSON.stringify(value)
const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n))

/** Of JSON patches the number of operations is bounded; more bytes make a larger object. */
const operations = 10_000
export const bigData = (bytes: number) => ({
  path: 'configmaps',
  body: { metadata: { name: 'big' }, data: keysObject(bytes) },
})
const bigFinalizers = (bytes: number) => ({
  path: 'configmaps',
  body: {
    metadata: {
      name: 'big',
      finalizers: many(bytes, (n) => `"a.b/${n}"`).map((_, n) => `a.b/${n}`),
    },
  },
})
const finalizersOf = (bytes: number): string[] =>
  many(bytes, (n) => `"a.b/${n}"`).map((_, n) => `a.b/${n}`)
const pod = (more: object = {}) => ({
  path: 'pods',
  body: { metadata: { name: 'big' }, spec: { containers: [{ name: 'c', image: 'i', ...more }] } },
})
const env = (bytes: number): { name: string; value: string }[] =>
  many(bytes, (n) => `{"name":"n${n}","value":"v"}`).map((_, n) => ({ name: `n${n}`, value: 'v' }))

type PatchMade = readonly [
  what: string,
  type:
    | 'json-patch+json'
    | 'merge-patch+json'
    | 'strategic-merge-patch+json'
    | 'apply-patch+yaml'
    | 'apply-patch+cbor',
  on: (bytes: number) => { path: string; body: unknown },
  body: (bytes: number) => string,
]

const config = (more: string): string =>
  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"big"}${more}}`

export const patches: readonly PatchMade[] = [
  [
    'additions',
    'json-patch+json',
    bigData,
    (b) =>
      json(
        times(Math.min(operations, b / 50), (n) => ({
          op: 'add',
          path: `/data/n${n}`,
          value: 'x',
        })),
      ),
  ],
  [
    'removals',
    'json-patch+json',
    bigData,
    (b) =>
      json(times(Math.min(operations, b / 50), (n) => ({ op: 'remove', path: `/data/k${n}` }))),
  ],
  [
    'insertions at the front',
    'json-patch+json',
    bigFinalizers,
    (b) =>
      json(
        times(Math.min(operations, b / 50), (n) => ({
          op: 'add',
          path: '/metadata/finalizers/0',
          value: `b.c/${n}`,
        })),
      ),
  ],
  [
    'removals at the front',
    'json-patch+json',
    bigFinalizers,
    (b) =>
      json(
        times(Math.min(operations, b / 50), () => ({
          op: 'remove',
          path: '/metadata/finalizers/0',
        })),
      ),
  ],
  [
    'moves along a list',
    'json-patch+json',
    bigFinalizers,
    (b) =>
      json(
        times(Math.min(operations, b / 50), () => ({
          op: 'move',
          from: '/metadata/finalizers/0',
          path: '/metadata/finalizers/-',
        })),
      ),
  ],
  [
    'moves to the front',
    'json-patch+json',
    bigFinalizers,
    (b) =>
      json(
        times(Math.min(operations, b / 50), () => ({
          op: 'move',
          from: '/metadata/finalizers/5',
          path: '/metadata/finalizers/0',
        })),
      ),
  ],
  [
    'moves of a large value',
    'json-patch+json',
    bigData,
    (b) =>
      json(
        times(Math.min(operations, b / 50), (n) =>
          n % 2 === 0
            ? { op: 'move', from: '/data', path: '/x' }
            : { op: 'move', from: '/x', path: '/data' },
        ),
      ),
  ],
  [
    'copies of a large value',
    'json-patch+json',
    bigData,
    (b) =>
      json(
        times(Math.min(operations, b / 50), (n) => ({ op: 'copy', from: '/data', path: `/x${n}` })),
      ),
  ],
  [
    'doubling copies',
    'json-patch+json',
    bigData,
    (b) =>
      json(
        times(Math.min(operations, b / 50), () => ({ op: 'copy', from: '/data', path: '/data/x' })),
      ),
  ],
  [
    'copies of one key',
    'json-patch+json',
    bigData,
    (b) =>
      json(
        times(Math.min(operations, b / 50), (n) => ({
          op: 'copy',
          from: '/data/k0',
          path: `/data/c${n}`,
        })),
      ),
  ],
  [
    'tests of a large value',
    'json-patch+json',
    bigData,
    (b) => json([{ op: 'test', path: '/data', value: keysObject(b) }]),
  ],
  [
    'tests of keys',
    'json-patch+json',
    bigData,
    (b) =>
      json(
        times(Math.min(operations, b / 50), (n) => ({
          op: 'test',
          path: `/data/k${n}`,
          value: 'v',
        })),
      ),
  ],
  [
    'tests of the document',
    'json-patch+json',
    bigData,
    (b) => json(times(Math.min(operations, b / 50), () => ({ op: 'test', path: '', value: {} }))),
  ],
  [
    'a deep pointer',
    'json-patch+json',
    bigData,
    (b) => json([{ op: 'add', path: '/a'.repeat(b / 2), value: 1 }]),
  ],
  [
    'long pointers',
    'json-patch+json',
    bigData,
    (b) =>
      json(
        times(Math.min(operations, b / 350), (n) => ({
          op: 'add',
          path: `/data/${'~0'.repeat(150)}${n}`,
          value: 'x',
        })),
      ),
  ],
  ['too many operations', 'json-patch+json', bigData, (b) => `[${list(b, () => '{}')}]`],
  [
    'one large addition',
    'json-patch+json',
    bigData,
    (b) => json([{ op: 'replace', path: '/data', value: keysObject(b, 'm') }]),
  ],

  ['new keys', 'merge-patch+json', bigData, (b) => json({ data: keysObject(b, 'm') })],
  ['the same keys', 'merge-patch+json', bigData, (b) => json({ data: keysObject(b) })],
  ['new values', 'merge-patch+json', bigData, (b) => `{"data":{${keys(b, '"w"')}}}`],
  ['keys that go', 'merge-patch+json', bigData, (b) => `{"data":{${keys(b, 'null')}}}`],
  [
    'finalizers',
    'merge-patch+json',
    bigFinalizers,
    (b) => json({ metadata: { finalizers: finalizersOf(b).toReversed() } }),
  ],
  ['unknown objects', 'merge-patch+json', bigData, (b) => `{"u":{${keys(b, '{}')}}}`],
  [
    'a deep patch',
    'merge-patch+json',
    bigData,
    (b) => `{"u":[${list(b, () => '{"a":'.repeat(400) + '1' + '}'.repeat(400))}]}`,
  ],

  ['new keys', 'strategic-merge-patch+json', bigData, (b) => json({ data: keysObject(b, 'm') })],
  ['new values', 'strategic-merge-patch+json', bigData, (b) => `{"data":{${keys(b, '"w"')}}}`],
  ['keys that go', 'strategic-merge-patch+json', bigData, (b) => `{"data":{${keys(b, 'null')}}}`],
  [
    'finalizers',
    'strategic-merge-patch+json',
    bigFinalizers,
    (b) => json({ metadata: { finalizers: finalizersOf(b).toReversed() } }),
  ],
  [
    'deleted finalizers',
    'strategic-merge-patch+json',
    bigFinalizers,
    (b) => json({ metadata: { '$deleteFromPrimitiveList/finalizers': finalizersOf(b) } }),
  ],
  [
    'many deletions from lists',
    'strategic-merge-patch+json',
    bigFinalizers,
    (b) => `{"metadata":{${list(b, (n) => `"$deleteFromPrimitiveList/f${n}":["a"]`)}}}`,
  ],
  [
    'deep deletions',
    'strategic-merge-patch+json',
    bigFinalizers,
    (b) =>
      `{"metadata":{"$deleteFromPrimitiveList/finalizers":[${'['.repeat(900)}${list(b, () => '{}')}${']'.repeat(900)}]}}`,
  ],
  [
    'an order of finalizers',
    'strategic-merge-patch+json',
    bigFinalizers,
    (b) => json({ metadata: { '$setElementOrder/finalizers': finalizersOf(b).toReversed() } }),
  ],
  [
    'an order of other finalizers',
    'strategic-merge-patch+json',
    bigFinalizers,
    (b) =>
      json({
        metadata: {
          finalizers: ['x/y'],
          '$setElementOrder/finalizers': finalizersOf(b).toReversed(),
        },
      }),
  ],
  [
    'many orders',
    'strategic-merge-patch+json',
    bigData,
    (b) => `{"metadata":{${list(b, (n) => `"$setElementOrder/f${n}":[]`)}}}`,
  ],
  [
    'owners',
    'strategic-merge-patch+json',
    bigData,
    (b) =>
      `{"metadata":{"ownerReferences":[${list(b, (n) => `{"uid":"${n}","apiVersion":"v1","kind":"Pod","name":"p"}`)}]}}`,
  ],
  [
    'deleted owners',
    'strategic-merge-patch+json',
    bigData,
    (b) =>
      `{"metadata":{"ownerReferences":[${list(b, (n) => `{"uid":"${n}","$patch":"delete"}`)}]}}`,
  ],
  [
    'owners without key',
    'strategic-merge-patch+json',
    bigData,
    (b) => `{"metadata":{"ownerReferences":[${list(b, () => `{}`)}]}}`,
  ],
  [
    'retained keys',
    'strategic-merge-patch+json',
    bigData,
    (b) => `{"data":{"$retainKeys":[${list(b, (n) => `"k${n}"`)}]}}`,
  ],
  [
    'environment',
    'strategic-merge-patch+json',
    (b) => pod({ env: env(b) }),
    (b) => json({ spec: { containers: [{ name: 'c', env: env(b).toReversed() }] } }),
  ],
  [
    'ordered environment',
    'strategic-merge-patch+json',
    (b) => pod({ env: env(b) }),
    (b) =>
      json({
        spec: {
          containers: [
            {
              name: 'c',
              '$setElementOrder/env': env(b)
                .toReversed()
                .map(({ name }) => ({ name })),
              env: [{ name: 'new', value: 'v' }],
            },
          ],
        },
      }),
  ],

  ['keys', 'apply-patch+yaml', bigData, (b) => config(`,"data":{${keys(b)}}`)],
  [
    'other keys',
    'apply-patch+yaml',
    bigData,
    (b) => config(`,"data":{${list(b, (n) => `"m${n}":"v"`)}}`),
  ],
  ['other values', 'apply-patch+yaml', bigData, (b) => config(`,"data":{${keys(b, '"w"')}}`)],
  [
    'a second applier',
    'apply-patch+yaml',
    (b) => ({
      path: 'configmaps/big?fieldManager=first',
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'big' }, data: keysObject(b) },
    }),
    (b) => config(`,"data":{${keys(b)}}`),
  ],
  [
    'a second applier of other values',
    'apply-patch+yaml',
    (b) => ({
      path: 'configmaps/big?fieldManager=first',
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'big' }, data: keysObject(b) },
    }),
    (b) => config(`,"data":{${keys(b, '"w"')}}`),
  ],
  [
    'an applier who lets go',
    'apply-patch+yaml',
    (b) => ({
      path: 'configmaps/big?fieldManager=m',
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'big' }, data: keysObject(b) },
    }),
    (b) => config(`,"data":{${list(b, (n) => `"k${n * 2}":"v"`)}}`),
  ],
  [
    'finalizers',
    'apply-patch+yaml',
    bigFinalizers,
    (b) =>
      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"big","finalizers":${json(finalizersOf(b).toReversed())}}}`,
  ],
  [
    'owners',
    'apply-patch+yaml',
    bigData,
    (b) =>
      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"big","ownerReferences":[${list(b, (n) => `{"uid":"${n}","apiVersion":"v1","kind":"Pod","name":"p"}`)}]}}`,
  ],
  [
    'environment',
    'apply-patch+yaml',
    (b) => pod({ env: env(b) }),
    (b) =>
      json({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'big' },
        spec: { containers: [{ name: 'c', image: 'i', env: env(b).toReversed() }] },
      }),
  ],
  [
    'one key often',
    'apply-patch+yaml',
    bigData,
    (b) => config(`,"data":{${list(b, () => '"a":"b"')}}`),
  ],
  ['wrong values', 'apply-patch+yaml', bigData, (b) => config(`,"data":{${keys(b, '1')}}`)],
  ['unknown fields', 'apply-patch+yaml', bigData, (b) => config(`,${keys(b, '1')}`)],
  [
    'a key among many appliers',
    'apply-patch+yaml',
    (b) => ({
      path: 'configmaps',
      body: {
        metadata: {
          name: 'big',
          managedFields: many(b, (n) => entry(n)).map(
            (text) => JSON.parse(text.replace('Update', 'Apply')) as unknown,
          ),
        },
        data: keysObject(b / 4),
      },
    }),
    (b) => config(`,"data":{${keys(b / 4, '"w"')}}`),
  ],
]
