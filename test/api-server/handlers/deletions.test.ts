/** Deletion: rows DEL-003, DEL-004, DEL-006, DEL-008 to DEL-014 and DEL-024. */
import { describe, expect, it } from 'vitest'
import { startApiServer } from '../../support/api-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { allow, allowEverywhere } from '../../support/grants.ts'
import { sharedServer } from '../../support/shared-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }

describe('deletion', () => {
  const server = sharedServer()
  const made = async (
    metadata: object = {},
  ): Promise<{ at: string; item: string; object: any }> => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    const object = await server().ok('POST', at, { body: { metadata: { name: 'x', ...metadata } } })
    return { at, item: `${at}/x`, object }
  }
  const status = async (item: string): Promise<number> =>
    (await server().request('GET', item)).status

  it('[DEL-003] dryRun in the options deletes nothing', async () => {
    const { at, item, object } = await made()
    const answer = await server().request('DELETE', item, { body: { dryRun: ['All'] } })
    expect(answer.status).toBe(200)
    expect(await server().ok('GET', item)).toEqual(object)
    await server().ok('DELETE', at, { body: { dryRun: ['All'] } })
    expect(await server().ok('GET', item)).toEqual(object)
    const odd = await server().request('DELETE', item, { body: { dryRun: ['Some'] } })
    expect(odd.status).toBe(422)
  })

  it('[DEL-004] gracePeriodSeconds is recorded, and 0 removes at once', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/pods`
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    await server().ok('POST', at, { body: { metadata: { name: 'p' }, spec } })
    await server().ok('POST', `${at}/p/binding`, {
      body: { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } },
    })
    await server().ok('DELETE', `${at}/p`, { body: { gracePeriodSeconds: 30 } })
    const pod = await server().ok('GET', `${at}/p`)
    expect(pod.metadata.deletionGracePeriodSeconds).toBe(30)
    expect(pod.metadata.deletionTimestamp).toBeDefined()
    await server().ok('DELETE', `${at}/p`, { body: { gracePeriodSeconds: 0 } })
    expect(await status(`${at}/p`)).toBe(404)
  })

  it('a pod that terminates keeps its grace until less is asked for; less than nothing is a second', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/pods`
    const spec = { containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: 10 }
    await server().ok('POST', at, { body: { metadata: { name: 'p' }, spec } })
    await server().ok('POST', `${at}/p/binding`, {
      body: { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } },
    })
    const graceAfter = async (query: string): Promise<number> =>
      (await server().ok('DELETE', `${at}/p${query}`)).metadata.deletionGracePeriodSeconds
    expect(await graceAfter('?gracePeriodSeconds=60')).toBe(60)
    expect(await graceAfter('')).toBe(60)
    expect(await graceAfter('?gracePeriodSeconds=90')).toBe(60)
    expect(await graceAfter('?gracePeriodSeconds=5')).toBe(5)
    expect(await graceAfter('?gracePeriodSeconds=-1')).toBe(1)
  })

  it.each(['true', 'True', '1'])('with orphanDependents=%s in the query lets go', async (yes) => {
    const { item } = await made()
    const answer = await server().ok('DELETE', `${item}?orphanDependents=${yes}`)
    expect(answer.metadata?.finalizers).toEqual(['orphan'])
  })

  it('[DEL-006] preconditions that do not hold keep the object', async () => {
    const { item, object } = await made()
    const { uid, resourceVersion } = object.metadata
    const other = '00000000-0000-0000-0000-000000000000'
    const modified = `the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`
    for (const [preconditions, why] of [
      [
        { uid: other },
        `the UID in the precondition (${other}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
      ],
      [{ resourceVersion: '1' }, modified],
      [{ uid, resourceVersion: '1' }, modified],
    ] as const) {
      const answer = await server().request('DELETE', item, { body: { preconditions } })
      expect(answer.status).toBe(409)
      expect(answer.body).toMatchObject({
        reason: 'Conflict',
        message: `Operation cannot be fulfilled on ConfigMap "x": ${why}`,
        details: { name: 'x', kind: 'ConfigMap' },
      })
    }
    expect(await status(item)).toBe(200)
    await server().ok('DELETE', item, { body: { preconditions: { uid, resourceVersion } } })
    expect(await status(item)).toBe(404)
  })

  it('[DEL-008][DEL-014] without options, and without finalizers, the request itself removes', async () => {
    const { at, item } = await made()
    await server().ok('DELETE', item)
    expect(await status(item)).toBe(404)
    await server().ok('POST', at, { body: { metadata: { name: 'x' } } })
    await server().ok('DELETE', at)
    expect(await status(item)).toBe(404)
  })

  it('[DEL-011][DEL-012] finalizers may go in any order; while one is left the object terminates', async () => {
    const finalizers = ['example.com/a', 'example.com/b', 'example.com/c']
    const { item } = await made({ finalizers })
    await server().ok('DELETE', item)
    for (const left of [['example.com/a', 'example.com/c'], ['example.com/a']]) {
      const answer = await server().ok('PATCH', item, {
        headers: merge,
        body: { metadata: { finalizers: left } },
      })
      expect(answer.metadata.finalizers).toEqual(left)
      const object = await server().ok('GET', item)
      expect(object.metadata.deletionTimestamp).toBeDefined()
    }
    const added = await server().request('PATCH', item, {
      headers: merge,
      body: { metadata: { finalizers: ['example.com/a', 'example.com/new'] } },
    })
    expect(added.status).toBe(422)
  })

  it('[DEL-013] removing the last finalizer removes the object', async () => {
    const { at, item } = await made({ finalizers: ['example.com/a'] })
    await server().ok('DELETE', item)
    const watch = await server().watch(`${at}?watch=1`)
    expect((await watch.next()).object.metadata.deletionTimestamp).toBeDefined()
    await server().ok('PATCH', item, { headers: merge, body: { metadata: { finalizers: null } } })
    expect(await status(item)).toBe(404)
    expect(await watch.next()).toMatchObject({
      type: 'DELETED',
      object: { metadata: { name: 'x' } },
    })
    watch.close()
    expect((await server().ok('GET', at)).items).toEqual([])
  })

  it('a limit holds for collections that are deleted too, and continue for the rest', async () => {
    const { at } = await made()
    for (const name of ['a', 'b']) await server().ok('POST', at, { body: { metadata: { name } } })
    const left = async (): Promise<string[]> =>
      (await server().ok('GET', at)).items.map((one: any) => one.metadata.name)
    const first = await server().ok('DELETE', `${at}?limit=2`)
    expect(first.items.map((one: any) => one.metadata.name)).toEqual(['a', 'b'])
    expect(await left()).toEqual(['x'])
    await server().ok('DELETE', `${at}?limit=2&continue=${first.metadata.continue}`)
    expect(await left()).toEqual([])
  })

  it('a right to one name is none to delete from collections, whatever they are cut down to', async () => {
    const { at, item } = await made()
    const verbs = ['list', 'deletecollection']
    const rule = { apiGroups: [''], resources: ['configmaps'], resourceNames: ['x'], verbs }
    const as = await allowEverywhere(server(), 'of-one-name', [rule])
    const one = `${at}?fieldSelector=metadata.name%3Dx`
    expect((await server().request('GET', one, { as })).status).toBe(200)
    expect((await server().request('DELETE', one, { as })).status).toBe(403)
    expect(await status(item)).toBe(200)
  })

  it('[DEL-024] an item is deleted by delete, a collection by deletecollection', async () => {
    const { at, item } = await made()
    const ns = at.split('/')[4] ?? ''
    const grant = async (name: string, verb: string) =>
      await allow(server(), ns, { name, rules: [{ resources: ['configmaps'], verbs: [verb] }] })
    const one = await grant('one', 'delete')
    const many = await grant('many', 'deletecollection')
    const collection = await server().request('DELETE', at, { as: one })
    expect(collection.status).toBe(403)
    expect(collection.body.message).toContain('cannot deletecollection resource')
    const single = await server().request('DELETE', item, { as: many })
    expect(single.status).toBe(403)
    expect(single.body.message).toContain('cannot delete resource')
    expect(await status(item)).toBe(200)
    await server().ok('DELETE', item, { as: one })
    await server().ok('POST', at, { body: { metadata: { name: 'x' } } })
    await server().ok('DELETE', at, { as: many })
    expect(await status(item)).toBe(404)
  })

  it('a collection is deleted by selectors, and only what they select', async () => {
    const { at } = await made({ labels: { a: 'b' } })
    await server().ok('POST', at, { body: { metadata: { name: 'y' } } })
    await server().ok('DELETE', `${at}?labelSelector=a%3Db`)
    const { items } = await server().ok('GET', at)
    expect(items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual([
      'y',
    ])
  })
})

describe('terminating', () => {
  it('[DEL-009][DEL-010] the first delete sets deletionTimestamp to now, later ones do not', async () => {
    const clock = new FakeClock(Math.floor(Date.now() / 1000) * 1000)
    await using server = await startApiServer({ clock })
    const at = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    await server.ok('POST', at, {
      body: { metadata: { name: 'x', finalizers: ['example.com/a'] } },
    })
    await clock.step(10_000)
    const now = `${new Date(clock.now()).toISOString().slice(0, 19)}Z`
    await server.ok('DELETE', `${at}/x`)
    const first = await server.ok('GET', `${at}/x`)
    expect(first.metadata.deletionTimestamp).toBe(now)
    await clock.step(10_000)
    await server.ok('DELETE', `${at}/x`)
    expect(await server.ok('GET', `${at}/x`)).toEqual(first)
  })
})
