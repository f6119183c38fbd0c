/** Least roles: made of what a user was seen to do, they allow another the same, and nothing more. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import type { PolicyRule } from '../../components/api/generated/types.ts'
import type { RequestRecord } from '../../components/api/request-record.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { leastRole } from '../../monitors/least-role/least-role.ts'
import { collectRequests } from '../../monitors/requests/collect-requests.ts'
import { eventually } from '../support/eventually.ts'
import { startLiveCluster, type LiveCluster } from './live-cluster.ts'

const dialect = dialects.kubernetes
const resources = resourcesOf(dialect)

let live: LiveCluster
beforeAll(async () => {
  live = await startLiveCluster([])
})
afterAll(async () => await live[Symbol.asyncDispose]())

/** What an operator does; each entry is one request. */
function requestsOf(client: Client, namespace: string): (() => Promise<unknown>)[] {
  const configMaps = client.resource(resources.configMaps)
  const leases = client.resource(resources.leases)
  const named = (name: string): KubeObject => ({ metadata: { name, namespace } })
  const ref = { namespace, name: 'settings' }
  return [
    () => configMaps.create(named('settings')),
    () => configMaps.get(ref),
    () => configMaps.patch(ref, { data: { a: 'b' } }, { type: 'merge' }),
    () => configMaps.list({ namespace }),
    () => client.resource(resources.pods).list(),
    () => client.resource(resources.nodes).get({ name: 'node-1' }).catch(notFound),
    () => leases.create(named('leader')),
    () => leases.update({ ...named('leader'), spec: { holderIdentity: 'a' } }),
    () => client.rest.json({ method: 'GET', path: '/metrics/slis' }).catch(notFound),
    () => client.rest.json({ method: 'GET', path: '/api' }),
    () => leases.delete({ namespace, name: 'leader' }),
    () => configMaps.delete(ref),
  ]
}

/** It was allowed. */
function notFound(error: unknown): void {
  if (
    !isStatusError(error, 'NotFound') &&
    !(error instanceof Error && error.message.includes('JSON'))
  )
    throw error
}

/** How many of them are denied. */
async function denials(client: Client, namespace: string): Promise<number> {
  let denied = 0
  for (const request of requestsOf(client, namespace)) {
    try {
      await request()
    } catch (error) {
      if (isStatusError(error, 'Forbidden')) denied += 1
    }
  }
  return denied
}

const clusterScoped = new Set(['ClusterRole', 'ClusterRoleBinding'])
async function apply(objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    const kinds = Object.values(resources.all).find(
      ({ kind, group }) => kind === object.kind && group.startsWith('rbac'),
    )
    if (kinds === undefined) throw new Error(`no kind ${object.kind}`)
    const { name = '', namespace } = object.metadata
    const ref = clusterScoped.has(object.kind ?? '') ? { name } : { name, namespace }
    await live.client
      .resource(kinds)
      .patch(ref, object, { type: 'apply', fieldManager: 'test', force: true })
  }
}

describe('the least role', () => {
  it('allows another user the same requests, and without one of its rules denies some', async () => {
    const namespace = 'default'
    const admin = live.as('operator', { groups: ['system:masters'] })
    const done = Promise.withResolvers<void>()
    const opened = Promise.withResolvers<void>()
    const collecting = collectRequests(
      live.client,
      { user: 'operator' },
      { until: done.promise, onOpen: opened.resolve },
    )
    await opened.promise
    expect(await denials(admin, namespace)).toBe(0)
    done.resolve()
    const { records } = await collecting
    const { objects, denied } = leastRole(records, { user: 'heir', dialect, name: 'least' })
    expect(denied).toEqual([])
    expect(objects.map(({ kind, metadata }) => [kind, metadata.namespace])).toEqual([
      ['ClusterRole', undefined],
      ['ClusterRoleBinding', undefined],
      ['Role', namespace],
      ['RoleBinding', namespace],
    ])
    const [cluster, , role] = objects
    expect(cluster?.['rules']).toEqual([
      { apiGroups: [''], resources: ['nodes'], verbs: ['get'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
      { nonResourceURLs: ['/metrics/slis'], verbs: ['get'] },
    ])
    expect(role?.['rules']).toEqual([
      {
        apiGroups: [''],
        resources: ['configmaps'],
        verbs: ['create', 'delete', 'get', 'list', 'patch'],
      },
      {
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        verbs: ['create', 'delete', 'update'],
      },
    ])

    const heir = live.as('heir')
    expect(await denials(heir, namespace)).toBe(11)
    await apply(objects)
    await eventually(async () => expect(await denials(heir, namespace)).toBe(0))
    for (const whole of [cluster, role]) {
      if (whole === undefined) throw new Error('no role')
      const rules = whole['rules'] as PolicyRule[]
      for (const left of rules) {
        await apply([{ ...whole, rules: rules.filter((one) => one !== left) }])
        await eventually(async () => expect(await denials(heir, namespace)).toBeGreaterThan(0))
      }
      await apply([whole])
    }
  })
})

const record = (more: Partial<RequestRecord>): RequestRecord => ({
  seq: 1,
  id: 'id',
  atMs: 0,
  durationMs: 1,
  user: 'jane',
  userAgent: 'test',
  verb: 'get',
  group: '',
  resource: 'pods',
  subresource: '',
  namespace: 'shop',
  name: 'web',
  path: '/',
  status: 200,
  decision: 'allow',
  ...more,
})
const rolesOf = (records: RequestRecord[], more: object = {}) =>
  leastRole(records, { user: 'jane', dialect, name: 'least', ...more })
    .objects.filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole')
    .map(({ kind, metadata, rules }) => ({
      kind,
      namespace: metadata.namespace,
      rules: rules as PolicyRule[],
    }))

describe('a least role of records', () => {
  it('is a ClusterRole for what is needed in several namespaces, and a Role for what is needed in one', () => {
    const roles = rolesOf([
      record({}),
      record({ namespace: 'team' }),
      record({ verb: 'list', name: '' }),
    ])
    expect(roles).toEqual([
      {
        kind: 'ClusterRole',
        namespace: undefined,
        rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
      },
      {
        kind: 'Role',
        namespace: 'shop',
        rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }],
      },
    ])
  })

  it('names objects where few are asked for and names are wanted', () => {
    const few = [
      record({}),
      record({ verb: 'patch', subresource: 'status' }),
      record({ verb: 'create', name: 'made' }),
    ]
    expect(rolesOf(few, { restrictsNames: true })[0]?.rules).toEqual([
      { apiGroups: [''], resources: ['pods'], verbs: ['create'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['get'], resourceNames: ['web'] },
      { apiGroups: [''], resources: ['pods/status'], verbs: ['patch'], resourceNames: ['web'] },
    ])
    const many = Array.from({ length: 6 }, (_, at) => record({ name: `web-${at}` }))
    expect(rolesOf(many, { restrictsNames: true })[0]?.rules).toEqual([
      { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
    ])
  })

  it('puts resources of a group with the same verbs together', () => {
    const rules = rolesOf([record({}), record({ resource: 'services' })])[0]?.rules
    expect(rules).toEqual([{ apiGroups: [''], resources: ['pods', 'services'], verbs: ['get'] }])
  })

  it('leaves out what was denied, unless that is asked for, and names it', () => {
    const records = [record({ decision: 'deny', status: 403 })]
    expect(leastRole(records, { user: 'jane', dialect, name: 'least' })).toEqual({
      objects: [],
      requests: 0,
      denied: ['get pods in shop'],
    })
    expect(rolesOf(records, { includesDenied: true })).toHaveLength(1)
  })

  it('allows to impersonate whom the user impersonated', () => {
    const rules = rolesOf([record({ user: 'john', impersonator: 'jane' })])[0]?.rules
    expect(rules).toEqual([{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'] }])
  })

  it('leaves out what every authenticated user may do', () => {
    const path = (text: string) => record({ resource: '', namespace: '', name: '', path: text })
    expect(rolesOf([path('/apis/apps/v1'), path('/version')])).toEqual([])
  })
})
