/** Random requests, rules and subjects of a small world, in which much meets. */
import fc from 'fast-check'
import type { PolicyRule, Subject } from '../../../components/api/generated/types.ts'
import type {
  AuthorizationAttributes,
  UserInfo,
} from '../../../components/api-server/request/request.ts'

export const namespaces = ['a', 'b'] as const
const verbs = ['get', 'list', 'create', 'impersonate']
const groups = ['', 'apps']
const resources = ['pods', 'secrets', 'nodes']
const subresources = ['', '', 'status', 'log']
const names = ['', 'x', 'y']
const paths = ['/', '/healthz', '/healthz/ping', '/metrics', '/api/v1', '/healthz*']

const some = <T>(values: readonly T[], maxLength = 3): fc.Arbitrary<T[]> =>
  fc.array(fc.constantFrom(...values), { maxLength })
const few = <T>(values: readonly T[]): fc.Arbitrary<T[]> =>
  fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 2 })

const users: readonly string[] = ['jane', 'joe', 'system:serviceaccount:a:robot']
const userGroups: readonly string[] = ['devs', 'ops', 'system:authenticated']

const user: fc.Arbitrary<UserInfo> = fc.record({
  name: fc.constantFrom(...users),
  groups: fc.subarray([...userGroups], { minLength: 1 }),
})

/** A request of a user, on a resource or on a path. */
export const request: fc.Arbitrary<AuthorizationAttributes> = fc
  .record({
    user,
    verb: fc.constantFrom(...verbs),
    isResourceRequest: fc.nat(4).map((roll) => roll > 0),
    group: fc.constantFrom(...groups),
    resource: fc.constantFrom(...resources),
    subresource: fc.constantFrom(...subresources),
    namespace: fc.constantFrom('', ...namespaces),
    name: fc.constantFrom(...names),
    path: fc.constantFrom(...paths),
  })
  .map((asked) =>
    asked.isResourceRequest
      ? { ...asked, version: 'v1', path: '' }
      : {
          ...asked,
          version: '',
          group: '',
          resource: '',
          subresource: '',
          namespace: '',
          name: '',
        },
  )

const resourceRule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    verbs: few([...verbs, '*', '*']),
    apiGroups: few([...groups, '*', '*']),
    resources: few([
      ...resources,
      ...['pods/log', 'pods/status', '*/status', '*/log', 'pods/*', '*', '*', '*'],
    ]),
    resourceNames: fc.oneof(
      { weight: 3, arbitrary: fc.constant<string[]>([]) },
      some(['x', 'y', 'z', '*'], 2),
    ),
  },
  { requiredKeys: ['verbs', 'apiGroups', 'resources'] },
)
const pathRule: fc.Arbitrary<PolicyRule> = fc.record({
  verbs: few([...verbs, '*', '*']),
  nonResourceURLs: few([...paths, '/healthz/*', '*', '/api*', '/metrics*']),
})

/** One rule, seldom of paths. */
export const rule = fc.oneof({ weight: 4, arbitrary: resourceRule }, pathRule)

export const subject: fc.Arbitrary<Subject> = fc.oneof(
  fc.record({ kind: fc.constant('User'), name: fc.constantFrom(...users) }),
  fc.record({ kind: fc.constant('Group'), name: fc.constantFrom(...userGroups) }),
  fc.record(
    {
      kind: fc.constant('ServiceAccount'),
      name: fc.constant('robot'),
      namespace: fc.constantFrom(...namespaces),
    },
    { requiredKeys: ['kind', 'name'] },
  ),
)

/** Every request of the small world that one user can make, with the user left to be filled in. */
export function everyRequest(who: UserInfo): AuthorizationAttributes[] {
  const onResources = verbs.flatMap((verb) =>
    groups.flatMap((group) =>
      resources.flatMap((resource) =>
        [...new Set(subresources)].flatMap((subresource) =>
          ['', ...namespaces].flatMap((namespace) =>
            names.map((name) => ({ verb, group, resource, subresource, namespace, name })),
          ),
        ),
      ),
    ),
  )
  return [
    ...onResources.map((one) => ({
      ...one,
      user: who,
      version: 'v1',
      isResourceRequest: true,
      path: '',
    })),
    ...verbs.flatMap((verb) =>
      paths.map((path) => ({
        ...{ user: who, verb, path, isResourceRequest: false, version: '' },
        ...{ group: '', resource: '', subresource: '', namespace: '', name: '' },
      })),
    ),
  ]
}
