/** Importing from one API server into another. */
import { describe, expect, it } from 'vitest'
import { importObjects, type ImportOptions } from '../../../cluster/import/import-objects.ts'
import { writeObjects, type Written } from '../../../cluster/import/write-objects.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { createClient, type Client } from '../../../components/client/client.ts'
import { createDiscovery } from '../../../components/client/server-resources.ts'
import {
  admin,
  startApiServer,
  user,
  type Identity,
  type TestApiServer,
} from '../../support/api-server.ts'

const nothing = (): void => {}
const { signal } = new AbortController()

function clientOf(server: TestApiServer, as: Identity = admin): Client & Disposable {
  const shown = server.credential(as)
  const client = createClient({
    server: `https://127.0.0.1:${server.port}`,
    ca: server.pki.authority.certificatePem,
    credentials: { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' },
    dialect: dialects.kubernetes,
  })
  return { ...client, [Symbol.dispose]: () => client.close() }
}

const options: ImportOptions = {
  kinds: [],
  namespaces: [],
  includeSecrets: false,
  target: undefined,
  signal,
  onProgress: nothing,
}

async function copied(
  source: Client,
  target: TestApiServer,
  more: Partial<ImportOptions> = {},
): Promise<Written> {
  using into = clientOf(target)
  const served = await createDiscovery(into)(signal)
  const { objects } = await importObjects(source, { ...options, target: served, ...more })
  return await writeObjects(into, objects, { signal, onProgress: nothing })
}

const widgets = {
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
}
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const ofWidgets = '/apis/example.com/v1/namespaces/shop/widgets'
const ofConfigMaps = '/api/v1/namespaces/shop/configmaps'

/** A shop: a custom resource with a status, what it owns, and a Secret. */
async function fill(server: TestApiServer): Promise<void> {
  await server.namespace('shop')
  await server.ok('POST', definitions, { body: widgets })
  const widget = {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w' },
    spec: { size: 3 },
  }
  let made: { metadata: { uid: string; resourceVersion: string } } | undefined
  while (made === undefined) {
    // The definition is served as soon as it is established.
    const reply = await server.request('POST', ofWidgets, { body: widget })
    if (reply.status === 201) made = reply.body
    else if (reply.status !== 404) throw new Error(reply.text)
  }
  await server.ok('PUT', `${ofWidgets}/w/status`, { body: { ...made, status: { phase: 'Ready' } } })
  const owner = { apiVersion: 'example.com/v1', kind: 'Widget', name: 'w', uid: made.metadata.uid }
  await server.ok('POST', ofConfigMaps, {
    body: {
      metadata: { name: 'owned', ownerReferences: [{ ...owner, controller: true }] },
      data: { a: 'b' },
    },
  })
  await server.ok('POST', ofConfigMaps, {
    body: {
      metadata: { name: 'orphan', ownerReferences: [{ ...owner, uid: 'gone', name: 'gone' }] },
    },
  })
  await server.ok('POST', '/api/v1/namespaces/shop/secrets', {
    body: { metadata: { name: 's' }, stringData: { a: 'b' } },
  })
  await server.ok('POST', '/api/v1/namespaces/kube-system/configmaps', {
    body: { metadata: { name: 'of-the-system' } },
  })
}

describe('importing into a cluster', () => {
  it('brings definitions, custom resources with their status, and owners by their new uids', async () => {
    await using source = await startApiServer()
    await using target = await startApiServer()
    await fill(source)
    using from = clientOf(source)
    const written = await copied(from, target)
    expect(written.failed).toEqual([])
    const widget = await target.ok('GET', `${ofWidgets}/w`)
    expect(widget).toMatchObject({ spec: { size: 3 }, status: { phase: 'Ready' } })
    const owned = await target.ok('GET', `${ofConfigMaps}/owned`)
    expect(owned.metadata.ownerReferences).toMatchObject([
      { uid: widget.metadata.uid, controller: true },
    ])
    const orphan = await target.ok('GET', `${ofConfigMaps}/orphan`)
    expect(orphan.metadata).not.toHaveProperty('ownerReferences')
    expect((await target.ok('GET', '/api/v1/namespaces/shop/secrets')).items).toEqual([])
    const system = await target.request(
      'GET',
      '/api/v1/namespaces/kube-system/configmaps/of-the-system',
    )
    expect(system.status).toBe(404)
  })

  it('changes nothing that is there already', async () => {
    await using source = await startApiServer()
    await using target = await startApiServer()
    await fill(source)
    await target.namespace('shop')
    await target.ok('POST', ofConfigMaps, {
      body: { metadata: { name: 'owned' }, data: { mine: 'yes' } },
    })
    using from = clientOf(source)
    const first = await copied(from, target)
    expect([first.failed, first.existed > 0]).toEqual([[], true])
    expect((await target.ok('GET', `${ofConfigMaps}/owned`)).data).toEqual({ mine: 'yes' })
    const again = await copied(from, target)
    expect([again.created, again.failed]).toEqual([0, []])
  })

  it('brings chosen kinds and namespaces, and Secrets when they are asked for', async () => {
    await using source = await startApiServer()
    await using target = await startApiServer()
    await fill(source)
    await source.namespace('other')
    using from = clientOf(source)
    const of = async (more: Partial<ImportOptions>): Promise<string[]> => {
      const { objects } = await importObjects(from, { ...options, ...more })
      return objects.map(({ resource, object }) => `${resource.kind} ${object.metadata.name}`)
    }
    expect(await of({ namespaces: ['shop'] })).toEqual(
      ['Namespace shop', 'CustomResourceDefinition widgets.example.com'].concat([
        expect.stringMatching(/^(ConfigMap|ServiceAccount) /),
        expect.stringMatching(/^(ConfigMap|ServiceAccount) /),
        expect.stringMatching(/^(ConfigMap|ServiceAccount|Widget) /),
        expect.stringMatching(/^(ConfigMap|ServiceAccount|Widget) /),
      ]),
    )
    expect(await of({ namespaces: ['other'] })).toEqual([
      'Namespace other',
      'ServiceAccount default',
    ])
    expect(await of({ kinds: ['secret'], includeSecrets: true, namespaces: ['shop'] })).toEqual([
      'Namespace shop',
      'Secret s',
    ])
    await expect(of({ kinds: ['secrets'] })).rejects.toThrow('only with --include-secrets')
    await expect(of({ kinds: ['deploymnts'] })).rejects.toMatchObject({
      kind: 'usage',
      message: 'the server has no kind "deploymnts"',
      hint: 'did you mean deployments?',
    })
    const written = await copied(from, target, { kinds: ['widgets'], namespaces: ['shop'] })
    expect(written.failed).toEqual([
      {
        kind: 'widgets.example.com',
        name: 'shop/w',
        why: 'the cluster does not serve example.com/v1 Widget',
      },
    ])
  })

  it('reads lists in pages', async () => {
    await using source = await startApiServer()
    await source.namespace('shop')
    const names = Array.from({ length: 1100 }, (_, i) => `c${i}`)
    await Promise.all(
      names.map((name) => source.ok('POST', ofConfigMaps, { body: { metadata: { name } } })),
    )
    using from = clientOf(source)
    const { objects } = await importObjects(from, { ...options, kinds: ['cm'] })
    const found = objects.filter(({ resource }) => resource.kind === 'ConfigMap')
    expect(new Set(found.map(({ object }) => object.metadata.name)).size).toBe(1100)
    expect(source.audit().some(({ requestURI }) => requestURI.includes('continue='))).toBe(true)
  })

  it('names what the user may not read, and imports the rest', async () => {
    await using source = await startApiServer()
    await using target = await startApiServer()
    await fill(source)
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/shop'
    await source.ok('POST', `${rbac}/roles`, {
      body: {
        metadata: { name: 'reader' },
        rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }],
      },
    })
    await source.ok('POST', `${rbac}/rolebindings`, {
      body: {
        metadata: { name: 'reader' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
        subjects: [{ kind: 'User', name: 'jane', apiGroup: 'rbac.authorization.k8s.io' }],
      },
    })
    using jane = clientOf(source, user('jane'))
    const { objects, unread } = await importObjects(jane, { ...options, namespaces: ['shop'] })
    expect(objects.map(({ resource }) => resource.kind)).toEqual([
      'Namespace',
      'ConfigMap',
      'ConfigMap',
    ])
    expect(unread).toContainEqual({
      kind: 'deployments.apps',
      namespace: 'shop',
      why: 'deployments.apps is forbidden: User "jane" cannot list resource "deployments" in API group "apps" in the namespace "shop"',
    })
    const written = await copied(jane, target, { namespaces: ['shop'] })
    expect(written).toEqual({ created: 3, existed: 0, failed: [] })
  })
})
