/** Decisions over random worlds are those of slow, obvious models: the Node graph, ABAC, and that nobody's writes widen what he may. */
import { expect, test } from 'vitest'
import { abacAuthorizer, parsePolicies } from '../../../components/api-server/authz/abac.ts'
import type { Decision } from '../../../components/api-server/authz/authorizer.ts'
import { createEscalationCheck } from '../../../components/api-server/authz/escalation.ts'
import { nodeAuthorizer } from '../../../components/api-server/authz/node-authorizer.ts'
import { NodeGraph } from '../../../components/api-server/authz/node-graph.ts'
import { RbacIndex } from '../../../components/api-server/authz/rbac-index.ts'
import { rbacAuthorizer } from '../../../components/api-server/authz/rbac.ts'
import { nodeRules } from '../../../components/api/bootstrap-policy/policy-objects.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { FakeReader } from '../../support/fake-reader.ts'
import { attributes, nodeUser, user } from './attributes.ts'

const dialect = dialects.kubernetes
const resources = resourcesOf(dialect)

/** The same numbers in every run. */
function dice(seed: number) {
  let state = seed
  const below = (count: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * count)
  }
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T
  const some = <T>(list: readonly T[]): T[] => list.filter(() => below(3) === 0)
  return { below, pick, some }
}

const names = ['one', 'two', 'three']
const spaces = ['a', 'b']
const nodes = ['n1', 'n2', 'n3']

test('a node reads what pods bound to it need, and of no other node’s, in whatever order things come and go', () => {
  const { below, pick, some } = dice(1)
  let asked = 0
  let allowed = 0
  for (let world = 0; world < 60; world++) {
    const reader = new FakeReader()
    const subject = nodeAuthorizer({
      graph: new NodeGraph(reader, dialect),
      reader,
      dialect,
      rules: nodeRules(dialect),
      withSelectors: true,
    })
    const { pods, persistentVolumes } = resources
    const isMirror = (pod: KubeObject) =>
      'kubernetes.io/config.mirror' in (pod.metadata.annotations ?? {})
    const claimsOf = (pod: KubeObject): string[] =>
      (pod['spec'].volumes as { persistentVolumeClaim?: { claimName: string } }[]).flatMap(
        ({ persistentVolumeClaim: claim }) => claim?.claimName ?? [],
      )
    /** Looks at everything, every time. */
    const model = (node: string, kind: string, space: string, name: string): boolean => {
      const own = (reader.list(pods) as KubeObject[]).filter(
        (pod) => pod['spec'].nodeName === node && !isMirror(pod),
      )
      const volumes = (reader.list(persistentVolumes) as KubeObject[]).filter(({ spec }) =>
        own.some(
          (pod) =>
            pod.metadata.namespace === spec.claimRef?.namespace &&
            claimsOf(pod).includes(spec.claimRef?.name as string),
        ),
      )
      if (kind === 'persistentvolumes')
        return volumes.some(({ metadata }) => metadata.name === name)
      if (
        kind === 'secrets' &&
        volumes.some(({ spec }) => {
          const { namespace, name: secret } = spec.csi?.nodePublishSecretRef ?? {}
          return namespace === space && secret === name
        })
      ) {
        return true
      }
      return own.some((pod) => {
        if (pod.metadata.namespace !== space) return false
        if (kind === 'persistentvolumeclaims') return claimsOf(pod).includes(name)
        const field = kind === 'secrets' ? 'secret' : 'configMap'
        const key = kind === 'secrets' ? 'secretName' : 'name'
        return (
          (pod['spec'].volumes as Record<string, Record<string, string> | undefined>[]).some(
            (volume) => volume[field]?.[key] === name,
          ) ||
          (kind === 'secrets' &&
            (pod['spec'].imagePullSecrets as { name: string }[]).some((one) => one.name === name))
        )
      })
    }
    for (let step = 0; step < 25; step++) {
      const [space, name] = [pick(spaces), pick(names)]
      const what = below(6)
      if (what < 3) {
        reader.put(pods, {
          metadata: {
            namespace: space,
            name,
            ...(below(8) === 0 ? { annotations: { 'kubernetes.io/config.mirror': 'x' } } : {}),
          },
          spec: {
            // Not bound yet, or to one of them; a pod of the same name may come again on another.
            ...(below(5) === 0 ? {} : { nodeName: pick(nodes) }),
            containers: [],
            imagePullSecrets: some(names).map((one) => ({ name: one })),
            volumes: [
              ...some(names).map((one) => ({ name: `s-${one}`, secret: { secretName: one } })),
              ...some(names).map((one) => ({ name: `m-${one}`, configMap: { name: one } })),
              ...some(names).map((one) => ({
                name: `c-${one}`,
                persistentVolumeClaim: { claimName: one },
              })),
            ],
          },
        })
      } else if (what === 3 && reader.get(pods, space, name)) reader.remove(pods, space, name)
      else if (what === 4) {
        reader.put(persistentVolumes, {
          metadata: { name },
          spec: {
            ...(below(4) === 0 ? {} : { claimRef: { namespace: pick(spaces), name: pick(names) } }),
            csi: { nodePublishSecretRef: { namespace: pick(spaces), name: pick(names) } },
          },
        })
      } else if (what === 5 && reader.get(persistentVolumes, '', name)) {
        reader.remove(persistentVolumes, '', name)
      }
      for (const node of nodes) {
        for (const one of names) {
          for (const kind of [
            'secrets',
            'configmaps',
            'persistentvolumeclaims',
            'persistentvolumes',
          ]) {
            const isWhole = kind === 'persistentvolumes'
            const namespace = isWhole ? '' : pick(spaces)
            const asks = { resource: kind, namespace, name: one, user: nodeUser(node) }
            const { decision } = subject.authorize(attributes(asks)) as Decision
            const expected = model(node, kind, namespace, one)
            asked += 1
            allowed += expected ? 1 : 0
            if ((decision === 'allow') !== expected) {
              expect.fail(
                `world ${world}, step ${step}: ${node} ${kind} ${namespace}/${one}: ${decision}`,
              )
            }
          }
        }
      }
    }
  }
  expect(asked).toBeGreaterThan(50_000)
  expect(allowed / asked).toBeGreaterThan(0.05)
})

test('an ABAC policy decides as its lines, read one by one, say', () => {
  const { below, pick } = dice(2)
  const version = 'abac.authorization.kubernetes.io/v1beta1'
  const users = ['ann', 'bob', '*', '']
  const groups = ['devs', 'ops', '*', '']
  const kinds = ['pods', 'secrets', '*', '']
  const paths = ['/healthz', '/api*', '*', '/logs/*', '']
  let asked = 0
  let allowed = 0
  for (let world = 0; world < 500; world++) {
    const lines = Array.from({ length: 1 + below(5) }, () => {
      const all = {
        user: pick(users),
        group: pick(groups),
        apiGroup: pick(['', 'apps', '*']),
        namespace: pick(['a', 'b', '*', '']),
        resource: pick(kinds),
        nonResourcePath: pick(paths),
        readonly: below(2) === 0,
      }
      return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== '' && value))
    })
    const source = lines
      .map((spec) => JSON.stringify({ apiVersion: version, kind: 'Policy', spec }))
      .join('\n')
    const subject = abacAuthorizer(parsePolicies(source, dialect))
    const says = (pattern: unknown, value: string): boolean =>
      pattern === '*' || (pattern ?? '') === value
    for (let question = 0; question < 40; question++) {
      const isPath = below(3) === 0
      const asks = attributes({
        user: user(pick(['ann', 'bob', 'eve']), ...(below(2) === 0 ? [pick(['devs', 'ops'])] : [])),
        verb: pick([
          'get',
          'list',
          'watch',
          'create',
          'update',
          'patch',
          'delete',
          'deletecollection',
        ]),
        ...(isPath
          ? { path: pick(['/healthz', '/healthz/x', '/api', '/apis', '/logs/', '/logs', '/']) }
          : {
              group: pick(['', 'apps']),
              resource: pick(['pods', 'secrets', 'nodes']),
              namespace: pick(['a', 'b', '']),
            }),
      })
      const expected = lines.some((line) => {
        if (line['user'] === undefined && line['group'] === undefined) return false
        if (line['user'] !== undefined && !says(line['user'], asks.user.name)) return false
        const isMember = asks.user.groups.some((one) => one === line['group'])
        if (line['group'] !== undefined && line['group'] !== '*' && !isMember) return false
        if (line['readonly'] === true && !['get', 'list', 'watch'].includes(asks.verb)) return false
        if (isPath) {
          const path = line['nonResourcePath'] as string | undefined
          if (path === undefined) return false
          return path.endsWith('*')
            ? asks.path.startsWith(path.replace('*', ''))
            : path === asks.path
        }
        return (
          says(line['namespace'], asks.namespace) &&
          says(line['resource'], asks.resource) &&
          says(line['apiGroup'], asks.group)
        )
      })
      asked += 1
      allowed += expected ? 1 : 0
      const { decision } = subject.authorize(asks) as Decision
      if ((decision === 'allow') !== expected) {
        expect.fail(`${source}\n${JSON.stringify(asks)}: ${decision}, expected ${expected}`)
      }
    }
  }
  expect(asked).toBe(20_000)
  expect(allowed / asked).toBeGreaterThan(0.05)
})

test('no sequence of writes by who lacks escalate and bind gives a right that he did not have', async () => {
  const { below, pick, some } = dice(3)
  const { roles, clusterRoles, roleBindings, clusterRoleBindings } = resources
  const apiGroup = 'rbac.authorization.k8s.io'
  const jane = user('jane', 'devs')
  const rule = () => ({
    apiGroups: [pick(['', '', 'apps', '*'])],
    resources: [pick(['pods', 'secrets', 'pods/log', '*'])],
    verbs: [pick(['get', 'list', 'create', '*'])],
    ...(below(4) === 0 ? { resourceNames: [pick(names)] } : {}),
  })
  const questions = ['', 'apps'].flatMap((group) =>
    ['pods', 'secrets', 'pods/log', 'nodes'].flatMap((resource) =>
      ['get', 'list', 'create'].flatMap((verb) =>
        [...spaces, ''].flatMap((namespace) =>
          ['', 'one'].map((name) => {
            const [plural = '', subresource = ''] = resource.split('/')
            return attributes({
              user: jane,
              group,
              resource: plural,
              subresource,
              verb,
              namespace,
              name,
            })
          }),
        ),
      ),
    ),
  )
  let asked = 0
  let taken = 0
  let refused = 0
  for (let world = 0; world < 20; world++) {
    const reader = new FakeReader()
    const index = new RbacIndex(reader, dialect)
    const authorizer = rbacAuthorizer(index)
    const check = createEscalationCheck({ index, authorizer, reader, dialect })
    // What she has, and what others have, which she might bind herself to.
    const ref = (kind: string, name: string) => ({ apiGroup, kind, name })
    for (const name of names) {
      reader.put(clusterRoles, { metadata: { name }, rules: [rule(), rule()] })
      for (const namespace of spaces) {
        reader.put(roles, { metadata: { name, namespace }, rules: [rule()] })
      }
    }
    const subjects = [{ kind: 'User', apiGroup, name: 'jane' }]
    reader.put(clusterRoles, { metadata: { name: 'hers' }, rules: [rule(), rule()] })
    const binding = below(2) === 0 ? clusterRoleBindings : roleBindings
    const within = binding === roleBindings ? { namespace: 'a' } : {}
    reader.put(binding, {
      metadata: { name: 'hers', ...within },
      subjects,
      roleRef: ref('ClusterRole', 'hers'),
    })
    const may = (): boolean[] =>
      questions.map((one) => (authorizer.authorize(one) as Decision).decision === 'allow')
    const before = may()
    for (let step = 0; step < 40; step++) {
      const namespace = pick([...spaces, ''])
      const isRole = below(2) === 0
      const resource =
        namespace === ''
          ? isRole
            ? clusterRoles
            : clusterRoleBindings
          : isRole
            ? roles
            : roleBindings
      const name = pick([...names, 'hers'])
      const metadata = { name, ...(namespace === '' ? {} : { namespace }) }
      const old = reader.get(resource, namespace, name)
      const roleRef = ref(
        namespace !== '' && below(2) === 0 ? 'Role' : 'ClusterRole',
        pick([...names, 'hers']),
      )
      const object: KubeObject = isRole
        ? { metadata, rules: Array.from({ length: 1 + below(2) }, rule) }
        : {
            metadata,
            subjects: [...subjects, ...some([{ kind: 'Group', apiGroup, name: 'devs' }])],
            // What a binding is to cannot be changed.
            roleRef: old?.['roleRef'] ?? roleRef,
          }
      if (old !== undefined && below(6) === 0) {
        reader.remove(resource, namespace, name)
        continue
      }
      try {
        await check({ resource, namespace, object, old, user: jane })
        reader.put(resource, object)
        taken += 1
      } catch (error) {
        if (!(error instanceof StatusError)) throw error
        refused += 1
      }
      const now = may()
      asked += now.length
      for (const [i, isAllowed] of now.entries()) {
        if (isAllowed && before[i] !== true) {
          expect.fail(`world ${world}, step ${step}: gained ${JSON.stringify(questions[i])}`)
        }
      }
    }
  }
  expect(asked).toBeGreaterThan(50_000)
  expect(taken).toBeGreaterThan(50)
  expect(refused).toBeGreaterThan(50)
})
