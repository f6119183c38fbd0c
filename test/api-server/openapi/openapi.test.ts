import { describe, expect, test } from 'vitest'
import { dialects, type Dialect } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { CustomKind } from '../../../components/api-server/openapi/group-version.ts'
import { createOpenApi } from '../../../components/api-server/openapi/openapi.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'

type Json = any

const protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'

function server(dialect: Dialect, custom: readonly CustomKind[] = [], cbor = false) {
  const served = resourcesOf(dialect).all
  const openApi = createOpenApi({
    dialect,
    resources: () => served,
    custom: () => custom,
    cbor,
    serverVersion: 'v1.32.0',
    pause: () => Promise.resolve(),
  })
  const json = async (path: string): Promise<Json> => {
    const document = await openApi(path, 'application/json')
    if (document === undefined) throw new Error(`no ${path}`)
    return JSON.parse(document.body.toString())
  }
  return { openApi, json, served }
}

/** Every `$ref` anywhere in a value. */
function references(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(references)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, child]) =>
    key === '$ref' && typeof child === 'string' ? [child] : references(child),
  )
}

function operations(document: Json): Json[] {
  return Object.values<Json>(document.paths).flatMap((item) =>
    Object.entries<Json>(item).flatMap(([method, operation]) =>
      method === 'parameters' ? [] : [operation],
    ),
  )
}

const widgets: Resource = {
  ...resourcesOf(dialects.kubernetes).configMaps,
  group: 'example.com',
  package: 'example.com/v1',
  version: 'v1',
  plural: 'widgets',
  singular: 'widget',
  kind: 'Widget',
  listKind: 'WidgetList',
  subresources: [],
}

describe.each([dialects.kubernetes, dialects.svc])('in the $name dialect', (dialect) => {
  const { openApi, json, served } = server(dialect)
  const definitions = `${dialect.apiDomain.split('.').toReversed().join('.')}.`

  test('the index has an address with a hash for every group version, and each address answers', async () => {
    const { paths } = await json('/openapi/v3')
    const names = new Set(
      served.map(({ group, version }) =>
        group === '' ? `api/${version}` : `apis/${group}/${version}`,
      ),
    )
    expect(new Set(Object.keys(paths))).toEqual(names)
    for (const [name, { serverRelativeURL }] of Object.entries<Json>(paths)) {
      expect(serverRelativeURL).toMatch(new RegExp(`^/openapi/v3/${name}\\?hash=[0-9A-F]{128}$`))
      expect((await json(`/openapi/v3/${name}`)).openapi).toBe('3.0.0')
    }
  })

  test('[RES-003] every kind has a definition, and every reference leads to one', async () => {
    const { paths } = await json('/openapi/v3')
    const documents = await Promise.all(
      Object.keys(paths).map((name) => json(`/openapi/v3/${name}`)),
    )
    const kinds = new Set<string>()
    for (const document of documents) {
      const { schemas } = document.components
      for (const target of references(document)) {
        expect(schemas).toHaveProperty([target.replace('#/components/schemas/', '')])
      }
      for (const [name, schema] of Object.entries<Json>(schemas)) {
        expect(name.startsWith(definitions)).toBe(true)
        for (const kind of schema['x-kubernetes-group-version-kind'] ?? []) {
          kinds.add(`${kind.group}/${kind.version}/${kind.kind}`)
        }
      }
    }
    const v2 = await json('/openapi/v2')
    for (const target of references(v2)) {
      expect(v2.definitions).toHaveProperty([target.replace('#/definitions/', '')])
    }
    for (const { group, version, kind } of served)
      expect(kinds).toContain(`${group}/${version}/${kind}`)
    for (const schema of Object.values<Json>(v2.definitions)) {
      for (const kind of schema['x-kubernetes-group-version-kind'] ?? []) {
        kinds.delete(`${kind.group}/${kind.version}/${kind.kind}`)
      }
    }
    expect([...kinds]).toEqual([])
  })

  test('every operation has a name of its own', async () => {
    const names = operations(await json('/openapi/v2')).map(
      ({ operationId }) => operationId as string,
    )
    expect(names.length).toBeGreaterThan(500)
    expect(new Set(names).size).toBe(names.length)
  })

  test('the document is made once', async () => {
    const first = await openApi('/openapi/v3/apis/apps/v1', '')
    expect(await openApi('/openapi/v3/apis/apps/v1', '')).toBe(first)
    expect(first?.hash).toMatch(/^[0-9A-F]{128}$/)
  })
})

describe('in both versions', () => {
  const { openApi, json, served } = server(dialects.kubernetes)

  test('a client finds fieldValidation on the PATCH of every kind that can be patched', async () => {
    const v2 = operations(await json('/openapi/v2')).filter(
      (operation) => operation['x-kubernetes-action'] === 'patch',
    )
    const found = new Set<string>()
    for (const { parameters, 'x-kubernetes-group-version-kind': kind } of v2) {
      expect(parameters.map(({ name }: Json) => name)).toContain('fieldValidation')
      found.add(`${kind.group}/${kind.version}/${kind.kind}`)
    }
    for (const { group, version, kind, verbs } of served) {
      if (verbs.includes('patch')) expect(found).toContain(`${group}/${version}/${kind}`)
    }
  })

  test('a definition says what upstream says', async () => {
    const { components } = await json('/openapi/v3/api/v1')
    const container = components.schemas['io.k8s.api.core.v1.Container']
    expect(container.required).toEqual(['name'])
    expect(container.properties.ports).toMatchObject({
      type: 'array',
      items: {
        allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.ContainerPort' }],
        default: {},
      },
      'x-kubernetes-list-map-keys': ['containerPort', 'protocol'],
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-patch-merge-key': 'containerPort',
      'x-kubernetes-patch-strategy': 'merge',
    })
    expect(components.schemas['io.k8s.api.core.v1.ContainerPort'].properties).toMatchObject({
      containerPort: { type: 'integer', format: 'int32', default: 0 },
      protocol: { type: 'string', default: 'TCP', enum: ['SCTP', 'TCP', 'UDP'] },
    })
    expect(
      components.schemas['io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector'][
        'x-kubernetes-map-type'
      ],
    ).toBe('atomic')
    expect(components.schemas['io.k8s.apimachinery.pkg.util.intstr.IntOrString']).toEqual({
      format: 'int-or-string',
      oneOf: [{ type: 'integer' }, { type: 'string' }],
    })
    const v2 = await json('/openapi/v2')
    expect(v2.definitions['io.k8s.api.core.v1.Pod']).toMatchObject({
      properties: { spec: { $ref: '#/definitions/io.k8s.api.core.v1.PodSpec' } },
      'x-kubernetes-group-version-kind': [{ group: '', kind: 'Pod', version: 'v1' }],
    })
    expect(
      v2.definitions['io.k8s.api.core.v1.ContainerPort'].properties.protocol,
    ).not.toHaveProperty('default')
  })

  test('operations are named and marked as upstream', async () => {
    const { paths } = await json('/openapi/v3/api/v1')
    const pods = paths['/api/v1/namespaces/{namespace}/pods']
    const pod = paths['/api/v1/namespaces/{namespace}/pods/{name}']
    const named = (operation: Json) => [operation.operationId, operation['x-kubernetes-action']]
    expect(named(pods.get)).toEqual(['listCoreV1NamespacedPod', 'list'])
    expect(named(pods.post)).toEqual(['createCoreV1NamespacedPod', 'post'])
    expect(named(pods.delete)).toEqual(['deleteCoreV1CollectionNamespacedPod', 'deletecollection'])
    expect(named(pod.put)).toEqual(['replaceCoreV1NamespacedPod', 'put'])
    expect(named(paths['/api/v1/pods'].get)).toEqual(['listCoreV1PodForAllNamespaces', 'list'])
    expect(named(paths['/api/v1/watch/pods'].get)).toEqual([
      'watchCoreV1PodListForAllNamespaces',
      'watchlist',
    ])
    expect(named(paths['/api/v1/namespaces/{namespace}/pods/{name}/exec'].post)).toEqual([
      'connectCoreV1PostNamespacedPodExec',
      'connect',
    ])
    expect(paths['/api/v1/namespaces/{namespace}/pods/{name}/eviction'].post).toMatchObject({
      operationId: 'createCoreV1NamespacedPodEviction',
      'x-kubernetes-group-version-kind': { group: 'policy', version: 'v1', kind: 'Eviction' },
    })
    const { paths: rbac } = await json('/openapi/v3/apis/rbac.authorization.k8s.io/v1')
    expect(rbac['/apis/rbac.authorization.k8s.io/v1/clusterroles'].get).toMatchObject({
      operationId: 'listRbacAuthorizationV1ClusterRole',
      tags: ['rbacAuthorization_v1'],
    })
  })

  test('version 2 comes as protobuf for those who ask for it', async () => {
    const document = await openApi('/openapi/v2', protobuf)
    expect(document?.contentType).toBe('application/com.github.proto-openapi.spec.v2.v1.0+protobuf')
    // Field 1 of the message is the version, as text of three bytes.
    expect(document?.body.subarray(0, 5).toString('latin1')).toBe('\n\x032.0')
    expect(document?.body.includes('io.k8s.api.core.v1.PodSpec')).toBe(true)
    const plain = await openApi('/openapi/v2', `application/json, ${protobuf}`)
    expect(plain?.contentType).toBe('application/json')
  })

  test('other paths have no document', async () => {
    for (const path of [
      '/openapi',
      '/openapi/v4',
      '/openapi/v3/api',
      '/openapi/v3/apis/none/v1',
      '/openapi/v3/__proto__',
    ]) {
      expect(await openApi(path, '')).toBeUndefined()
    }
  })
})

test('custom kinds have documents of their own, which change with them', async () => {
  const schema = {
    type: 'object',
    properties: {
      spec: { type: 'object', nullable: true, properties: { size: { type: 'integer' } } },
    },
  }
  const custom: CustomKind[] = [{ resource: widgets, schema, keepsUnknown: false }]
  const { json } = server(dialects.kubernetes, custom)
  const v3 = await json('/openapi/v3/apis/example.com/v1')
  const definition = v3.components.schemas['com.example.v1.Widget']
  expect(definition.properties.spec).toEqual(schema.properties.spec)
  expect(definition['x-kubernetes-group-version-kind']).toEqual([
    { group: 'example.com', kind: 'Widget', version: 'v1' },
  ])
  const list = v3.paths['/apis/example.com/v1/namespaces/{namespace}/widgets'].get
  expect(list.responses[200].content['application/json'].schema.$ref).toBe(
    '#/components/schemas/com.example.v1.WidgetList',
  )
  for (const target of references(v3)) {
    expect(v3.components.schemas).toHaveProperty([target.replace('#/components/schemas/', '')])
  }
  const v2 = await json('/openapi/v2')
  expect(v2.definitions['com.example.v1.Widget'].properties.spec).toEqual({})
  const without = await server(dialects.kubernetes).json('/openapi/v3')
  expect(without.paths).not.toHaveProperty(['apis/example.com/v1'])
  expect((await json('/openapi/v3')).paths).toHaveProperty(['apis/example.com/v1'])
})

test('CBOR is among the media types while it is served', async () => {
  const path = '/apis/apps/v1/namespaces/{namespace}/deployments'
  const typesOf = async (cbor: boolean) => {
    const { json } = server(dialects.kubernetes, [], cbor)
    const v3 = await json('/openapi/v3/apis/apps/v1')
    const v2 = await json('/openapi/v2')
    const patch = `${path}/{name}`
    expect(Object.keys(v3.paths[path].get.responses[200].content)).toEqual(
      v2.paths[path].get.produces,
    )
    expect(Object.keys(v3.paths[patch].patch.requestBody.content)).toEqual(
      v2.paths[patch].patch.consumes,
    )
    const { paths } = await json('/openapi/v3')
    return {
      list: v2.paths[path].get.produces as string[],
      get: v2.paths[patch].get.produces as string[],
      patch: v2.paths[patch].patch.consumes as string[],
      address: paths['apis/apps/v1'].serverRelativeURL as string,
    }
  }
  const on = await typesOf(true)
  expect(on.list).toEqual([
    'application/json',
    'application/yaml',
    'application/vnd.kubernetes.protobuf',
    'application/cbor',
    'application/json;stream=watch',
    'application/vnd.kubernetes.protobuf;stream=watch',
    'application/cbor-seq',
  ])
  expect(on.get.at(-1)).toBe('application/cbor')
  expect(on.patch.slice(-2)).toEqual([
    'application/apply-patch+yaml',
    'application/apply-patch+cbor',
  ])
  const off = await typesOf(false)
  expect([...off.list, ...off.get, ...off.patch].join()).not.toContain('cbor')
  expect(off.address).not.toBe(on.address)
})
