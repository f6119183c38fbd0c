/** The default RBAC objects in a dialect's names, made from the tables beside this file. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Dialect } from '../dialect.ts'
import { apiGroup, apiKey, labelKey } from '../dialect.ts'
import type { PolicyRule, Subject } from '../generated/types.ts'
import type { NamespacedRole, SubjectText } from './bindings.ts'
import { clusterRoleBindings, namespacedRoles } from './bindings.ts'
import { aggregatedRoles, aggregateLabels, clusterRoles, nodeRole } from './cluster-roles.ts'
import { controllerRoles } from './controller-roles.ts'
import { inDialect, parseRule } from './rule-text.ts'

/** By kind, in the order they are listed. */
export interface PolicyObjects {
  readonly clusterRoles: readonly KubeObject[]
  readonly clusterRoleBindings: readonly KubeObject[]
  readonly roles: readonly KubeObject[]
  readonly roleBindings: readonly KubeObject[]
}

/** `system:controller:<name>`. */
export function controllerRoleName(controller: string): string {
  return `system:controller:${controller}`
}

/** The annotation that, set to `false`, keeps an object from being reconciled. */
export function autoupdateAnnotation(dialect: Dialect): string {
  return labelKey(dialect, 'rbac.authorization', 'autoupdate')
}

/** What the Node authorizer allows every node agent. */
export function nodeRules(dialect: Dialect): PolicyRule[] {
  return (clusterRoles[nodeRole] ?? []).map((rule) => parseRule(rule, dialect))
}

/** Everything the server makes at its start. */
export function policyObjects(dialect: Dialect): PolicyObjects {
  const group = apiGroup(dialect, 'rbac.authorization')
  const apiVersion = `${group}/v1`
  const namespaces = { system: dialect.systemNamespace, public: dialect.publicNamespace }

  function defaults(name: string, namespace?: string): KubeObject['metadata'] {
    return {
      name: inDialect(name, dialect),
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [labelKey(dialect, '', 'bootstrapping')]: 'rbac-defaults' },
      annotations: { [autoupdateAnnotation(dialect)]: 'true' },
    }
  }

  function subject(text: SubjectText): Subject {
    const kind = text.slice(0, text.indexOf(':'))
    const name = text.slice(kind.length + 1)
    if (kind === 'account') {
      return { kind: 'ServiceAccount', name, namespace: dialect.systemNamespace }
    }
    return { apiGroup: group, kind: kind === 'user' ? 'User' : 'Group', name }
  }

  const roleRef = (kind: 'Role' | 'ClusterRole', name: string): KubeObject['roleRef'] => ({
    apiGroup: group,
    kind,
    name: inDialect(name, dialect),
  })
  const rulesOf = (texts: readonly string[]): PolicyRule[] =>
    texts.map((text) => parseRule(text, dialect))
  const domainLabel = (name: string): string => apiKey(dialect, 'rbac.authorization', name)

  function clusterRole(name: string, rules: readonly string[]): KubeObject {
    const metadata = defaults(name)
    const aggregate = aggregateLabels[name]
    if (aggregate !== undefined)
      metadata.labels = { ...metadata.labels, [domainLabel(aggregate)]: 'true' }
    const gathered = aggregatedRoles[name]
    if (gathered === undefined)
      return { apiVersion, kind: 'ClusterRole', metadata, rules: rulesOf(rules) }
    const selector = { matchLabels: { [domainLabel(gathered)]: 'true' } }
    return {
      apiVersion,
      kind: 'ClusterRole',
      metadata,
      rules: [],
      aggregationRule: { clusterRoleSelectors: [selector] },
    }
  }

  function clusterBinding(
    metadata: KubeObject['metadata'],
    role: string,
    subjects: readonly SubjectText[],
  ): KubeObject {
    return {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata,
      ...(subjects.length === 0 ? {} : { subjects: subjects.map(subject) }),
      roleRef: roleRef('ClusterRole', role),
    }
  }

  function role({ namespace, name, rules }: NamespacedRole): KubeObject {
    const metadata = defaults(name, namespaces[namespace])
    return { apiVersion, kind: 'Role', metadata, rules: rulesOf(rules) }
  }

  function binding({ namespace, name, bindingName = name, subjects }: NamespacedRole): KubeObject {
    return {
      apiVersion,
      kind: 'RoleBinding',
      metadata: defaults(bindingName, namespaces[namespace]),
      subjects: subjects.map(subject),
      roleRef: roleRef('Role', name),
    }
  }

  return {
    clusterRoles: [
      ...Object.keys(aggregatedRoles).map((name) => clusterRole(name, [])),
      ...Object.entries(clusterRoles).map(([name, rules]) => clusterRole(name, rules)),
      ...Object.entries(controllerRoles).map(([name, rules]) =>
        clusterRole(controllerRoleName(name), rules),
      ),
    ],
    clusterRoleBindings: [
      ...Object.entries(clusterRoleBindings).map(([name, subjects]) =>
        clusterBinding(defaults(name), name, subjects),
      ),
      ...Object.keys(controllerRoles).map((name) =>
        clusterBinding(defaults(controllerRoleName(name)), controllerRoleName(name), [
          `account:${name}`,
        ]),
      ),
    ],
    roles: namespacedRoles.map(role),
    roleBindings: namespacedRoles.map(binding),
  }
}
