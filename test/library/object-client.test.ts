/** Clients of the library against a real API server: verbs, names of kinds, errors, kubeconfigs. */
import { describe, expect, it } from 'vitest'
import { createClient } from '../../components/client/client.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import { connectionFrom, parseKubeconfig } from '../../components/client/kubeconfig.ts'
import { StatusError } from '../../components/machinery/objects/status-error.ts'
import { createObjectClient } from '../../library/object-client.ts'
import type { KubernetesObject, ObjectClient } from '../../library/types.ts'
import { UnknownKindError } from '../../scenarios/engine/unknown-kind-error.ts'
import { define, definitionOf, definitionsPath, whenTrue } from '../support/custom-definitions.ts'
import { eventually } from '../support/eventually.ts'
import { describeDialects, sharedServer } from '../support/shared-server.ts'
import { optionsOf } from './place.ts'

const configMap = (name: string, data: Record<string, string> = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
})

describeDialects('verbs', (server) => {
  async function place(): Promise<ObjectClient> {
    const namespace = await server().namespace()
    return createObjectClient(optionsOf(server(), 'admin', { namespace }))
  }

  it('create, get, list, replace, apply, patch and delete objects in the client’s namespace', async () => {
    using api = await place()
    const { namespace } = api
    const made = await api.create(configMap('a', { x: '1' }))
    expect(made).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'a', namespace } })
    const a = { kind: 'ConfigMap', name: 'a' }
    expect(await api.get(a)).toEqual(made)
    expect(await api.list({ kind: 'cm' })).toEqual([made])
    expect(await api.list({ kind: 'cm', namespace: 'default' })).toEqual([])
    expect(
      await api.list({ kind: 'configmaps', namespace: '*', fieldSelector: 'metadata.name=a' }),
    ).toEqual([made])

    const replaced = await api.replace({ ...made, data: { x: '2' } })
    expect(replaced['data']).toEqual({ x: '2' })
    await expect(api.replace({ ...made, data: { x: '3' } })).rejects.toMatchObject({
      name: 'StatusError',
      reason: 'Conflict',
    })

    await api.patch(a, { data: { y: '4' } }, { type: 'merge' })
    await api.patch(a, [{ op: 'remove', path: '/data/x' }], { type: 'json' })
    const applied = await api.apply(configMap('a', { z: '5' }))
    expect(applied['data']).toEqual({ y: '4', z: '5' })
    expect(applied.metadata?.['managedFields']).toContainEqual(
      expect.objectContaining({ manager: 'kube-skiff', operation: 'Apply' }),
    )

    expect(await api.delete(a)).toBeUndefined()
    await expect(api.get(a)).rejects.toMatchObject({ reason: 'NotFound', code: 404 })
  })

  it('apply makes an object, and refuses fields of others unless it is forced', async () => {
    using api = await place()
    await api.apply(configMap('a', { x: '1' }), { fieldManager: 'other' })
    await expect(api.apply(configMap('a', { x: '2' }))).rejects.toMatchObject({
      reason: 'Conflict',
    })
    const { data } = await api.apply(configMap('a', { x: '2' }), { force: true })
    expect(data).toEqual({ x: '2' })
  })

  it('a dry run changes nothing', async () => {
    using api = await place()
    await api.create(configMap('a'), { dryRun: true })
    expect(await api.list({ kind: 'ConfigMap' })).toEqual([])
  })

  it('status, evictions, tokens and scales go to sub-resources', async () => {
    using api = await place()
    const pod: KubernetesObject = await api.create({
      kind: 'Pod',
      metadata: { name: 'web' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    })
    expect(pod.apiVersion).toBe('v1')
    const running = await api.replace(
      { ...pod, status: { phase: 'Running' } },
      { subresource: 'status' },
    )
    expect(running['status'].phase).toBe('Running')
    expect(
      (await api.get({ kind: 'Pod', name: 'web' }, { subresource: 'status' }))['status'],
    ).toEqual(running['status'])

    const token = await api.create(
      { kind: 'TokenRequest', metadata: { name: 'default' }, spec: {} },
      { subresource: 'token' },
    )
    expect((token as KubernetesObject)['status'].token).toMatch(/^ey/)

    await api.create(
      { kind: 'Eviction', metadata: { name: 'web' } },
      { subresource: 'eviction', dryRun: true },
    )
    expect(await api.list({ kind: 'Pod' })).toHaveLength(1)

    await api.create({
      kind: 'ReplicaSet',
      metadata: { name: 'rs' },
      spec: {
        replicas: 0,
        selector: { matchLabels: { a: 'b' } },
        template: {
          metadata: { labels: { a: 'b' } },
          spec: { containers: [{ name: 'c', image: 'i' }] },
        },
      },
    })
    const rs = { kind: 'rs', name: 'rs' }
    await api.patch(rs, { spec: { replicas: 2 } }, { type: 'merge', subresource: 'scale' })
    expect((await api.get(rs))['spec'].replicas).toBe(2)
    const scale = await api.get(rs, { subresource: 'scale' })
    await expect(api.replace(scale, { subresource: 'scale' })).rejects.toThrow(
      'several kinds have a sub-resource scale of kind Scale, such as ',
    )
  })

  it('cluster-scoped kinds have no namespace', async () => {
    using api = await place()
    const name = `role-${api.namespace}`
    await api.create({ kind: 'ClusterRole', metadata: { name }, rules: [] })
    expect((await api.get({ kind: 'ClusterRole', name })).metadata).not.toHaveProperty('namespace')
    await api.delete({ kind: 'clusterroles', name, namespace: 'ignored' })
  })

  it('request sends anything, and gives JSON as values and other answers as text', async () => {
    using api = await place()
    expect(await api.request({ method: 'GET', path: '/version' })).toMatchObject({ major: '1' })
    expect(await api.request({ method: 'GET', path: '/readyz' })).toBe('ok')
    const path = `/api/v1/namespaces/${api.namespace}/configmaps`
    const body = configMap('a', { x: '1' })
    expect(await api.request({ method: 'POST', path, body })).toMatchObject({ data: { x: '1' } })
    const patch = { contentType: 'application/merge-patch+json', body: { data: { x: '2' } } }
    expect(await api.request({ method: 'PATCH', path: `${path}/a`, ...patch })).toMatchObject({
      data: { x: '2' },
    })
    await expect(api.request({ method: 'GET', path: '/nothing' })).rejects.toBeInstanceOf(
      StatusError,
    )
  })
})

describe('a client', () => {
  const server = sharedServer()
  const client = (): ObjectClient => createObjectClient(optionsOf(server()))

  it('a kind that does not exist is an error that suggests the nearest name', async () => {
    using api = client()
    const asked = api.list({ kind: 'Deploymnt' })
    await expect(asked).rejects.toThrow('no such kind: Deploymnt; did you mean Deployment?')
    await expect(asked).rejects.toBeInstanceOf(UnknownKindError)
    await expect(api.get({ kind: 'Pod', apiVersion: 'v2', name: 'x' })).rejects.toThrow(
      'no such kind: Pod of v2',
    )
  })

  it('finds the kind of a definition that is made, changed in scope, and deleted while it is open', async () => {
    using api = client()
    const setup = { group: 'kinds.example.com', kind: 'Boat', names: { shortNames: ['bt'] } }
    await expect(api.list({ kind: 'Boat' })).rejects.toThrow('no such kind: Boat')
    await define(server(), setup)
    await api.create({ kind: 'Boat', metadata: { name: 'a' } })
    expect((await api.get({ kind: 'bt', name: 'a' })).metadata?.namespace).toBe('default')

    const path = `${definitionsPath(server())}/boats.kinds.example.com`
    const gone = async (): Promise<void> => {
      await server().ok('DELETE', path)
      await expect.poll(async () => (await server().request('GET', path)).status).toBe(404)
    }
    await gone()
    await expect(api.get({ kind: 'Boat', name: 'a' })).rejects.toThrow('no such kind: Boat')
    await define(server(), setup)
    await api.create({ kind: 'Boat', metadata: { name: 'b' } })
    await gone()
    await define(server(), { ...setup, scope: 'Cluster' })
    const made = await api.create({ kind: 'Boat', metadata: { name: 'c' } })
    expect(made.metadata).not.toHaveProperty('namespace')
    expect(await api.get({ kind: 'Boat', name: 'c' })).toEqual(made)
  })

  it('looks up a custom kind once, not for every request', async () => {
    await define(server(), { group: 'kinds.example.com', kind: 'Canoe' })
    const looker = { user: 'looker', groups: ['system:masters'] }
    using api = createObjectClient(optionsOf(server(), looker))
    for (const name of ['a', 'b', 'c']) await api.create({ kind: 'Canoe', metadata: { name } })
    expect(await api.list({ kind: 'canoes' })).toHaveLength(3)
    expect(await api.list({ kind: 'canoes' })).toHaveLength(3)
    const lookUps = (): string[] =>
      server()
        .audit()
        .filter(({ user, requestURI }) => user.username === 'looker' && requestURI === '/apis')
        .map(({ verb }) => verb)
    // One for each name of the kind.
    await expect.poll(lookUps).toEqual(['get', 'get'])
  })

  it('a sub-resource that a definition gains is found', async () => {
    using api = client()
    const setup = { group: 'kinds.example.com', kind: 'Raft' }
    await define(server(), setup)
    const raft = await api.create({ kind: 'Raft', metadata: { name: 'a' } })
    await expect(api.replace(raft, { subresource: 'status' })).rejects.toThrow(
      'no kind has a sub-resource status of kind Raft',
    )
    const body = definitionOf(server(), { ...setup, version: { subresources: { status: {} } } })
    const path = `${definitionsPath(server())}/${body.metadata.name}`
    await server().ok('PATCH', path, {
      body,
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    await whenTrue(server(), body.metadata.name, 'Established')
    const whole = { ...raft, status: { x: 1 } }
    const changed = await eventually(() => api.replace(whole, { subresource: 'status' }))
    expect(changed['status']).toEqual({ x: 1 })
  })

  it('its kubeconfig has everything embedded, and is who the client is', async () => {
    using api = createObjectClient(
      optionsOf(server(), { user: 'jane', groups: ['dev'] }, { namespace: 'shop' }),
    )
    const text = api.kubeconfig()
    expect(text).toMatch(/^apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: /)
    const config = await parseKubeconfig(text)
    expect(config['current-context']).toBe('jane@kube-skiff')
    const { namespace, ...connection } = await connectionFrom(config)
    expect(namespace).toBe('shop')
    const other = createClient({ ...connection, dialect: server().dialect })
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
    expect(await other.rest.json({ method: 'POST', path, body: review })).toMatchObject({
      status: { userInfo: { username: 'jane', groups: ['dev', 'system:authenticated'] } },
    })
    other.close()
  })

  it('the kubeconfig of the anonymous user has no credentials', async () => {
    using api = createObjectClient(optionsOf(server(), 'anonymous'))
    expect((await parseKubeconfig(api.kubeconfig())).users).toEqual([
      { name: 'anonymous', user: {} },
    ])
  })

  it('what it sends after it was closed, and to a server that is not there, is a ConnectionError', async () => {
    const api = client()
    api.close()
    await expect(api.list({ kind: 'Pod' })).rejects.toMatchObject({
      name: 'ConnectionError',
      code: 'closed',
    })
    using nowhere = createObjectClient({ ...optionsOf(server()), server: 'https://127.0.0.1:1' })
    await expect(nowhere.list({ kind: 'Pod' })).rejects.toBeInstanceOf(ConnectionError)
  })

  it('a request that is aborted rejects with the reason', async () => {
    using api = client()
    const reason = new Error('enough')
    await expect(api.list({ kind: 'Pod' }, { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    )
  })

  it('arguments are checked before anything is sent', async () => {
    using api = client()
    const wrong = api as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>
    const fault = async (verb: string, ...given: unknown[]): Promise<string> => {
      try {
        await wrong[verb]?.(...given)
      } catch (error) {
        return (error as Error).message
      }
      return 'nothing was thrown'
    }
    expect([
      await fault('get', { kind: 'Pod' }),
      await fault('delete', { kind: 'Pod', name: '' }),
      await fault('delete', { kind: 'Pod', name: 'x' }, { propagationPolicy: 'None' }),
      await fault('list', 'Pod'),
      await fault('list', { kind: 'Pod', label: 'x' }),
      await fault('watch', {}),
      await fault('create', { metadata: { name: 'x' } }),
      await fault('create', 'x'),
      await fault('replace', { kind: 'Pod', metadata: {} }),
      await fault('apply', { kind: 'Pod' }),
      await fault('patch', { kind: 'Pod', name: 'x' }, {}, { type: 'other' }),
      await fault('patch', { kind: 'Pod', name: 'x' }, {}),
      await fault('request', { method: 'GET', path: 'version' }),
    ]).toEqual([
      'get: name is missing: it must be a string that is not empty',
      'delete: name must be a string that is not empty, not ""',
      'delete: propagationPolicy must be one of Orphan, Background, Foreground, not "None"',
      expect.stringMatching(/^list: must be an object with kind, .*, not "Pod"$/),
      expect.stringMatching(/^list: label is not an option; /),
      'watch: kind is missing: it must be a string that is not empty',
      'create: the object: kind is missing: it must be a string that is not empty',
      'create: the object: must be an object with kind, apiVersion, metadata, not "x"',
      'replace: metadata: name is missing: it must be a string that is not empty',
      'apply: metadata: name is missing: it must be a string that is not empty',
      'patch: type must be one of json, merge, strategic, apply, not "other"',
      expect.stringMatching(/^patch: must be an object with /),
      'request: path must be a path that begins with /, not "version"',
    ])
  })
})
