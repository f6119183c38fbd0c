/** The default RBAC objects in a dialect's names, made from the tables beside this file. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Dialect } from '../dialect.ts'
import { apiGroup, apiKey, labelKey } from '../dialect.ts'
import type { FeatureGates } from '../feature-gates.ts'
import type { ClusterRole, PolicyRule, Subject } from '../generated/types.ts'
import { aggregatedRules } from './aggregated-rules.ts'
import type { NamespacedRole, SubjectText } from './bindings.ts'
import { clusterRoleBindings, namespacedRoles } from './bindings.ts'
import {
  aggregatedRoles,
  aggregateLabels,
  clusterRoles,
  metricsReader,
  nodeRole,
} from './cluster-roles.ts'
import { controllerRolesWith } from './controller-roles.ts'
import { gatedClusterRules } from './gated-controller-roles.ts'
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

/** The rules by which the Node authorizer allows every node agent's requests. */
export function nodeRules(dialect: Dialect): PolicyRule[] {
  return parseRules(clusterRoles[nodeRole] ?? [], dialect)
}

/**
 * Every object that the server creates when it starts; the role for metrics only where these are served, roles of gated
 * controllers only where their gates are on.
 */
export function policyObjects(
  dialect: Dialect,
  { servesMetrics, gates }: { servesMetrics: boolean; gates: FeatureGates },
): PolicyObjects {
  const controllerRoles = controllerRolesWith(gates)
  const plain = [
    ...Object.entries(clusterRoles)
      .filter(([name]) => servesMetrics || name !== metricsReader)
      .map(([name, rules]) => clusterRole(dialect, name, [...rules, ...gatedRules(name, gates)])),
    ...Object.entries(controllerRoles).map(([name, rules]) =>
      clusterRole(dialect, controllerRoleName(name), rules),
    ),
  ]
  return {
    clusterRoles: [...gatheringRoles(dialect, plain), ...plain],
    clusterRoleBindings: [
      ...Object.entries(clusterRoleBindings).map(([name, subjects]) =>
        clusterBinding(dialect, name, subjects),
      ),
      ...Object.keys(controllerRoles).map((name) =>
        clusterBinding(dialect, controllerRoleName(name), [`account:${name}`]),
      ),
    ],
    roles: namespacedRoles.map((namespaced) => role(dialect, namespaced)),
    roleBindings: namespacedRoles.map((namespaced) => roleBinding(dialect, namespaced)),
  }
}

function gatedRules(role: string, gates: FeatureGates): readonly string[] {
  return gatedClusterRules.flatMap(({ name, gates: needed, rules }) =>
    name === role && needed.every((gate) => gates[gate]) ? rules : [],
  )
}

/** Aggregated roles, with the rules that the aggregation controller would give them: they hold from the start. */
function gatheringRoles(dialect: Dialect, others: readonly KubeObject[]): KubeObject[] {
  let roles = Object.keys(aggregatedRoles).map((name) => clusterRole(dialect, name, []))
  // Each of them gathers from the one below it.
  for (const _ of roles) {
    const all = [...roles, ...others] as ClusterRole[]
    roles = roles.map((one) => ({ ...one, rules: aggregatedRules(one as ClusterRole, all) }))
  }
  return roles
}

function clusterRole(dialect: Dialect, name: string, rules: readonly string[]): KubeObject {
  const domainLabel = (text: string): string => apiKey(dialect, 'rbac.authorization', text)
  const kind = 'ClusterRole'
  const apiVersion = apiVersionIn(dialect)
  const metadata = metadataOf(dialect, name)
  const aggregate = aggregateLabels[name]
  if (aggregate !== undefined)
    metadata.labels = { ...metadata.labels, [domainLabel(aggregate)]: 'true' }
  const gathered = aggregatedRoles[name]
  if (gathered === undefined)
    return { apiVersion, kind, metadata, rules: parseRules(rules, dialect) }
  const selector = { matchLabels: { [domainLabel(gathered)]: 'true' } }
  const aggregationRule = { clusterRoleSelectors: [selector] }
  return { apiVersion, kind, metadata, rules: [], aggregationRule }
}

function clusterBinding(
  dialect: Dialect,
  name: string,
  subjects: readonly SubjectText[],
): KubeObject {
  return {
    apiVersion: apiVersionIn(dialect),
    kind: 'ClusterRoleBinding',
    metadata: metadataOf(dialect, name),
    ...(subjects.length === 0
      ? {}
      : { subjects: subjects.map((text) => subjectOf(dialect, text)) }),
    roleRef: roleRef(dialect, 'ClusterRole', name),
  }
}

function role(dialect: Dialect, { namespace, name, rules }: NamespacedRole): KubeObject {
  return {
    apiVersion: apiVersionIn(dialect),
    kind: 'Role',
    metadata: metadataOf(dialect, name, namespace),
    rules: parseRules(rules, dialect),
  }
}

function roleBinding(
  dialect: Dialect,
  { namespace, name, bindingName = name, subjects }: NamespacedRole,
): KubeObject {
  return {
    apiVersion: apiVersionIn(dialect),
    kind: 'RoleBinding',
    metadata: metadataOf(dialect, bindingName, namespace),
    subjects: subjects.map((text) => subjectOf(dialect, text)),
    roleRef: roleRef(dialect, 'Role', name),
  }
}

function apiVersionIn(dialect: Dialect): string {
  return `${apiGroup(dialect, 'rbac.authorization')}/v1`
}

function metadataOf(
  dialect: Dialect,
  name: string,
  namespace?: NamespacedRole['namespace'],
): KubeObject['metadata'] {
  const namespaces = { system: dialect.systemNamespace, public: dialect.publicNamespace }
  return {
    name: inDialect(name, dialect),
    ...(namespace === undefined ? {} : { namespace: namespaces[namespace] }),
    labels: { [labelKey(dialect, '', 'bootstrapping')]: 'rbac-defaults' },
    annotations: { [autoupdateAnnotation(dialect)]: 'true' },
  }
}

function subjectOf(dialect: Dialect, text: SubjectText): Subject {
  const kind = text.slice(0, text.indexOf(':'))
  const name = text.slice(kind.length + 1)
  if (kind === 'account') {
    return { kind: 'ServiceAccount', name, namespace: dialect.systemNamespace }
  }
  const group = apiGroup(dialect, 'rbac.authorization')
  return { apiGroup: group, kind: kind === 'user' ? 'User' : 'Group', name }
}

function roleRef(
  dialect: Dialect,
  kind: 'Role' | 'ClusterRole',
  name: string,
): KubeObject['roleRef'] {
  return { apiGroup: apiGroup(dialect, 'rbac.authorization'), kind, name: inDialect(name, dialect) }
}

function parseRules(texts: readonly string[], dialect: Dialect): PolicyRule[] {
  return texts.map((text) => parseRule(text, dialect))
}
