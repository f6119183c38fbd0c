/** What the default roles allow the control plane's identities, for tests of components without a server. */
import { resourcesOf } from '../../components/api/resources.ts'
import type { Dialect } from '../../components/api/dialect.ts'
import { defaultFeatureGates } from '../../components/api/feature-gates.ts'
import type { FeatureGates } from '../../components/api/feature-gates.ts'
import { policyObjects } from '../../components/api/bootstrap-policy/policy-objects.ts'
import { forbiddenError } from '../../components/api-server/request/forbidden.ts'
import type { AuthorizationAttributes } from '../../components/api-server/request/request.ts'
import { serviceAccountOf } from '../../components/controller-manager/select-controllers.ts'
import { authorizationOf } from './authorization.ts'
import type { CallCheck } from './fake-client.ts'
import { FakeReader } from './fake-reader.ts'

/** The user that a controller acts as. */
export function userOfController(name: string, dialect: Dialect): string {
  const account = serviceAccountOf(name)
  return account === undefined
    ? 'system:kube-controller-manager'
    : `system:serviceaccount:${dialect.systemNamespace}:${account}`
}

/** By dialect and gates: an index of the default roles takes longer than most tests that ask it. */
const indexed = new Map<string, (user: string) => CallCheck>()

/** Checks that throw the API server's 403 for what the default roles refuse a user. */
export function defaultRights(
  dialect: Dialect,
  gates: FeatureGates = defaultFeatureGates,
): (user: string) => CallCheck {
  const key = JSON.stringify([dialect.name, gates])
  const known = indexed.get(key) ?? indexRights(dialect, gates)
  indexed.set(key, known)
  return known
}

function indexRights(dialect: Dialect, gates: FeatureGates): (user: string) => CallCheck {
  const reader = new FakeReader()
  const { clusterRoles, clusterRoleBindings, roles, roleBindings } = resourcesOf(dialect)
  const policy = policyObjects(dialect, { servesMetrics: true, gates })
  for (const object of policy.clusterRoles) reader.put(clusterRoles, object)
  for (const object of policy.clusterRoleBindings) reader.put(clusterRoleBindings, object)
  for (const object of policy.roles) reader.put(roles, object)
  for (const object of policy.roleBindings) reader.put(roleBindings, object)
  const { authorizer } = authorizationOf(['RBAC'], { reader, dialect })
  return (name) =>
    ({ verb, resource: path, key }, resource) => {
      const [plural = '', subresource = ''] = path.split('/')
      const isOfMany = ['list', 'watch', 'deletecollection'].includes(verb)
      const slash = key.indexOf('/')
      const attributes: AuthorizationAttributes = {
        user: { name, uid: '', groups: ['system:authenticated'], extra: {} },
        verb,
        isResourceRequest: true,
        group: resource.group,
        version: resource.version,
        resource: plural,
        subresource,
        namespace: isOfMany ? key : key.slice(0, Math.max(0, slash)),
        name: isOfMany || verb === 'create' ? '' : key.slice(slash + 1),
        path: '',
      }
      const decided = authorizer.authorize(attributes)
      if (decided instanceof Promise) throw new Error('RBAC decides at once')
      if (decided.decision !== 'allow') throw forbiddenError(attributes, decided.reason)
    }
}
