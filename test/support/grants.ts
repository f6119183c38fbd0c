/** Rights for users of a test server. */
import { user, type Identity, type TestApiServer } from './api-server.ts'

/** Lets the user `grant.name` do what the rules say, in one namespace. Rules hold for all API groups. */
export async function allow(
  server: TestApiServer,
  ns: string,
  grant: { name: string; rules: readonly { resources: string[]; verbs: string[] }[] },
): Promise<Identity> {
  const group = server.group('rbac.authorization')
  const at = `/apis/${group}/v1/namespaces/${ns}`
  const rules = grant.rules.map((rule) => ({ apiGroups: ['*'], ...rule }))
  await server.ok('POST', `${at}/roles`, { body: { metadata: { name: grant.name }, rules } })
  await server.ok('POST', `${at}/rolebindings`, {
    body: {
      metadata: { name: grant.name },
      roleRef: { apiGroup: group, kind: 'Role', name: grant.name },
      subjects: [{ apiGroup: group, kind: 'User', name: grant.name }],
    },
  })
  return user(grant.name)
}

/** Lets the user do what the rules say, everywhere, by a ClusterRole and a ClusterRoleBinding of his name. */
export async function allowEverywhere(
  server: TestApiServer,
  name: string,
  rules: readonly Readonly<Record<string, readonly string[]>>[],
): Promise<Identity> {
  const group = server.group('rbac.authorization')
  const at = `/apis/${group}/v1`
  await server.ok('POST', `${at}/clusterroles`, { body: { metadata: { name }, rules } })
  await server.ok('POST', `${at}/clusterrolebindings`, {
    body: {
      metadata: { name },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name },
      subjects: [{ apiGroup: group, kind: 'User', name }],
    },
  })
  return user(name)
}
