/** Roles and bindings as the API keeps them. */
import { describe, expect, it } from 'vitest'
import { defaultFeatureGates } from '../../../components/api/feature-gates.ts'
import { policyObjects } from '../../../components/api/bootstrap-policy/policy-objects.ts'
import { startApiServer, user } from '../../support/api-server.ts'
import { describeDialects } from '../../support/shared-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }
const readPods = [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }]

describeDialects('roles and bindings', (server) => {
  const group = () => server().group('rbac.authorization')
  const cluster = () => `/apis/${group()}/v1`
  const inNamespace = (namespace: string) => `${cluster()}/namespaces/${namespace}`
  const roleRef = (name: string, kind = 'Role') => ({ apiGroup: group(), kind, name })
  const person = (name: string, kind = 'User') => ({ apiGroup: group(), kind, name })
  let made = 0
  const fresh = (stem: string): string => `${stem}-${(made += 1)}`
  const refusal = async (path: string, body: unknown): Promise<[number, string]> => {
    const reply = await server().request('POST', path, { body })
    return [reply.status, String(reply.body.message)]
  }
  const canList = async (namespace: string, as: Parameters<typeof user>) =>
    (await server().request('GET', `/api/v1/namespaces/${namespace}/pods`, { as: user(...as) }))
      .status === 200

  /** Creates, reads, lists, updates, patches and deletes. */
  const lives = async (
    collection: string,
    body: Record<string, unknown> & { metadata: { name: string } },
    change: Record<string, unknown>,
  ): Promise<void> => {
    const item = `${collection}/${body.metadata.name}`
    const created = await server().ok('POST', collection, { body })
    expect(created).toMatchObject(body)
    expect(await server().ok('GET', item)).toEqual(created)
    expect((await server().ok('GET', collection)).items).toContainEqual(
      expect.objectContaining({ metadata: created.metadata }),
    )
    const updated = await server().ok('PUT', item, { body: { ...created, ...change } })
    expect(updated).toMatchObject(change)
    const patched = await server().ok('PATCH', item, {
      body: { metadata: { labels: { a: 'b' } } },
      headers: merge,
    })
    expect(patched).toMatchObject({ ...change, metadata: { labels: { a: 'b' } } })
    await server().ok('DELETE', item)
    expect((await server().request('GET', item)).status).toBe(404)
  }

  it('[RBAC-001] are of one group and version', async () => {
    const { groupVersion, resources } = await server().ok('GET', cluster())
    expect(groupVersion).toBe(`${group()}/v1`)
    const listed = (resources as { name: string; namespaced: boolean; kind: string }[]).map(
      ({ name, namespaced, kind }) => [name, namespaced, kind],
    )
    expect(listed).toEqual([
      ['clusterrolebindings', false, 'ClusterRoleBinding'],
      ['clusterroles', false, 'ClusterRole'],
      ['rolebindings', true, 'RoleBinding'],
      ['roles', true, 'Role'],
    ])
  })

  it('[RBAC-002][RBAC-003] roles are of a namespace, cluster roles of none', async () => {
    const namespace = await server().namespace()
    const rules = [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['*'] }]
    const body = { metadata: { name: 'r' }, rules: readPods }
    await lives(`${inNamespace(namespace)}/roles`, body, { rules })
    await lives(`${cluster()}/clusterroles`, body, { rules })
    expect((await server().request('POST', `${cluster()}/roles`, { body })).status).toBe(405)
    expect(
      (await server().request('POST', `${inNamespace(namespace)}/clusterroles`, { body })).status,
    ).toBe(404)
  })

  it('[RBAC-004] cluster roles may be gathered by labels', async () => {
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { to: 'x' } }] }
    const name = fresh('gathered')
    await server().ok('POST', `${cluster()}/clusterroles`, {
      body: { metadata: { name }, aggregationRule },
    })
    const stored = await server().ok('GET', `${cluster()}/clusterroles/${name}`)
    expect(stored.aggregationRule).toEqual(aggregationRule)
    const [status, message] = await refusal(`${cluster()}/clusterroles`, {
      metadata: { name: fresh('bad') },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'a b': 'x' } }] },
    })
    expect([status, message]).toEqual([
      422,
      expect.stringContaining('aggregationRule.clusterRoleSelectors[0].matchLabels'),
    ])
  })

  it('[RBAC-005][RBAC-006] bindings have subjects and a role', async () => {
    const namespace = await server().namespace()
    const subjects = [person('jane'), person('devs', 'Group')]
    const change = { subjects: [person('joe')] }
    await lives(
      `${inNamespace(namespace)}/rolebindings`,
      { metadata: { name: 'b' }, subjects, roleRef: roleRef('r') },
      change,
    )
    await lives(
      `${cluster()}/clusterrolebindings`,
      { metadata: { name: 'b' }, subjects, roleRef: roleRef('r', 'ClusterRole') },
      change,
    )
    expect(
      (
        await refusal(`${cluster()}/clusterrolebindings`, {
          metadata: { name: 'c' },
          subjects,
          roleRef: roleRef('r'),
        })
      )[0],
    ).toBe(422)
  })

  it('[RBAC-007] rules are made of lists of text', async () => {
    const full = {
      apiGroups: [''],
      resources: ['pods'],
      resourceNames: ['p'],
      verbs: ['get'],
    }
    const path = `${cluster()}/clusterroles`
    const rules = [full, { nonResourceURLs: ['/x'], verbs: ['get'] }]
    const stored = await server().ok('POST', path, {
      body: { metadata: { name: fresh('r') }, rules },
    })
    expect(stored.rules).toEqual(rules)
    for (const field of ['apiGroups', 'resources', 'resourceNames', 'verbs', 'nonResourceURLs']) {
      for (const value of ['get', { a: 'b' }, [1], [['get']], true]) {
        const [status] = await refusal(path, {
          metadata: { name: fresh('r') },
          rules: [{ ...full, [field]: value }],
        })
        expect([field, value, status]).toEqual([field, value, 400])
      }
    }
  })

  it('[RBAC-010] users and groups are of the same group', async () => {
    const namespace = await server().namespace()
    const path = `${inNamespace(namespace)}/rolebindings`
    for (const kind of ['User', 'Group']) {
      const binding = (apiGroup: string) => ({
        metadata: { name: fresh('b') },
        subjects: [{ kind, name: 'x', apiGroup }],
        roleRef: roleRef('r'),
      })
      expect((await server().request('POST', path, { body: binding(group()) })).status).toBe(201)
      const [status, message] = await refusal(path, binding('apps'))
      expect([status, message]).toEqual([
        422,
        expect.stringContaining('subjects[0].apiGroup: Unsupported value: "apps"'),
      ])
    }
  })

  it('[RBAC-011] service accounts are of a namespace', async () => {
    const [a, other] = [await server().namespace(), await server().namespace()]
    await server().ok('POST', `${inNamespace(a)}/roles`, {
      body: { metadata: { name: 'r' }, rules: readPods },
    })
    const path = `${inNamespace(a)}/rolebindings`
    const subjects = [{ kind: 'ServiceAccount', name: 'b', namespace: a }]
    await server().ok('POST', path, {
      body: { metadata: { name: 'b' }, subjects, roleRef: roleRef('r') },
    })
    expect(await canList(a, [`system:serviceaccount:${a}:b`])).toBe(true)
    for (const name of [`system:serviceaccount:${other}:b`, `system:serviceaccount:${a}:c`, 'b']) {
      expect([name, await canList(a, [name])]).toEqual([name, false])
    }
    // Without one: that of the binding, and none in a binding of the cluster.
    const unplaced = [{ kind: 'ServiceAccount', name: 'c' }]
    await server().ok('POST', path, {
      body: { metadata: { name: 'c' }, subjects: unplaced, roleRef: roleRef('r') },
    })
    expect(await canList(a, [`system:serviceaccount:${a}:c`])).toBe(true)
    expect(await canList(a, [`system:serviceaccount:${other}:c`])).toBe(false)
    const [status, message] = await refusal(`${cluster()}/clusterrolebindings`, {
      metadata: { name: fresh('c') },
      subjects: unplaced,
      roleRef: roleRef('r', 'ClusterRole'),
    })
    expect([status, message]).toEqual([
      422,
      expect.stringContaining('subjects[0].namespace: Required value'),
    ])
  })

  it('[RBAC-012] the role has kind, name and group', async () => {
    const namespace = await server().namespace()
    const path = `${inNamespace(namespace)}/rolebindings`
    const binding = (ref: unknown) => ({ metadata: { name: fresh('b') }, roleRef: ref })
    for (const kind of ['Role', 'ClusterRole']) {
      const stored = await server().ok('POST', path, { body: binding(roleRef('r', kind)) })
      expect(stored.roleRef).toEqual({ apiGroup: group(), kind, name: 'r' })
    }
    for (const [ref, field] of [
      [roleRef('r', 'Robot'), 'roleRef.kind'],
      [roleRef('r', ''), 'roleRef.kind'],
      [roleRef(''), 'roleRef.name'],
      [roleRef('a/b'), 'roleRef.name'],
      [{ ...roleRef('r'), apiGroup: 'apps' }, 'roleRef.apiGroup'],
    ] as const) {
      const [status, message] = await refusal(path, binding(ref))
      expect([field, status, message]).toEqual([field, 422, expect.stringContaining(`${field}: `)])
    }
  })

  it('[RBAC-013] names are any path segments', async () => {
    const namespace = await server().namespace()
    const collections = [
      [`${inNamespace(namespace)}/roles`, { rules: [] }],
      [`${cluster()}/clusterroles`, { rules: [] }],
      [`${inNamespace(namespace)}/rolebindings`, { roleRef: roleRef('r') }],
      [`${cluster()}/clusterrolebindings`, { roleRef: roleRef('r', 'ClusterRole') }],
    ] as const
    for (const [path, rest] of collections) {
      for (const name of ['a:b', 'system:x', 'With Capitals & Blanks']) {
        await server().ok('POST', path, { body: { metadata: { name }, ...rest } })
        const item = await server().ok('GET', `${path}/${encodeURIComponent(name)}`)
        expect(item.metadata.name).toBe(name)
      }
      for (const name of ['a/b', '.', '..', 'a%b']) {
        const [status, message] = await refusal(path, { metadata: { name }, ...rest })
        expect([name, status, message]).toEqual([
          name,
          422,
          expect.stringContaining('metadata.name: Invalid value'),
        ])
      }
    }
  })

  it('[RBAC-016] a star ends a path, and means nothing inside of one', async () => {
    const grant = async (name: string, url: string): Promise<void> => {
      await server().ok('POST', `${cluster()}/clusterroles`, {
        body: { metadata: { name }, rules: [{ nonResourceURLs: [url], verbs: ['get'] }] },
      })
      await server().ok('POST', `${cluster()}/clusterrolebindings`, {
        body: {
          metadata: { name },
          subjects: [person(name)],
          roleRef: roleRef(name, 'ClusterRole'),
        },
      })
    }
    await grant('suffix', '/readyz/*')
    await grant('middle', '/readyz/*/b')
    await grant('globs', '/met*cs')
    const statusOf = async (name: string, path: string) =>
      (await server().request('GET', path, { as: user(name) })).status
    expect(await statusOf('suffix', '/readyz/ping')).toBe(200)
    expect(await statusOf('suffix', '/metrics')).toBe(403)
    expect(await statusOf('middle', '/readyz/a/b')).toBe(403)
    expect(await statusOf('globs', '/metrics')).toBe(403)
  })

  it('[RBAC-023] a binding keeps its role', async () => {
    const namespace = await server().namespace()
    for (const [path, kind] of [
      [`${inNamespace(namespace)}/rolebindings`, 'Role'],
      [`${cluster()}/clusterrolebindings`, 'ClusterRole'],
    ] as const) {
      const name = fresh('kept')
      const body = { metadata: { name }, roleRef: roleRef('r', kind) }
      const item = `${path}/${name}`
      const before = await server().ok('POST', path, { body })
      const put = await server().request('PUT', item, {
        body: { ...before, roleRef: roleRef('other', kind) },
      })
      const patch = await server().request('PATCH', item, {
        body: { roleRef: { name: 'other' } },
        headers: merge,
      })
      for (const { status, body: fault } of [put, patch]) {
        expect(status).toBe(422)
        expect(fault).toMatchObject({
          reason: 'Invalid',
          message: expect.stringContaining('cannot change roleRef') as string,
        })
      }
      expect(await server().ok('GET', item)).toEqual(before)
    }
  })

  it('[RBAC-041] users and groups are names, and no objects', async () => {
    const namespace = await server().namespace()
    await server().ok('POST', `${inNamespace(namespace)}/roles`, {
      body: { metadata: { name: 'r' }, rules: readPods },
    })
    await server().ok('POST', `${inNamespace(namespace)}/rolebindings`, {
      body: {
        metadata: { name: 'b' },
        subjects: [person('never heard of'), person('no such group', 'Group')],
        roleRef: roleRef('r'),
      },
    })
    expect(await canList(namespace, ['never heard of'])).toBe(true)
    expect(await canList(namespace, ['x', 'no such group'])).toBe(true)
    const { groups } = await server().ok('GET', '/apis')
    const versions = (groups as { versions: { groupVersion: string }[] }[]).flatMap((one) =>
      one.versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
    )
    const kinds = new Set<string>()
    for (const path of ['/api/v1', ...versions]) {
      const { resources } = await server().ok('GET', path)
      for (const { kind } of resources as { kind: string }[]) kinds.add(kind)
    }
    expect(kinds).toContain('ServiceAccount')
    expect(kinds).not.toContain('User')
    expect(kinds).not.toContain('Group')
  })

  it('[RBAC-042] the server itself uses only reserved names that begin with system:', async () => {
    const reserved = new Set([
      'system:masters',
      'system:authenticated',
      'system:unauthenticated',
      'system:nodes',
      'system:bootstrappers',
      'system:monitoring',
      'system:serviceaccounts',
      'system:kube-controller-manager',
      'system:kube-scheduler',
      'system:kube-proxy',
    ])
    const policy = policyObjects(server().dialect, {
      servesMetrics: false,
      gates: defaultFeatureGates,
    })
    const names = [...policy.clusterRoleBindings, ...policy.roleBindings].flatMap((binding) =>
      ((binding['subjects'] ?? []) as { kind: string; name: string }[])
        .filter(({ kind }) => kind !== 'ServiceAccount')
        .map(({ name }) => name),
    )
    expect(names.length).toBeGreaterThan(5)
    for (const name of names) expect(reserved).toContain(name)
    // Whoever else has such a name has got it from an administrator; the server gives none away.
    const review = `/apis/${server().group('authentication')}/v1/selfsubjectreviews`
    const { status } = await server().ok('POST', review, { as: user('jane', 'devs'), body: {} })
    expect(status.userInfo.groups).toEqual(['devs', 'system:authenticated'])
  })
})

describe.each(['kubernetes', 'svc'] as const)('the first roles, dialect %s', (dialect) => {
  it('[RBAC-044] are made by system:masters alone', async () => {
    await using server = await startApiServer({ dialect, flags: ['--authorization-mode=RBAC'] })
    const group = server.group('rbac.authorization')
    const at = `/apis/${group}/v1`
    const role = { metadata: { name: 'first' }, rules: readPods }
    const binding = {
      metadata: { name: 'first' },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'first' },
      subjects: [{ apiGroup: group, kind: 'User', name: 'jane' }],
    }
    const write = async (as: ReturnType<typeof user>) => [
      (await server.request('POST', `${at}/clusterroles`, { as, body: role })).status,
      (await server.request('POST', `${at}/clusterrolebindings`, { as, body: binding })).status,
    ]
    for (const groups of [
      [],
      ['admins'],
      ['cluster-admin'],
      ['System:Masters'],
      ['system:nodes'],
    ]) {
      expect([groups, ...(await write(user('jane', ...groups)))]).toEqual([groups, 403, 403])
    }
    for (const name of ['system:masters', 'admin', 'system:admin', 'kubernetes-admin']) {
      expect([name, ...(await write(user(name)))]).toEqual([name, 403, 403])
    }
    expect(await write(user('anyone', 'system:masters'))).toEqual([201, 201])
  })
})
