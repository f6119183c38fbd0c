/** Escalation check: a user may write a role or binding only if it grants permissions that the user holds (upstream: registry/rbac, policybased). */
import type { Dialect } from '../../api/dialect.ts'
import { apiGroup } from '../../api/dialect.ts'
import type { PolicyRule, RoleRef } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { goQuote } from '../../machinery/values/go-syntax.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { forbidden, notFound } from '../../machinery/objects/status-error.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AuthorizationAttributes, UserInfo } from '../request/request.ts'
import type { Authorizer } from './authorizer.ts'
import type { RbacIndex } from './rbac-index.ts'
import { compactRules, describeRule, uncoveredRules } from './rule-covers.ts'

const fullAuthority: readonly PolicyRule[] = [
  { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
  { nonResourceURLs: ['*'], verbs: ['*'] },
]

/** A create or update. Only those of roles, cluster roles and bindings are checked. */
export interface EscalationRequest {
  readonly resource: Resource
  readonly namespace: string
  readonly object: KubeObject
  readonly old: KubeObject | undefined
  readonly user: UserInfo
}

/** Throws a 403 StatusError when the write would grant what the user does not hold. */
export type CheckEscalation = (request: EscalationRequest) => Promise<void>

/** Whether an update changes owner references and finalizers alone, as garbage collection does. */
export function changesOnlyOwnership(object: KubeObject, old: KubeObject): boolean {
  const kept = ({ metadata, ...rest }: KubeObject): unknown => {
    const { ownerReferences: _, finalizers: __, managedFields: ___, ...others } = metadata
    return { ...rest, metadata: others }
  }
  return deepEqual(kept(object), kept(old))
}

interface EscalationOptions {
  readonly index: RbacIndex
  readonly authorizer: Authorizer
  readonly reader: ObjectReader
  readonly dialect: Dialect
}

/** Whether the user may escalate or bind without holding the permissions. */
async function isAuthorized(
  { authorizer, dialect }: EscalationOptions,
  {
    user,
    namespace,
    ...target
  }: Pick<AuthorizationAttributes, 'user' | 'namespace' | 'verb' | 'resource' | 'name'>,
): Promise<boolean> {
  const decision = await authorizer.authorize({
    user,
    isResourceRequest: true,
    group: apiGroup(dialect, 'rbac.authorization'),
    version: '*',
    subresource: '',
    namespace,
    path: '',
    ...target,
  })
  return decision.decision === 'allow'
}

/** Throws a 403 unless the user holds the rules (upstream: ConfirmNoEscalation). `why` replaces its message. */
function confirmNoEscalation(
  { index }: EscalationOptions,
  {
    request,
    rules,
    why,
  }: { request: EscalationRequest; rules: readonly PolicyRule[]; why?: string },
): void {
  const { user, namespace, resource, object } = request
  const missing = uncoveredRules(index.rulesFor(user, namespace), rules)
  if (missing.length === 0) return
  const lines = [...new Set(compactRules(missing).map(describeRule))].toSorted()
  const groups = user.groups.map(goQuote).join(' ')
  const text = `user ${goQuote(user.name)} (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}`
  throw forbidden(resource, object.metadata.name ?? '', why ?? text)
}

async function checkRole(options: EscalationOptions, request: EscalationRequest): Promise<void> {
  const { object, old, resource, user, namespace } = request
  const name = object.metadata.name ?? ''
  const escalation = { user, namespace, verb: 'escalate', resource: resource.plural, name }
  if (await isAuthorized(options, escalation)) return
  confirmNoEscalation(options, { request, rules: (object['rules'] ?? []) as PolicyRule[] })
  if (object['aggregationRule'] || old?.['aggregationRule']) {
    confirmNoEscalation(options, {
      request,
      rules: fullAuthority,
      why: 'must have cluster-admin privileges to use the aggregationRule',
    })
  }
}

async function checkBinding(options: EscalationOptions, request: EscalationRequest): Promise<void> {
  const { user, namespace, object } = request
  const { kind, name } = object['roleRef'] as RoleRef
  const { roles, clusterRoles } = resourcesOf(options.dialect)
  const resource = kind === 'Role' ? roles : clusterRoles
  const binding = { user, namespace, verb: 'bind', resource: resource.plural, name }
  if (await isAuthorized(options, binding)) return
  const role = options.reader.get(resource, kind === 'Role' ? namespace : '', name)
  if (role === undefined) throw notFound(resource, name)
  confirmNoEscalation(options, { request, rules: (role['rules'] ?? []) as PolicyRule[] })
}

export function createEscalationCheck(options: EscalationOptions): CheckEscalation {
  const group = apiGroup(options.dialect, 'rbac.authorization')
  return async (request) => {
    const { resource, object, old, user } = request
    if (resource.group !== group || user.groups.includes('system:masters')) return
    if (old !== undefined && changesOnlyOwnership(object, old)) return
    if (resource.kind === 'Role' || resource.kind === 'ClusterRole') {
      await checkRole(options, request)
    } else if (resource.kind.endsWith('RoleBinding')) await checkBinding(options, request)
  }
}
