/** Cluster roles that are gathered from others: a real server and its controller. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClusterRole, PolicyRule } from '../../../components/api/generated/types.ts'
import { clusterRoleAggregation } from '../../../components/controller-manager/cluster-role-aggregation.ts'
import { startApiServer, user, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { startControllers } from '../../support/live-controller.ts'

describe.each(['kubernetes', 'svc'] as const)('aggregated roles, dialect %s', (dialect) => {
  let server: TestApiServer
  let controller: AsyncDisposable
  beforeAll(async () => {
    server = await startApiServer({ dialect })
    controller = await startControllers(server, [clusterRoleAggregation])
  })
  afterAll(async () => {
    await controller[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
    expect(server.faults).toEqual([])
  })
  const roles = () => `/apis/${server.group('rbac.authorization')}/v1/clusterroles`
  const rulesOf = async (name: string): Promise<PolicyRule[]> =>
    ((await server.ok('GET', `${roles()}/${name}`)) as ClusterRole).rules ?? []
  const rule = (resource: string): PolicyRule => ({
    apiGroups: [''],
    resources: [resource],
    verbs: ['get'],
  })
  const write = async (method: string, name: string, body?: unknown): Promise<void> => {
    const path = method === 'POST' ? roles() : `${roles()}/${name}`
    const headers = { 'content-type': 'application/merge-patch+json' }
    await server.ok(method, path, {
      ...(body === undefined ? {} : { body }),
      ...(method === 'PATCH' ? { headers } : {}),
    })
  }

  it('[RBAC-026] have the rules of all roles with their labels, and no others', async () => {
    const part = (name: string, resource: string) => ({
      metadata: { name, labels: { 'to-sum': 'yes' } },
      rules: [rule(resource)],
    })
    await write('POST', 'sum', {
      metadata: { name: 'sum' },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'to-sum': 'yes' } }] },
    })
    await write('POST', 'pods', part('part-pods', 'pods'))
    await eventually(async () => expect(await rulesOf('sum')).toEqual([rule('pods')]))
    await write('POST', 'nodes', part('part-nodes', 'nodes'))
    await eventually(async () => {
      expect(await rulesOf('sum')).toEqual([rule('nodes'), rule('pods')])
    })
    await write('PATCH', 'sum', { rules: [rule('secrets')] })
    await eventually(async () => {
      expect(await rulesOf('sum')).toEqual([rule('nodes'), rule('pods')])
    })
    await write('PATCH', 'part-pods', { metadata: { labels: { 'to-sum': null } } })
    await eventually(async () => expect(await rulesOf('sum')).toEqual([rule('nodes')]))
    await write('DELETE', 'part-nodes')
    await eventually(async () => expect(await rulesOf('sum')).toEqual([]))
  })

  it('[RBAC-036] admin, edit and view are there, and hold what users know of them', async () => {
    const group = server.group('rbac.authorization')
    const holds = (rules: PolicyRule[], resource: string, verb: string, apiGroup = ''): boolean =>
      rules.some(
        (one) =>
          one.apiGroups?.includes(apiGroup) === true &&
          one.resources?.includes(resource) === true &&
          one.verbs.includes(verb),
      )
    await eventually(async () => {
      for (const name of ['admin', 'edit', 'view']) {
        expect((await rulesOf(name)).length).toBeGreaterThan(5)
      }
      expect(holds(await rulesOf('admin'), 'pods', 'create')).toBe(true)
      expect(holds(await rulesOf('admin'), 'configmaps', 'list')).toBe(true)
    })
    const [all, edit, view] = [
      await rulesOf('admin'),
      await rulesOf('edit'),
      await rulesOf('view'),
    ] as [PolicyRule[], PolicyRule[], PolicyRule[]]
    for (const resource of ['roles', 'rolebindings']) {
      expect(holds(all, resource, 'create', group)).toBe(true)
      expect(edit.some(({ resources = [] }) => resources.includes(resource))).toBe(false)
      expect(view.some(({ resources = [] }) => resources.includes(resource))).toBe(false)
    }
    for (const verb of ['create', 'update', 'patch', 'delete', 'deletecollection']) {
      expect(holds(edit, 'configmaps', verb)).toBe(true)
      expect(holds(edit, 'deployments', verb, 'apps')).toBe(true)
    }
    expect(new Set(view.flatMap(({ verbs }) => verbs))).toEqual(new Set(['get', 'list', 'watch']))
    for (const name of ['admin', 'edit', 'view']) {
      const { metadata } = (await server.ok('GET', `${roles()}/${name}`)) as ClusterRole
      expect(metadata.labels).toMatchObject({
        [`${server.dialect.labelDomain}/bootstrapping`]: 'rbac-defaults',
      })
    }
    // Bound, they do what they say.
    const namespace = await server.namespace()
    const bindings = `/apis/${group}/v1/namespaces/${namespace}/rolebindings`
    const statuses = async (name: string): Promise<number[]> => {
      await server.ok('POST', bindings, {
        body: {
          metadata: { name },
          roleRef: { apiGroup: group, kind: 'ClusterRole', name },
          subjects: [{ apiGroup: group, kind: 'User', name: `${name}-user` }],
        },
      })
      const as = user(`${name}-user`)
      const at = `/api/v1/namespaces/${namespace}`
      const body = { metadata: { name: `by-${name}` } }
      const role = { ...body, rules: [] }
      return [
        (await server.request('GET', `${at}/configmaps`, { as })).status,
        (await server.request('POST', `${at}/configmaps`, { as, body })).status,
        (
          await server.request('POST', `/apis/${group}/v1/namespaces/${namespace}/roles`, {
            as,
            body: role,
          })
        ).status,
        (await server.request('GET', '/api/v1/namespaces/default/configmaps', { as })).status,
      ]
    }
    expect(await statuses('view')).toEqual([200, 403, 403, 403])
    expect(await statuses('edit')).toEqual([200, 201, 403, 403])
    expect(await statuses('admin')).toEqual([200, 201, 201, 403])
  })
})
