/** What a server says of itself: rows DISC-001 to DISC-007. */
import { describe, expect, it } from 'vitest'
import { startApiServer, user } from '../../support/api-server.ts'
import { describeDialects } from '../../support/shared-server.ts'

interface Version {
  readonly groupVersion: string
  readonly version: string
}

describeDialects('discovery', (server) => {
  it('[DISC-001] /metrics exposes metrics to those who may see them', async () => {
    await server().ok('GET', '/api/v1/namespaces')
    const answer = await server().request('GET', '/metrics')
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/)
    const lines = answer.text.trimEnd().split('\n')
    const samples = lines.filter((line) => !line.startsWith('#'))
    expect(samples.length).toBeGreaterThan(5)
    for (const line of samples) {
      expect(line).toMatch(/^[a-zA-Z_:][\w:]*(\{.*\})? [-+0-9.eEinfNa]+$/)
    }
    expect(answer.text).toMatch(/^# TYPE apiserver_request_total counter$/m)
    expect(answer.text).toMatch(/^apiserver_request_total\{.*resource="namespaces".*\} \d+$/m)
    const nobody = await server().request('GET', '/metrics', { as: user('nobody') })
    expect(nobody.status).toBe(403)
  })

  it('[DISC-002] /api lists version v1 of the core group', async () => {
    const answer = await server().request('GET', '/api')
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ kind: 'APIVersions', versions: ['v1'] })
    expect(answer.body.serverAddressByClientCIDRs[0].serverAddress).toMatch(/^127\.0\.0\.1:\d+$/)
  })

  it('[DISC-003] /apis lists every served group and version', async () => {
    const answer = await server().request('GET', '/apis')
    expect(answer.status).toBe(200)
    expect(answer.body.kind).toBe('APIGroupList')
    const names = answer.body.groups.map(({ name }: { name: string }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names).toEqual(
      expect.arrayContaining(
        ['apps', 'batch', 'autoscaling', 'policy'].concat(
          ['authentication', 'authorization', 'certificates', 'coordination', 'discovery'].map(
            (stem) => server().group(stem),
          ),
          ['events', 'networking', 'node', 'rbac.authorization', 'scheduling', 'storage'].map(
            (stem) => server().group(stem),
          ),
        ),
      ),
    )
    // What is served is listed, and what is listed is served.
    const listed = answer.body.groups.flatMap(({ versions }: { versions: Version[] }) =>
      versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
    )
    const { paths } = await server().ok('GET', '/')
    const served = paths.filter((path: string) => /^\/apis\/[^/]+\/[^/]+$/.test(path))
    expect([...listed].sort()).toEqual([...served].sort())
    for (const path of listed) {
      expect((await server().request('GET', path)).status, path).toBe(200)
    }
  })

  it('[DISC-004] the paths below list groups, versions and types', async () => {
    const { groups } = await server().ok('GET', '/apis')
    const lists = [await server().ok('GET', '/api/v1')]
    for (const { name, versions, preferredVersion } of groups) {
      const group = await server().ok('GET', `/apis/${name}`)
      expect(group).toMatchObject({ kind: 'APIGroup', name, versions, preferredVersion })
      for (const { groupVersion } of versions as Version[]) {
        const list = await server().ok('GET', `/apis/${groupVersion}`)
        expect(list).toMatchObject({ kind: 'APIResourceList', groupVersion })
        lists.push(list)
      }
    }
    for (const { resources } of lists) {
      expect(resources.length).toBeGreaterThan(0)
      for (const resource of resources) {
        expect(resource.name).toMatch(/^[a-z]+(\/[a-z]+)?$/)
        expect(resource.kind).toMatch(/^[A-Z]\w+$/)
        expect(typeof resource.namespaced).toBe('boolean')
        expect(resource.verbs.length).toBeGreaterThan(0)
      }
    }
    const core = lists[0].resources.map(({ name }: { name: string }) => name)
    expect(core).toEqual(
      expect.arrayContaining(['pods', 'pods/status', 'pods/log', 'pods/eviction', 'namespaces']),
    )
    expect((await server().request('GET', '/apis/none')).status).toBe(404)
    expect((await server().request('GET', '/apis/apps/v9')).status).toBe(404)
  })

  it('[DISC-005] /version gives the release', async () => {
    const answer = await server().request('GET', '/version', { as: 'anonymous' })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ major: '1', minor: '32' })
    expect(answer.body.gitVersion).toMatch(/^v1\.32\.\d+/)
  })

  it('[DISC-006] /openapi/v2 covers every served path and kind', async () => {
    const document = await server().ok('GET', '/openapi/v2')
    expect(document.swagger).toBe('2.0')
    const kinds = new Set(
      Object.values(document.definitions as Record<string, Record<string, object[]>>).flatMap(
        (definition) =>
          (definition['x-kubernetes-group-version-kind'] ?? []).map((one) => {
            const { group, version, kind } = one as Record<string, string>
            return `${group ?? ''}/${version ?? ''}/${kind ?? ''}`
          }),
      ),
    )
    const { groups } = await server().ok('GET', '/apis')
    const versions: string[] = groups.flatMap(({ versions: all }: { versions: Version[] }) =>
      all.map(({ groupVersion }) => groupVersion),
    )
    const missing: string[] = []
    for (const groupVersion of ['v1', ...versions]) {
      const root = groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`
      const [group = '', version = ''] =
        groupVersion === 'v1' ? ['', 'v1'] : groupVersion.split('/')
      for (const resource of (await server().ok('GET', root)).resources) {
        const [plural, subresource] = resource.name.split('/')
        const scope = resource.namespaced ? '/namespaces/{namespace}' : ''
        const hasItems = subresource !== undefined || resource.verbs.includes('get')
        const path = `${root}${scope}/${plural}${hasItems ? '/{name}' : ''}${subresource === undefined ? '' : `/${subresource}`}`
        if (document.paths[path] === undefined) missing.push(path)
        const kind = `${resource.group ?? group}/${resource.version ?? version}/${resource.kind}`
        const hasKind = subresource !== 'proxy' && subresource !== 'log'
        if (hasKind && !/Options$/.test(resource.kind) && !kinds.has(kind)) missing.push(kind)
      }
    }
    expect(missing).toEqual([])
    for (const path of ['/api/', '/apis/', '/version/', '/api/v1/', '/apis/apps/']) {
      expect(document.paths[path], path).toBeDefined()
    }
  })
})

describe('served versions', () => {
  it('[DISC-007] discovery lists exactly the versions that are on', async () => {
    const served = async (flag: string): Promise<string[]> => {
      await using server = await startApiServer({ flags: [`--runtime-config=${flag}`] })
      const { groups } = await server.ok('GET', '/apis')
      const versions: string[] = groups.flatMap(({ versions: all }: { versions: Version[] }) =>
        all.map(({ groupVersion }) => groupVersion),
      )
      for (const [groupVersion, plural] of [
        ['batch/v1', 'jobs'],
        ['authentication.k8s.io/v1beta1', 'selfsubjectreviews'],
        ['networking.k8s.io/v1beta1', 'ipaddresses'],
      ]) {
        const method = plural === 'selfsubjectreviews' ? 'POST' : 'GET'
        const path = `/apis/${groupVersion}/${plural}`
        const answer = await server.request(method, path, method === 'POST' ? { body: {} } : {})
        const isOn = versions.includes(groupVersion ?? '')
        expect([200, 201].includes(answer.status), `${flag}: ${path} ${answer.status}`).toBe(isOn)
        if (!isOn) expect(answer.status).toBe(404)
        const document = await server.request('GET', `/apis/${groupVersion}`)
        expect(document.status).toBe(isOn ? 200 : 404)
      }
      return versions
    }
    const usual = await served('')
    expect(usual).toContain('batch/v1')
    expect(usual.filter((version) => /alpha|beta/.test(version))).toEqual([])
    expect(await served('batch/v1=false')).toEqual(usual.filter((one) => one !== 'batch/v1'))
    const more = await served('networking.k8s.io/v1beta1=true')
    expect(more.filter((one) => !usual.includes(one))).toEqual(['networking.k8s.io/v1beta1'])
    const beta = await served('api/beta=true')
    expect(beta).toEqual(expect.arrayContaining(['networking.k8s.io/v1beta1']))
    expect(beta.filter((one) => !usual.includes(one)).every((one) => /beta/.test(one))).toBe(true)
  })

  it.each(['kubernetes', 'svc'] as const)(
    '[VER-112] the removal of a version can be tried by a flag, dialect %s',
    async (dialect) => {
      const domain = dialect === 'svc' ? 'svc.io' : 'k8s.io'
      for (const [groupVersion, plural] of [
        [`storage.${domain}/v1`, 'storageclasses'],
        ['batch/v1', 'cronjobs'],
      ]) {
        await using server = await startApiServer({
          dialect,
          flags: [`--runtime-config=${groupVersion}=false`],
        })
        const path = `/apis/${groupVersion}`
        for (const at of [path, `${path}/${plural}`, `${path}/${plural}/a`]) {
          expect((await server.request('GET', at)).status, at).toBe(404)
        }
        expect((await server.request('GET', '/apis/apps/v1/deployments')).status).toBe(200)
      }
    },
  )
})
