/** Where resources are served: rows RES-033 to RES-041 and what discovery says of them. */
import { expect, it } from 'vitest'
import type { TestApiServer } from '../../support/api-server.ts'
import { describeDialects } from '../../support/shared-server.ts'

type Named = { metadata: { name: string; namespace?: string } }
const namesOf = (list: { items: Named[] }): string[] =>
  list.items.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`)

const deployment = (name: string) => ({
  metadata: { name },
  spec: {
    selector: { matchLabels: { a: 'b' } },
    template: {
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    },
  },
})
const pod = (name: string) => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }] },
})

async function expectKinds(server: TestApiServer, kinds: Record<string, string>): Promise<void> {
  for (const [path, kind] of Object.entries(kinds)) {
    const answer = await server.request('GET', path)
    expect(answer.status, `${path}: ${answer.text}`).toBe(200)
    expect(answer.body.kind, path).toBe(kind)
  }
}

describeDialects('paths', (server) => {
  it('[RES-033] cluster-scoped core types', async () => {
    await server().ok('POST', '/api/v1/nodes', { body: { metadata: { name: 'n' } } })
    await expectKinds(server(), {
      '/api/v1/nodes': 'NodeList',
      '/api/v1/nodes/n': 'Node',
      '/api/v1/nodes/n/status': 'Node',
    })
  })

  it('[RES-034] namespaced core types', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/pods`
    await server().ok('POST', at, { body: pod('p') })
    await expectKinds(server(), {
      [at]: 'PodList',
      [`${at}/p`]: 'Pod',
      [`${at}/p/status`]: 'Pod',
    })
  })

  it('[RES-035] cluster-scoped types of named groups', async () => {
    const roles = `/apis/${server().group('rbac.authorization')}/v1/clusterroles`
    const volumes = `/apis/${server().group('storage')}/v1/volumeattachments`
    await server().ok('POST', volumes, {
      body: {
        metadata: { name: 'v' },
        spec: { attacher: 'x', nodeName: 'n', source: { persistentVolumeName: 'p' } },
      },
    })
    await expectKinds(server(), {
      [roles]: 'ClusterRoleList',
      [`${roles}/view`]: 'ClusterRole',
      [volumes]: 'VolumeAttachmentList',
      [`${volumes}/v`]: 'VolumeAttachment',
      [`${volumes}/v/status`]: 'VolumeAttachment',
    })
  })

  it('[RES-036] namespaced types of named groups', async () => {
    const at = `/apis/apps/v1/namespaces/${await server().namespace()}/deployments`
    await server().ok('POST', at, { body: deployment('d') })
    await expectKinds(server(), {
      [at]: 'DeploymentList',
      [`${at}/d`]: 'Deployment',
      [`${at}/d/status`]: 'Deployment',
      [`${at}/d/scale`]: 'Scale',
    })
  })

  it('[RES-037][RES-038] collections over all namespaces', async () => {
    const spaces = [await server().namespace(), await server().namespace()]
    for (const ns of spaces) {
      await server().ok('POST', `/apis/apps/v1/namespaces/${ns}/deployments`, {
        body: deployment('everywhere'),
      })
      await server().ok('POST', `/api/v1/namespaces/${ns}/pods`, { body: pod('everywhere') })
    }
    const expected = spaces.map((ns) => `${ns}/everywhere`)
    const deployments = namesOf(await server().ok('GET', '/apis/apps/v1/deployments'))
    expect(deployments).toEqual(expect.arrayContaining(expected))
    const pods = namesOf(await server().ok('GET', '/api/v1/pods'))
    expect(pods).toEqual(expect.arrayContaining(expected))
    const one = namesOf(await server().ok('GET', `/api/v1/namespaces/${spaces[0]}/pods`))
    expect(one).toEqual([expected[0]])
    for (const path of ['/api/v1/pods', '/apis/apps/v1/deployments']) {
      const answer = await server().request('POST', path, { body: pod('x') })
      expect(answer.status).toBe(405)
    }
  })

  it('[RES-039] namespaces are a cluster-scoped type', async () => {
    const ns = await server().namespace()
    const list = await server().ok('GET', '/api/v1/namespaces')
    expect(list.kind).toBe('NamespaceList')
    const names = namesOf(list)
    expect(names).toEqual(expect.arrayContaining([`/${ns}`, '/default']))
  })

  it('[RES-040] one namespace is read by its name', async () => {
    const ns = await server().namespace()
    const found = await server().ok('GET', `/api/v1/namespaces/${ns}`)
    expect(found).toMatchObject({ kind: 'Namespace', apiVersion: 'v1', metadata: { name: ns } })
  })

  it('[RES-041] no sub-resource spans several resources', async () => {
    const ns = await server().namespace()
    await server().ok('POST', `/api/v1/namespaces/${ns}/pods`, { body: pod('p') })
    const lookup = await server().request('GET', `/api/v1/namespaces/${ns}/pods/status`)
    expect(lookup.status).toBe(404)
    expect(lookup.body.message).toBe('pods "status" not found')
    for (const path of [
      '/api/v1/pods/status',
      '/api/v1/pods//status',
      `/api/v1/namespaces/${ns}/pods//log`,
      `/api/v1/namespaces/${ns}/pods//status`,
      '/apis/apps/v1/deployments/scale',
    ]) {
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
        const answer = await server().request(method, path)
        expect([404, 405], `${method} ${path}: ${answer.text}`).toContain(answer.status)
      }
    }
  })
})
