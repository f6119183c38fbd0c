/** Families: how objects with owner references become trees. */
import { describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { growFamily, rootsOf, type Member } from '../../../console/family/family.ts'
import { deletionText, familyText } from '../../../console/family/family-text.ts'
import { objectState } from '../../../console/family/object-state.ts'

function object(name: string, owners: readonly string[] = [], more: object = {}): KubeObject {
  const ownerReferences = owners.map((uid) => ({ apiVersion: 'v1', kind: 'Box', name: uid, uid }))
  return {
    apiVersion: 'v1',
    kind: 'Box',
    metadata: { namespace: 'shop', name, uid: name, ownerReferences, ...more },
  }
}

/** `a(b c(d))`; `~` marks what is shown above. */
function outline(members: readonly Member[]): string {
  return members
    .map(({ object: { metadata }, owns, isRepeated }) => {
      const below = owns.length === 0 ? '' : `(${outline(owns)})`
      return `${metadata.name}${isRepeated ? '~' : ''}${below}`
    })
    .join(' ')
}

const grown = (objects: readonly KubeObject[], most = 100) =>
  growFamily(rootsOf(objects), objects, most)

describe('a family', () => {
  it('puts objects below their owners, in the order of names', () => {
    const objects = [object('c', ['a']), object('b', ['a']), object('d', ['c']), object('a')]
    expect(outline(grown(objects).roots)).toBe('a(b c(d))')
  })

  it('shows an object with two owners below both, and what it owns once', () => {
    const objects = [object('a'), object('b'), object('c', ['a', 'b']), object('d', ['c'])]
    expect(outline(grown(objects).roots)).toBe('a(c(d)) b(c~)')
  })

  it('makes an object a root whose owner is not there', () => {
    expect(outline(grown([object('b', ['gone']), object('c', ['b'])]).roots)).toBe('b(c)')
  })

  it('ends in a circle of owners, and shows each of its objects', () => {
    const objects = [object('b', ['c']), object('c', ['b']), object('me', ['me']), object('a')]
    expect(outline(grown(objects).roots)).toBe('a b(c(b~)) me(me~)')
  })

  it('says that it is not whole beyond the limit of objects', () => {
    const objects = [object('a'), object('b', ['a']), object('c', ['a'])]
    expect(grown(objects, 3).isWhole).toBe(true)
    const part = grown(objects, 2)
    expect([outline(part.roots), part.isWhole]).toEqual(['a(b)', false])
  })

  it('says that it is not whole beyond 64 levels', () => {
    const chain = Array.from({ length: 70 }, (_, index) =>
      object(`o${index}`, index === 0 ? [] : [`o${index - 1}`]),
    )
    const { roots, isWhole } = grown(chain)
    expect(isWhole).toBe(false)
    expect(outline(roots)).toContain('o63')
    expect(outline(roots)).not.toContain('o64')
  })
})

describe('the text of a family', () => {
  const shown = {
    dialect: dialects.kubernetes,
    nowMs: Date.parse('2026-11-22T12:00:00Z'),
    colors: false,
    namespace: 'shop',
  }

  it('draws the tree and shows namespaces that differ from the one asked about', () => {
    const objects = [
      object('a', [], { namespace: undefined, creationTimestamp: '2026-11-22T11:00:00Z' }),
      object('b', ['a'], { creationTimestamp: '2026-11-22T11:59:50Z' }),
      object('c', ['a'], { namespace: 'other' }),
      object('d', ['b']),
    ]
    const text = familyText({ ...grown(objects), notRead: ['widgets: forbidden'] }, shown)
    expect(text).toBe(
      [
        'NAME             AGE        STATE',
        'Box/a            60m',
        '├── Box/other/c  <unknown>',
        '└── Box/b        10s',
        '    └── Box/d    <unknown>',
        'not read: widgets: forbidden',
        '',
      ].join('\n'),
    )
  })

  it('escapes control characters', () => {
    const evil = object('a', [], {
      finalizers: ['\u001b[2Jx'],
      deletionTimestamp: '2026-11-22T11:59:00Z',
    })
    const text = familyText({ ...grown([evil]), notRead: ['\u001b[31m'] }, shown)
    expect(text).not.toContain('\u001b')
    expect(text).toContain('\\u001b[2Jx')
  })

  it('says what a deleted object waits for', () => {
    const deleted = (more: object) =>
      deletionText(object('a', [], { deletionTimestamp: '2026-11-22T11:59:00Z', ...more }), shown)
    expect(deleted({})).toBe('deleted 60s ago')
    expect(deleted({ finalizers: ['example.com/a', 'foregroundDeletion'] })).toBe(
      'deleted 60s ago, waits for the finalizer example.com/a, and the objects that depend on it to be gone',
    )
    const grace = { deletionTimestamp: '2026-11-22T12:00:20Z', deletionGracePeriodSeconds: 30 }
    expect(deleted(grace)).toBe('deleted 10s ago, waits for its end within 20s')
    expect(deletionText(object('a'), shown)).toBeUndefined()
  })
})

describe('the state of an object', () => {
  const state = (kind: string, more: object) => objectState({ kind, metadata: {}, ...more })
  const condition = (type: string, status: string, reason?: string) => ({ type, status, reason })

  it.each([
    [
      'Available, 3/3 ready',
      'good',
      {
        spec: { replicas: 3 },
        status: {
          readyReplicas: 3,
          conditions: [condition('Progressing', 'True'), condition('Available', 'True')],
        },
      },
    ],
    ['1/3 ready', 'waiting', { spec: { replicas: 3 }, status: { readyReplicas: 1 } }],
    [
      'Available=False (MinimumReplicasUnavailable)',
      'bad',
      { status: { conditions: [condition('Available', 'False', 'MinimumReplicasUnavailable')] } },
    ],
    [
      'Ready, DiskPressure',
      'bad',
      { status: { conditions: [condition('DiskPressure', 'True'), condition('Ready', 'True')] } },
    ],
    ['Bound', 'good', { status: { phase: 'Bound' } }],
    ['', 'unknown', {}],
    ['', 'unknown', { status: { conditions: 'none' } }],
  ])('is "%s", %s', (text, health, more) => {
    expect(state('Widget', more)).toEqual({ text, health })
  })

  it.each([
    [
      'Running',
      'good',
      { phase: 'Running', containerStatuses: [{ ready: true, state: { running: {} } }] },
    ],
    [
      'Running, 0/1 ready',
      'waiting',
      { phase: 'Running', containerStatuses: [{ ready: false, state: { running: {} } }] },
    ],
    [
      'ErrImagePull, 0/1 ready',
      'bad',
      { phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: 'ErrImagePull' } } }] },
    ],
    ['Pending', 'waiting', { phase: 'Pending' }],
    ['Succeeded', 'good', { phase: 'Succeeded' }],
  ])('of a pod is "%s", %s', (text, health, status) => {
    expect(state('Pod', { spec: { containers: [{}] }, status })).toEqual({ text, health })
  })
})
