import { describe, expect, test } from 'vitest'
import {
  validateObjectMeta,
  validateObjectMetaUpdate,
} from '../../../components/machinery/validation/object-meta-validation.ts'
import type { ObjectMeta } from '../../../components/machinery/objects/object.ts'

function faultsOf(
  metadata: ObjectMeta,
  rules: Partial<Parameters<typeof validateObjectMeta>[1]> = {},
) {
  return validateObjectMeta(metadata, { namespaced: true, ...rules }).map(
    ({ field, message }) => `${field}: ${message}`,
  )
}

const fine: ObjectMeta = { name: 'x', namespace: 'ns' }

describe('new metadata', () => {
  test.each<[string, ObjectMeta, string[]]>([
    ['nothing but a name', fine, []],
    [
      'no name',
      { namespace: 'ns' },
      ['metadata.name: Required value: name or generateName is required'],
    ],
    ['no namespace', { name: 'x' }, ['metadata.namespace: Required value']],
    [
      'a finalizer without a domain',
      { ...fine, finalizers: ['x'] },
      [
        'metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified',
      ],
    ],
    ['finalizers of the garbage collector', { ...fine, finalizers: ['orphan'] }, []],
    [
      'both finalizers of the garbage collector',
      { ...fine, finalizers: ['orphan', 'foregroundDeletion'] },
      [
        'metadata.finalizers: Invalid value: []string{"orphan", "foregroundDeletion"}: finalizer orphan and foregroundDeletion cannot be both set',
      ],
    ],
    [
      'an owner without a uid',
      { ...fine, ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: '' }] },
      ['metadata.ownerReferences.uid: Invalid value: "": must not be empty'],
    ],
    [
      'two controllers',
      {
        ...fine,
        ownerReferences: ['p', 'q'].map((name) => ({
          apiVersion: 'v1',
          kind: 'Pod',
          name,
          uid: name,
          controller: true,
        })),
      },
      [
        expect.stringContaining(
          'Only one reference can have Controller set to true. Found "true" in references for Pod/p and Pod/q',
        ) as unknown as string,
      ],
    ],
    [
      'an Event as owner',
      { ...fine, ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: 'e', uid: 'u' }] },
      [
        expect.stringContaining(
          '/v1, Kind=Event is disallowed from being an owner',
        ) as unknown as string,
      ],
    ],
    [
      'a negative generation',
      { ...fine, generation: -1 },
      ['metadata.generation: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'too many bytes of annotations',
      { ...fine, annotations: { a: 'x'.repeat(256 * 1024) } },
      ['metadata.annotations: Too long: may not be more than 262144 bytes'],
    ],
    [
      'just enough bytes of annotations',
      { ...fine, annotations: { a: 'x'.repeat(256 * 1024 - 1) } },
      [],
    ],
  ])('%s', (_, metadata, faults) => {
    expect(faultsOf(metadata)).toEqual(faults)
  })

  test('of a cluster-scoped kind has no namespace', () => {
    expect(faultsOf(fine, { namespaced: false })).toEqual([
      'metadata.namespace: Forbidden: not allowed on this type',
    ])
  })

  test('annotation keys may have capitals', () => {
    expect(faultsOf({ ...fine, annotations: { 'Example.com/x': '1' } })).toEqual([])
    expect(faultsOf({ ...fine, annotations: { 'a b': '1' } })).toHaveLength(1)
  })
})

describe('changed metadata', () => {
  const old: ObjectMeta = {
    ...fine,
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    generation: 2,
  }
  function changeFaults(change: Partial<ObjectMeta>, before: ObjectMeta = old) {
    const errors = validateObjectMetaUpdate({ ...before, ...change } as ObjectMeta, before)
    return errors.map(({ field, message }) => `${field}: ${message}`)
  }

  test('is fine when nothing fixed changes', () => {
    expect(changeFaults({ labels: { a: 'b' }, generation: 3 })).toEqual([])
  })

  test.each([
    ['name', 'y', 'metadata.name: Invalid value: "y": field is immutable'],
    ['uid', 'v', 'metadata.uid: Invalid value: "v": field is immutable'],
    ['namespace', 'other', 'metadata.namespace: Invalid value: "other": field is immutable'],
    ['generation', 1, 'metadata.generation: Invalid value: 1: must not be decremented'],
    [
      'resourceVersion',
      '',
      'metadata.resourceVersion: Invalid value: "": must be specified for an update',
    ],
  ])('%s, reported twice', (field, value, fault) => {
    expect(changeFaults({ [field]: value })).toEqual([fault, fault])
  })

  test('of a terminating object gets no new finalizers, but may lose some', () => {
    const terminating = {
      ...old,
      deletionTimestamp: '2026-01-02T00:00:00Z',
      finalizers: ['example.com/x'],
    }
    const finalizers = ['example.com/x', 'example.com/z', 'example.com/y']
    expect(new Set(changeFaults({ finalizers }, terminating))).toEqual(
      new Set([
        'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/y", "example.com/z"}',
      ]),
    )
    expect(changeFaults({ finalizers: [] }, terminating)).toEqual([])
  })
})
