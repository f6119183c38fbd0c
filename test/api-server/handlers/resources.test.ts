/** What resources, kinds, names and objects are: rows RES-001 to RES-018 that one server can show. */
import { describe, expect, it } from 'vitest'
import { startApiServer } from '../../support/api-server.ts'
import { describeDialects, sharedServer } from '../../support/shared-server.ts'

const configMap = (name: string, data: Record<string, string> = {}) => ({
  metadata: { name },
  data,
})

interface Discovered {
  readonly groupVersion: string
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
}

/** Every resource and sub-resource that discovery shows. */
async function discover(server: Awaited<ReturnType<typeof startApiServer>>): Promise<Discovered[]> {
  const { groups } = await server.ok('GET', '/apis')
  const paths = [
    '/api/v1',
    ...groups.flatMap((group: { versions: { groupVersion: string }[] }) =>
      group.versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
    ),
  ]
  const lists = await Promise.all(paths.map((path) => server.ok('GET', path)))
  return lists.flatMap(({ groupVersion, resources }) =>
    resources.map((resource: object) => ({ groupVersion, ...resource })),
  )
}

const collectionPath = ({ groupVersion, name }: Discovered): string =>
  `${groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`}/${name}`

describe('the service', () => {
  const server = sharedServer()

  it('[RES-001] serves a resource-based interface over HTTP', async () => {
    const answer = await server().request('GET', '/api')
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.body).toMatchObject({ kind: 'APIVersions', versions: ['v1'] })
  })

  it('[RES-003] every stored kind is in discovery and has a schema', async () => {
    const found = await discover(server())
    const { definitions } = await server().ok('GET', '/openapi/v2')
    const defined = new Set(
      Object.values(definitions as Record<string, Record<string, object[]>>).flatMap((definition) =>
        (definition['x-kubernetes-group-version-kind'] ?? []).map((one) => {
          const { group, version, kind } = one as Record<string, string>
          return `${group ? `${group}/` : ''}${version} ${kind}`
        }),
      ),
    )
    const stored = found.filter(({ name, verbs }) => !name.includes('/') && verbs.includes('list'))
    expect(stored.length).toBeGreaterThan(50)
    expect(
      stored
        .map(({ groupVersion, kind }) => `${groupVersion} ${kind}`)
        .filter((id) => !defined.has(id)),
    ).toEqual([])
    const namespaceTypes = stored.map(({ name }) => name)
    expect(namespaceTypes).toEqual(expect.arrayContaining(['pods', 'secrets', 'deployments']))
  })

  it('[RES-007] objects of a type have the kind and apiVersion that discovery lists for it', async () => {
    const found = await discover(server())
    const listed = found.filter(({ name, verbs }) => !name.includes('/') && verbs.includes('list'))
    let objects = 0
    for (const resource of listed) {
      const list = await server().ok('GET', collectionPath(resource))
      expect(list).toMatchObject({
        kind: `${resource.kind}List`,
        apiVersion: resource.groupVersion,
      })
      const [first] = list.items
      if (first === undefined) continue
      const { name, namespace } = first.metadata
      const [, ...rest] = collectionPath(resource).split('/').toReversed()
      const root = rest.toReversed().join('/')
      const at = namespace === undefined ? root : `${root}/namespaces/${namespace}`
      const item = await server().ok('GET', `${at}/${resource.name}/${name}`)
      expect(item).toMatchObject({ kind: resource.kind, apiVersion: resource.groupVersion })
      objects += 1
    }
    expect(objects).toBeGreaterThan(8)
  })
})

describeDialects('types and names', (server) => {
  it('[RES-006] the resource type is the name in the path', async () => {
    for (const [type, kind] of [
      ['namespaces', 'NamespaceList'],
      ['pods', 'PodList'],
      ['services', 'ServiceList'],
    ]) {
      const answer = await server().request('GET', `/api/v1/${type}`)
      expect(answer.status).toBe(200)
      expect(answer.body.kind).toBe(kind)
    }
  })

  it('[RES-008] a collection holds its instances, each with a path of its own', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    for (const name of ['one', 'two']) await server().ok('POST', at, { body: configMap(name) })
    const { items } = await server().ok('GET', at)
    expect(items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual([
      'one',
      'two',
    ])
    for (const name of ['one', 'two']) {
      const item = await server().ok('GET', `${at}/${name}`)
      expect(item.kind).toBe('ConfigMap')
      expect(item.metadata.name).toBe(name)
      expect(item.items).toBeUndefined()
    }
  })

  it('[RES-014] an object without a name or a base for one is refused', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    const answer = await server().request('POST', at, { body: { data: { a: '1' } } })
    expect(answer.status).toBe(422)
    expect(answer.body.message).toContain('name or generateName is required')
    expect((await server().ok('GET', at)).items).toEqual([])
  })

  it('[RES-015] a name is taken once per kind and namespace', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    const first = await server().ok('POST', at, { body: configMap('x', { by: 'first' }) })
    const second = await server().request('POST', at, { body: configMap('x', { by: 'second' }) })
    expect(second.status).toBe(409)
    expect(second.body.reason).toBe('AlreadyExists')
    expect(await server().ok('GET', `${at}/x`)).toEqual(first)
    const wrong = await server().request('POST', at, { body: { metadata: { name: 7 } } })
    expect(wrong.status).toBe(400)
  })

  it('[RES-016] a name can be used in another namespace and by another kind', async () => {
    const a = await server().namespace()
    const b = await server().namespace()
    for (const path of [`${a}/configmaps`, `${b}/configmaps`, `${a}/secrets`]) {
      const made = await server().ok('POST', `/api/v1/namespaces/${path}`, {
        body: { metadata: { name: 'x' } },
      })
      expect(made.metadata.name).toBe('x')
    }
  })

  it('[RES-017] a name is free again after deletion', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    const first = await server().ok('POST', at, { body: configMap('x') })
    await server().ok('DELETE', `${at}/x`)
    const again = await server().ok('POST', at, { body: configMap('x') })
    expect(again.metadata.uid).not.toBe(first.metadata.uid)
  })

  it('[RES-018] names of cluster-scoped objects are unique in the cluster', async () => {
    const node = { metadata: { name: 'only' } }
    await server().ok('POST', '/api/v1/nodes', { body: node })
    const second = await server().request('POST', '/api/v1/nodes', { body: node })
    expect(second.status).toBe(409)
    expect(second.body.reason).toBe('AlreadyExists')
    for (const method of ['GET', 'POST']) {
      const path = '/api/v1/namespaces/default/nodes'
      const ask = method === 'POST' ? { body: node } : {}
      expect((await server().request(method, path, ask)).status).toBe(404)
    }
    expect((await server().request('GET', '/api/v1/namespaces/default/nodes/only')).status).toBe(
      404,
    )
  })

  it('a namespace on a cluster-scoped object is dropped, however it is written', async () => {
    const apiVersion = `${server().group('rbac.authorization')}/v1`
    const at = `/apis/${apiVersion}/clusterroles`
    const role = { metadata: { name: 'of-a-chart', namespace: 'charts' }, rules: [] }
    const made = await server().ok('POST', at, { body: role })
    expect(made.metadata).not.toHaveProperty('namespace')
    const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
    const put = await server().ok('PUT', `${at}/of-a-chart`, { body: { ...role, rules } })
    expect(put.metadata).not.toHaveProperty('namespace')
    const applied = await server().ok('PATCH', `${at}/of-a-chart?fieldManager=chart&force=true`, {
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: { apiVersion, kind: 'ClusterRole', ...role },
    })
    expect(applied.metadata).not.toHaveProperty('namespace')
  })
})

describe('state', () => {
  it('[RES-004] outlives a restart: the same uid, version and content', async () => {
    await using server = await startApiServer({ store: 'sqlite' })
    const ns = await server.namespace()
    const made = await server.ok('POST', `/api/v1/namespaces/${ns}/configmaps`, {
      body: configMap('x', { a: '1' }),
    })
    const secrets = `/api/v1/namespaces/${ns}/secrets`
    const secret = await server.ok('POST', secrets, {
      body: { metadata: { name: 's' }, stringData: { a: '1' } },
    })
    const before = await server.ok('GET', '/api/v1/namespaces')
    await server.restart()
    expect(await server.ok('GET', `/api/v1/namespaces/${ns}/configmaps/x`)).toEqual(made)
    expect(await server.ok('GET', `${secrets}/s`)).toEqual(secret)
    const after = await server.ok('GET', '/api/v1/namespaces')
    expect(after.items).toEqual(before.items)
    expect(server.faults).toEqual([])
  })
})
