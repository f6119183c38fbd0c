/** Escalation check: nobody writes a role or binding that grants more than he holds (upstream: registry/rbac, the policybased storages). */
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

/** A create or update of a role, cluster role or binding; anything else is let through. */
export interface EscalationRequest {
  readonly resource: Resource
  readonly namespace: string
  readonly object: KubeObject
  readonly old: KubeObject | undefined
  readonly user: UserInfo
}

/** Throws a 403 StatusError when the write would grant what the user does not hold. */
export type CheckEscalation = (request: EscalationRequest) => Promise<void>

/** Garbage collection must be able to let go of an object whatever it grants. */
function changesOnlyOwnership(object: KubeObject, old: KubeObject): boolean {
  const kept = ({ metadata, ...rest }: KubeObject): unknown => {
    const { ownerReferences: _, finalizers: __, managedFields: ___, ...others } = metadata
    return { ...rest, metadata: others }
  }
  return deepEqual(kept(object), kept(old))
}

export function createEscalationCheck(options: {
  index: RbacIndex
  authorizer: Authorizer
  reader: ObjectReader
  dialect: Dialect
}): CheckEscalation {
  const { index, authorizer, reader, dialect } = options
  const resources = resourcesOf(dialect)
  const group = apiGroup(dialect, 'rbac.authorization')

  async function isAllowed(
    request: EscalationRequest,
    what: Pick<AuthorizationAttributes, 'verb' | 'resource' | 'name'>,
  ): Promise<boolean> {
    const decision = await authorizer.authorize({
      user: request.user,
      isResourceRequest: true,
      group,
      version: '*',
      subresource: '',
      namespace: request.namespace,
      path: '',
      ...what,
    })
    return decision.decision === 'allow'
  }

  function confirm(request: EscalationRequest, rules: readonly PolicyRule[], why?: string): void {
    const { user, namespace, resource, object } = request
    const missing = uncoveredRules(index.rulesFor(user, namespace), rules)
    if (missing.length === 0) return
    const lines = [...new Set(compactRules(missing).map(describeRule))].toSorted()
    const groups = user.groups.map(goQuote).join(' ')
    const text = `user ${goQuote(user.name)} (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}`
    throw forbidden(resource, object.metadata.name ?? '', why ?? text)
  }

  async function checkRole(request: EscalationRequest): Promise<void> {
    const { object, old, resource } = request
    const name = object.metadata.name ?? ''
    if (await isAllowed(request, { verb: 'escalate', resource: resource.plural, name })) return
    confirm(request, (object['rules'] ?? []) as PolicyRule[])
    if (object['aggregationRule'] || old?.['aggregationRule']) {
      confirm(
        request,
        fullAuthority,
        'must have cluster-admin privileges to use the aggregationRule',
      )
    }
  }

  async function checkBinding(request: EscalationRequest): Promise<void> {
    const ref = request.object['roleRef'] as RoleRef
    const resource = ref.kind === 'Role' ? resources.roles : resources.clusterRoles
    if (await isAllowed(request, { verb: 'bind', resource: resource.plural, name: ref.name }))
      return
    const role = reader.get(resource, ref.kind === 'Role' ? request.namespace : '', ref.name)
    if (role === undefined) throw notFound(resource, ref.name)
    confirm(request, (role['rules'] ?? []) as PolicyRule[])
  }

  return async (request) => {
    const { resource, object, old, user } = request
    if (resource.group !== group || user.groups.includes('system:masters')) return
    if (old !== undefined && changesOnlyOwnership(object, old)) return
    if (resource.kind === 'Role' || resource.kind === 'ClusterRole') await checkRole(request)
    else if (resource.kind.endsWith('RoleBinding')) await checkBinding(request)
  }
}
