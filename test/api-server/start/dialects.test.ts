/** The product's name in what a server says: one dialect's, everywhere, never the other's. */
import { describe, expect, it } from 'vitest'
import { samples } from '../../support/one-of-each.ts'
import type { TestApiServer } from '../../support/api-server.ts'
import { sharedServer } from '../../support/shared-server.ts'

/** Names that only the other dialect uses. Component names (`kube-apiserver`) and OpenAPI extensions belong to neither. */
const foreign = {
  kubernetes: /svc\.io|svc-(system|public|node-lease|root-ca)|vnd\.svc/g,
  svc: /k8s\.io|(?<!x-)kubernetes|kube-(system|public|node-lease|root-ca)/g,
}

async function visiblePaths(server: TestApiServer): Promise<string[]> {
  const { groups } = await server.ok('GET', '/apis')
  const versions: string[] = groups.flatMap((group: { versions: { groupVersion: string }[] }) =>
    group.versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
  )
  // What an APIService alone names is not served.
  const served = versions.filter((path) => !path.startsWith('/apis/x.y/'))
  const paths = ['/', '/api', '/apis', '/openapi/v2', '/openapi/v3', '/readyz?verbose']
  for (const path of ['/api/v1', ...served]) {
    paths.push(path)
    for (const { name, verbs } of (await server.ok('GET', path)).resources) {
      if (!name.includes('/') && verbs.includes('list')) paths.push(`${path}/${name}`)
    }
  }
  return paths
}

/** Descriptions tell of upstream's documents; they are no identifiers. */
function withoutProse(body: unknown): string {
  return JSON.stringify(body, (name, value: unknown) =>
    name === 'description' && typeof value === 'string' ? '' : value,
  )
}

describe.each(['kubernetes', 'svc'] as const)('dialect %s', (dialect) => {
  const server = sharedServer({ dialect })

  it('[RES-005] is the only one in discovery, objects, views and media types', async () => {
    const ns = await server().namespace()
    for (const { path, body } of samples(server(), ns)) {
      // Two versions of a kind are the same object.
      expect([201, 409]).toContain((await server().request('POST', path, { body })).status)
    }
    const { apiDomain, systemNamespace, protobufMediaType } = server().dialect
    const accepts = [
      'application/json',
      `application/json;as=Table;v=v1;g=meta.${apiDomain},application/json`,
      `application/json;as=PartialObjectMetadataList;v=v1;g=meta.${apiDomain},application/json`,
      `application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.${apiDomain},application/json`,
    ]
    const found: string[] = []
    for (const path of await visiblePaths(server())) {
      for (const accept of accepts) {
        const answer = await server().request('GET', path, { headers: { accept } })
        expect(answer.status, path).toBe(200)
        const text = `${JSON.stringify(answer.headers)} ${withoutProse(answer.body)}`
        for (const { index } of text.matchAll(foreign[dialect])) {
          found.push(`${path}: ${text.slice(Math.max(0, index - 60), index + 40)}`)
        }
      }
    }
    expect(found).toEqual([])

    const groups = (await server().ok('GET', '/apis')).groups.map(
      (group: { name: string }) => group.name,
    )
    expect(groups).toContain(`rbac.authorization.${apiDomain}`)
    const namespaces = await server().ok('GET', '/api/v1/namespaces')
    const names = namespaces.items.map((item: { metadata: { name: string } }) => item.metadata.name)
    expect(names).toContain(systemNamespace)
    const table = await server().request('GET', '/api/v1/namespaces', {
      headers: { accept: `application/json;as=Table;v=v1;g=meta.${apiDomain}` },
    })
    expect(table.body.apiVersion).toBe(`meta.${apiDomain}/v1`)
    const node = await server().ok('GET', `/api/v1/namespaces/${ns}`)
    expect(Object.keys(node.metadata.labels)).toEqual([
      `${server().dialect.labelDomain}/metadata.name`,
    ])
    const refused = await server().request('POST', '/api/v1/namespaces', {
      body: 'x',
      headers: { 'content-type': 'text/x-unknown' },
    })
    expect(refused.status).toBe(415)
    expect(refused.body.message).toContain(protobufMediaType)
  })

  it("does not know the other's names", async () => {
    const other = dialect === 'svc' ? 'k8s.io' : 'svc.io'
    const path = `/apis/rbac.authorization.${other}/v1/clusterroles`
    expect((await server().request('GET', path)).status).toBe(404)
    const view = await server().request('GET', '/api/v1/namespaces', {
      headers: { accept: `application/json;as=Table;v=v1;g=meta.${other}` },
    })
    expect(view.status).toBe(406)
  })
})
