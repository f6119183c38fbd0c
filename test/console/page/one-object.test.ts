/** What the console shows of one object: changes, field owners, conditions, containers, family and history. */
import { describe, expect, it } from 'vitest'
import {
  apiPath,
  objectPlace,
  parseObjectPlace,
  splitApiVersion,
} from '../../../console/page/app/object-place.ts'
import { changedPaths, pathText } from '../../../console/page/views/objects/object/changed-paths.ts'
import { conditionSpans } from '../../../console/page/views/objects/object/condition-spans.ts'
import { containersOf } from '../../../console/page/views/objects/object/containers.ts'
import {
  familyOf,
  layoutFamily,
  ownedBy,
  type FamilyMember,
} from '../../../console/page/views/objects/object/family-graph.ts'
import {
  countFields,
  fieldOwners,
  onlyFields,
} from '../../../console/page/views/objects/object/field-owners.ts'
import { findOldest } from '../../../console/page/views/objects/object/find-oldest.ts'
import { latest } from '../../../console/page/views/objects/object/latest.ts'

describe('places of objects', () => {
  it('lead back to the kind and the name, with and without group and namespace', () => {
    const pods = { group: '', version: 'v1', plural: 'pods' }
    const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'clusterroles' }
    const web = { namespace: 'a', name: 'web' }
    expect(parseObjectPlace(objectPlace(pods, web))).toEqual({ kind: pods, object: web })
    const admin = { name: 'system:admin' }
    expect(parseObjectPlace(objectPlace(roles, admin))).toEqual({ kind: roles, object: admin })
    expect(parseObjectPlace(['objects', 'new'])).toBeUndefined()
  })

  it('have paths in the API whose parts are escaped', () => {
    expect(apiPath({ group: '', version: 'v1', plural: 'pods' }, { namespace: 'a' })).toBe(
      '/api/v1/namespaces/a/pods',
    )
    const apps = { ...splitApiVersion('apps/v1'), plural: 'deployments' }
    expect(apiPath(apps, { namespace: 'a', name: 'x/../y', sub: 'scale' })).toBe(
      '/apis/apps/v1/namespaces/a/deployments/x%2F..%2Fy/scale',
    )
  })
})

describe('changed fields', () => {
  it('are the deepest that differ, without those that every write changes', () => {
    const before = {
      metadata: { resourceVersion: '1', managedFields: [1] },
      spec: { replicas: 1, list: [{ a: 1 }, { b: 1 }] },
    }
    const after = {
      metadata: { resourceVersion: '2', managedFields: [2], labels: { a: 'b' } },
      spec: { replicas: 2, list: [{ a: 1 }, { b: 2 }] },
    }
    const changed = [...changedPaths(before, after)].map(pathText)
    expect(changed).toEqual(['metadata.labels', 'spec.replicas', 'spec.list.1.b'])
    expect(changedPaths(after, after).size).toBe(0)
  })
})

describe('field owners', () => {
  const object = { spec: { replicas: 3, ports: [{ port: 80, name: 'http' }], tags: ['a'] } }
  const ports = { 'k:{"port":80}': { '.': {}, 'f:name': {}, 'f:port': {} } }
  const entries = [
    { manager: 'kubectl', fieldsV1: { 'f:spec': { 'f:replicas': {}, 'f:ports': ports } } },
    { manager: 'hpa', fieldsV1: { 'f:spec': { 'f:replicas': {}, 'f:tags': { 'v:"a"': {} } } } },
    { manager: 'broken', fieldsV1: 'nonsense' },
  ]
  const fields = fieldOwners(entries, object)

  it('are a tree with the values of the object, through lists by key and by value', () => {
    const [spec] = fields
    expect(spec?.fields.map(({ label }) => label)).toEqual(['ports', 'replicas', 'tags'])
    const [item] = spec?.fields[0]?.fields ?? []
    expect(item).toMatchObject({ label: '[port=80]', owners: [0] })
    expect(item?.fields).toMatchObject([
      { label: 'name', value: 'http' },
      { label: 'port', value: '80' },
    ])
    expect(spec?.fields[2]?.fields).toMatchObject([{ label: '["a"]', value: 'a', owners: [1] }])
  })

  it('show which fields several managers own', () => {
    const isShared = ({ owners }: { readonly owners: readonly number[] }) => owners.length > 1
    expect(countFields(fields, isShared)).toBe(1)
    const [spec] = onlyFields(fields, isShared)
    expect(spec?.fields).toMatchObject([{ label: 'replicas', owners: [0, 1], value: '3' }])
    expect(countFields(fields, ({ owners }) => owners.includes(0))).toBe(4)
  })
})

describe('conditions over time', () => {
  it('have a span for each status and reason, from the versions of the object', () => {
    const version = (status: string, reason: string, lastTransitionTime: string) => ({
      status: { conditions: [{ type: 'Ready', status, reason, lastTransitionTime }] },
    })
    const spans = conditionSpans([
      version('False', 'Starting', '2026-01-01T00:00:00Z'),
      version('False', 'Starting', '2026-01-01T00:00:00Z'),
      version('True', 'Started', '2026-01-01T00:01:00Z'),
      { status: null },
    ])
    expect(spans.get('Ready')?.map(({ status, reason }) => `${status} ${reason}`)).toEqual([
      'False Starting',
      'True Started',
    ])
  })
})

describe('containers of a pod', () => {
  it('are listed with their states, also those that have none yet', () => {
    const pod = {
      metadata: {},
      spec: { initContainers: [{ name: 'i' }], containers: [{ name: 'a', image: 'x' }] },
      status: {
        initContainerStatuses: [
          { name: 'i', state: { terminated: { reason: 'Error', exitCode: 2, message: 'why' } } },
        ],
      },
    }
    expect(containersOf(pod as never)).toMatchObject([
      { name: 'i', is: 'init', state: 'Terminated: Error (2)', message: 'why' },
      { name: 'a', is: 'container', image: 'x', state: 'Waiting: not started', restarts: 0 },
    ])
  })
})

describe('the family of an object', () => {
  const member = (uid: string, ...owners: string[]): FamilyMember => ({
    ...{ uid, kind: 'Pod', namespace: 'a', name: uid },
    owners,
  })
  const all = new Map(
    [member('d'), member('r', 'd'), member('p1', 'r'), member('p2', 'r'), member('x')].map(
      (one) => [one.uid, one],
    ),
  )
  const uids = (members: readonly FamilyMember[]) => members.map(({ uid }) => uid).toSorted()

  it('is what owns it and what it owns, without siblings and strangers', () => {
    expect(uids(familyOf(all, 'd'))).toEqual(['d', 'p1', 'p2', 'r'])
    expect(uids(familyOf(all, 'p1'))).toEqual(['d', 'p1', 'r'])
    expect(familyOf(all, 'nothing')).toEqual([])
    expect(uids(ownedBy([...all.values()], 'd'))).toEqual(['p1', 'p2', 'r'])
  })

  it('is laid out from owners to owned, without overlaps', () => {
    const { members, edges } = layoutFamily(familyOf(all, 'd'))
    const at = new Map(members.map((placed) => [placed.member.uid, placed]))
    expect(at.get('d')?.x).toBeLessThan(at.get('r')?.x ?? 0)
    expect(at.get('r')?.x).toBeLessThan(at.get('p1')?.x ?? 0)
    expect(at.get('p1')?.y).not.toBe(at.get('p2')?.y)
    expect(edges).toHaveLength(3)
  })

  it('ends with cycles, and says how many members are not drawn', () => {
    const cycle = new Map([member('a', 'b'), member('b', 'a')].map((one) => [one.uid, one]))
    expect(layoutFamily(familyOf(cycle, 'a')).members).toHaveLength(2)
    const many = Array.from({ length: 500 }, (_, index) => member(`p${index}`))
    expect(layoutFamily(many)).toMatchObject({ left: 200 })
  })
})

describe('the oldest revision', () => {
  it('is found with few probes', async () => {
    let probes = 0
    const found = await findOldest(1_000_000, async (revision) => {
      probes += 1
      return revision >= 420_000
    })
    expect(found).toBeGreaterThanOrEqual(420_000)
    expect(found).toBeLessThan(420_100)
    expect(probes).toBeLessThanOrEqual(16)
  })

  it('is the first when history is whole, and the newest when there is none', async () => {
    expect(await findOldest(500, async () => true)).toBe(1)
    expect(await findOldest(500, async () => false)).toBe(500)
  })
})

describe('latest', () => {
  it('runs once more, however often it was asked for meanwhile', async () => {
    const begun: PromiseWithResolvers<void>[] = []
    const run = latest(() => {
      const one = Promise.withResolvers<void>()
      begun.push(one)
      return one.promise
    })
    run()
    run()
    run()
    expect(begun).toHaveLength(1)
    begun[0]?.resolve()
    await begun[0]?.promise
    await Promise.resolve()
    expect(begun).toHaveLength(2)
  })
})
