/** Lists: rows COLL-001 to COLL-024. */
import { describe, expect, it } from 'vitest'
import { user, type TestApiServer } from '../../support/api-server.ts'
import { allow } from '../../support/grants.ts'
import { describeDialects, sharedServer } from '../../support/shared-server.ts'

interface List {
  readonly metadata: {
    readonly resourceVersion: string
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly items: { readonly metadata: { readonly name: string } }[]
}
const names = (list: List): string[] => list.items.map(({ metadata }) => metadata.name)

/** A collection of ConfigMaps with these names, in a namespace of its own. */
async function collection(server: TestApiServer, ...made: string[]): Promise<string> {
  const at = `/api/v1/namespaces/${await server.namespace()}/configmaps`
  for (const name of made) {
    await server.ok('POST', at, { body: { metadata: { name, labels: { name } } } })
  }
  return at
}

const five = ['a', 'b', 'c', 'd', 'e']
const next = (list: List): string => encodeURIComponent(list.metadata.continue ?? '')

describeDialects('a collection', (server) => {
  it('[COLL-001][COLL-002][COLL-003][COLL-006] has kind, apiVersion, version and items', async () => {
    const rbac = `${server().group('rbac.authorization')}/v1`
    for (const [path, kind, apiVersion] of [
      ['/api/v1/pods', 'PodList', 'v1'],
      ['/api/v1/namespaces', 'NamespaceList', 'v1'],
      ['/apis/apps/v1/deployments', 'DeploymentList', 'apps/v1'],
      [`/apis/${rbac}/clusterroles`, 'ClusterRoleList', rbac],
      ['/api/v1/endpoints', 'EndpointsList', 'v1'],
    ] as const) {
      const list = await server().ok('GET', path)
      expect(list).toMatchObject({ kind, apiVersion })
      expect(list.metadata.resourceVersion).toMatch(/^[1-9]\d*$/)
      expect(Array.isArray(list.items)).toBe(true)
    }
    const at = await collection(server())
    expect((await server().ok('GET', at)).items).toEqual([])
    await server().ok('POST', at, { body: { metadata: { name: 'x' } } })
    expect(names(await server().ok('GET', at))).toEqual(['x'])
  })

  it('[COLL-007] no answer has kind List', async () => {
    const { paths } = await server().ok('GET', '/')
    for (const path of paths.filter((one: string) => /^\/api(s\/[^/]+)?\/v/.test(one))) {
      for (const { name, verbs, kind } of (await server().ok('GET', path)).resources) {
        expect(kind).not.toBe('List')
        if (name.includes('/') || !verbs.includes('list')) continue
        const list = await server().ok('GET', `${path}/${name}`)
        expect(list.kind).toBe(`${kind}List`)
      }
    }
  })
})

describe('listing', () => {
  const server = sharedServer()

  it('[COLL-008] GET on a collection is the verb list', async () => {
    const at = await collection(server(), 'a')
    const answer = await server().request('GET', at)
    expect(answer.body.kind).toBe('ConfigMapList')
    expect((await server().auditOf(answer)).verb).toBe('list')
  })

  it.each(['False', 'FALSE', '0'])('with watch=%s is no watch, whoever wrote it so', async (no) => {
    const at = await collection(server(), 'a')
    const answer = await server().request('GET', `${at}?watch=${no}&allowWatchBookmarks=${no}`)
    expect(answer.body.kind).toBe('ConfigMapList')
  })

  it('[COLL-009] HEAD on a collection is the verb list too', async () => {
    const at = await collection(server(), ...Array.from({ length: 100 }, (_, i) => `n${i}`))
    const ns = at.split('/')[4] ?? ''
    const lister = await allow(server(), ns, {
      name: 'lister',
      rules: [{ resources: ['configmaps'], verbs: ['list'] }],
    })
    const answer = await server().request('HEAD', at, { as: lister })
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.bytes.length).toBe(0)
    expect((await server().auditOf(answer)).verb).toBe('list')
    const getter = await allow(server(), ns, {
      name: 'getter',
      rules: [{ resources: ['configmaps'], verbs: ['get', 'watch'] }],
    })
    expect((await server().request('HEAD', at, { as: getter })).status).toBe(403)
    expect((await server().request('HEAD', `${at}?watch=1`, { as: getter })).status).toBe(403)
    expect((await server().request('GET', at, { as: user('nobody') })).status).toBe(403)
  })

  it('[COLL-004][COLL-005][COLL-015][COLL-017] limit cuts, continue goes on, the rest is counted', async () => {
    const at = await collection(server(), ...five)
    const first: List = await server().ok('GET', `${at}?limit=2`)
    expect(names(first)).toEqual(['a', 'b'])
    expect(first.metadata.continue).toMatch(/./)
    expect(first.metadata.remainingItemCount).toBe(3)
    const second: List = await server().ok('GET', `${at}?limit=2&continue=${next(first)}`)
    expect(names(second)).toEqual(['c', 'd'])
    expect(second.metadata.remainingItemCount).toBe(1)
    const last: List = await server().ok('GET', `${at}?limit=2&continue=${next(second)}`)
    expect(names(last)).toEqual(['e'])
    expect(last.metadata.continue ?? '').toBe('')
    expect(last.metadata.remainingItemCount).toBeUndefined()
    const rest: List = await server().ok('GET', `${at}?continue=${next(first)}`)
    expect(names(rest)).toEqual(['c', 'd', 'e'])
    const selected: List = await server().ok('GET', `${at}?limit=1&labelSelector=name`)
    expect(selected.metadata.continue).toMatch(/./)
    expect(selected.metadata.remainingItemCount).toBeUndefined()
    const odd = await server().request('GET', `${at}?limit=two`)
    expect(odd.status).toBe(400)
    expect(odd.body.message).toContain('"two"')
  })

  it('[COLL-016][LIM-015] the client alone chooses the size of a chunk', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    const made = Array.from({ length: 6000 }, (_, index) => ({ metadata: { name: `n-${index}` } }))
    for (let from = 0; from < made.length; from += 200) {
      const some = made.slice(from, from + 200)
      await Promise.all(some.map((body) => server().ok('POST', at, { body })))
    }
    const all: List = await server().ok('GET', at)
    expect(all.items.length).toBe(6000)
    expect(all.metadata.continue ?? '').toBe('')
    for (const limit of [10, 900, 5000]) {
      const page: List = await server().ok('GET', `${at}?limit=${limit}`)
      expect(page.items.length).toBe(limit)
      expect(page.metadata.continue).toMatch(/./)
    }
    expect((await server().ok('GET', `${at}?limit=7000`)).items.length).toBe(6000)
  })

  it('[COLL-018] all chunks show one version of the collection', async () => {
    const at = await collection(server(), ...five)
    const before: List = await server().ok('GET', at)
    let page: List = await server().ok('GET', `${at}?limit=2`)
    const { resourceVersion } = page.metadata
    const seen = [...page.items]
    for (const round of [1, 2]) {
      await server().ok('POST', at, { body: { metadata: { name: `bb-${round}` } } })
      await server().ok('DELETE', `${at}/${round === 1 ? 'c' : 'd'}`)
      await server().ok('PUT', `${at}/e`, {
        body: { metadata: { name: 'e' }, data: { round: String(round) } },
      })
      page = await server().ok('GET', `${at}?limit=2&continue=${next(page)}`)
      expect(page.metadata.resourceVersion).toBe(resourceVersion)
      seen.push(...page.items)
    }
    expect(page.metadata.continue ?? '').toBe('')
    expect(seen).toEqual(before.items)
  })

  it('[COLL-010] resourceVersion says which version of the data is wanted', async () => {
    const at = await collection(server(), 'a')
    const { metadata } = await server().ok('GET', at)
    const now = metadata.resourceVersion
    for (const path of [at, `${at}/a`]) {
      for (const version of ['0', now]) {
        const answer = await server().request('GET', `${path}?resourceVersion=${version}`)
        expect(answer.status).toBe(200)
      }
      const future = await server().request('GET', `${path}?resourceVersion=9999999999`)
      expect(future.status).toBe(504)
      expect(future.body.message).toBe(
        `Timeout: Too large resource version: 9999999999, current: ${now}`,
      )
    }
    const watch = await server().watch(`${at}?watch=1&resourceVersion=${now}`)
    await server().ok('POST', at, { body: { metadata: { name: 'b' } } })
    expect((await watch.next()).object.metadata.name).toBe('b')
    watch.close()
  })

  it('[COLL-011] Exact gives the collection at exactly that version', async () => {
    const at = await collection(server(), 'a', 'b')
    const before: List = await server().ok('GET', at)
    await server().ok('DELETE', `${at}/a`)
    await server().ok('PUT', `${at}/b`, { body: { metadata: { name: 'b' }, data: { x: 'y' } } })
    await server().ok('POST', at, { body: { metadata: { name: 'c' } } })
    const version = before.metadata.resourceVersion
    const then = await server().ok(
      'GET',
      `${at}?resourceVersion=${version}&resourceVersionMatch=Exact`,
    )
    expect(then).toEqual(before)
    const page = await server().ok(
      'GET',
      `${at}?limit=1&resourceVersion=${version}&resourceVersionMatch=Exact`,
    )
    expect(names(page)).toEqual(['a'])
    expect(names(await server().ok('GET', `${at}?continue=${next(page)}`))).toEqual(['b'])
  })

  it('[COLL-012] NotOlderThan gives data at least as new', async () => {
    const at = await collection(server(), 'a')
    const made = await server().ok('POST', at, { body: { metadata: { name: 'b' } } })
    const version = made.metadata.resourceVersion
    const list = await server().ok(
      'GET',
      `${at}?resourceVersion=${version}&resourceVersionMatch=NotOlderThan`,
    )
    expect(Number(list.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(version))
    expect(names(list)).toContain('b')
    const future = await server().request(
      'GET',
      `${at}?resourceVersion=9999999999&resourceVersionMatch=NotOlderThan`,
    )
    expect(future.status).toBe(504)
  })

  it('[COLL-013][COLL-014][COLL-019] contradictions are refused', async () => {
    const at = await collection(server(), ...five)
    const { status, body } = await server().request(
      'GET',
      `${at}?resourceVersion=1&resourceVersionMatch=Foo`,
    )
    expect(status).toBe(422)
    expect(body).toMatchObject({ reason: 'Invalid', details: { kind: 'ListOptions' } })
    const alone = await server().request('GET', `${at}?resourceVersionMatch=Exact`)
    expect([400, 422]).toContain(alone.status)
    expect(alone.body.message).toContain('forbidden unless resourceVersion is provided')
    const page: List = await server().ok('GET', `${at}?limit=2`)
    const go = `${at}?limit=2&continue=${next(page)}`
    const both = await server().request('GET', `${go}&resourceVersion=5`)
    expect(both.status).toBe(400)
    expect(both.body.reason).toBe('BadRequest')
    expect((await server().request('GET', go)).status).toBe(200)
    expect((await server().request('GET', `${go}&resourceVersion=0`)).status).toBe(200)
  })

  it('[COLL-023] where the match means nothing it changes nothing', async () => {
    // Component statuses are made on the spot: there are no versions to choose from.
    const plain = await server().ok('GET', '/api/v1/componentstatuses')
    const asked = await server().ok(
      'GET',
      '/api/v1/componentstatuses?resourceVersion=1&resourceVersionMatch=Exact',
    )
    expect(asked).toEqual(plain)
  })

  it('of one name has that object alone, in a namespace, in all, and of a kind without any', async () => {
    const at = await collection(server(), 'one', 'one-more', 'two')
    const there = await collection(server(), 'one')
    const named = async (path: string, more = ''): Promise<string[]> =>
      names(await server().ok('GET', `${path}?fieldSelector=metadata.name%3Done${more}`))
    expect(await named(at)).toEqual(['one'])
    expect(await named(at, '&limit=1')).toEqual(['one'])
    expect(await named(at, '&labelSelector=name%3Dtwo')).toEqual([])
    expect(await named(at, '%2Cmetadata.name%3Dtwo')).toEqual([])
    expect(await named('/api/v1/configmaps')).toEqual(['one', 'one'])
    await server().ok('DELETE', `${there}/one`)
    expect(await named(there)).toEqual([])
    const namespaces = '/api/v1/namespaces?fieldSelector=metadata.name%3D'
    expect(names(await server().ok('GET', `${namespaces}default`))).toEqual(['default'])
    expect(names(await server().ok('GET', `${namespaces}defaul`))).toEqual([])
  })

  it('of one name shows an earlier version on demand', async () => {
    const at = await collection(server(), 'one')
    const before = await server().ok('GET', at)
    await server().ok('DELETE', `${at}/one`)
    const version = String(before.metadata.resourceVersion)
    const exact = `&resourceVersion=${version}&resourceVersionMatch=Exact`
    const path = `${at}?fieldSelector=metadata.name%3Done`
    expect(names(await server().ok('GET', `${path}${exact}`))).toEqual(['one'])
    expect(names(await server().ok('GET', path))).toEqual([])
  })

  it('[COLL-024] lists and watches take label and field selectors', async () => {
    const at = await collection(server(), ...five)
    const listed = async (query: string): Promise<string[]> =>
      names(await server().ok('GET', `${at}?${query}`))
    expect(await listed('labelSelector=name%3Db')).toEqual(['b'])
    expect(await listed('labelSelector=name%20in%20(a,c),name!%3Dc')).toEqual(['a'])
    expect(await listed('labelSelector=!name')).toEqual([])
    expect(await listed('fieldSelector=metadata.name%3Dd')).toEqual(['d'])
    expect(await listed('fieldSelector=metadata.name!%3Dd')).toEqual(['a', 'b', 'c', 'e'])
    expect(await listed('labelSelector=name&fieldSelector=metadata.name%3Da')).toEqual(['a'])
    const byLabel = await server().watch(`${at}?watch=1&resourceVersion=0&labelSelector=name%3Dx`)
    const byField = await server().watch(`${at}?watch=1&fieldSelector=metadata.name%3Dy`)
    for (const name of ['w', 'x', 'y']) {
      await server().ok('POST', at, { body: { metadata: { name, labels: { name } } } })
    }
    expect((await byLabel.next()).object.metadata.name).toBe('x')
    expect((await byField.next()).object.metadata.name).toBe('y')
    expect([byLabel.waiting, byField.waiting]).toEqual([[], []])
    // An object that leaves the selector is gone for this watcher.
    await server().ok('PUT', `${at}/x`, { body: { metadata: { name: 'x' } } })
    expect(await byLabel.next()).toMatchObject({ type: 'DELETED' })
    byLabel.close()
    byField.close()
  })
})
