/** Details of the Node authorizer's opinion: the common rule, or the path from the node over a pod to the object. */
import type { Dialect } from '../../api/dialect.ts'
import { apiGroup } from '../../api/dialect.ts'
import type { OpinionDetail } from '../../api/explanations.ts'
import type { AuthorizationAttributes } from '../request/request.ts'
import type { NodeGraph } from './node-graph.ts'
import { nodeNameOf } from './node-identity.ts'
import { compileRules, requestKey, type CompiledRules } from './rule-matching.ts'

/** How many paths of other nodes an explanation shows. */
const mostOthers = 5

type Kind = Parameters<NodeGraph['waysTo']>[0]

function kindOf({ group, resource }: AuthorizationAttributes, dialect: Dialect): Kind | undefined {
  if (group === apiGroup(dialect, 'resource') && resource === 'resourceclaims') {
    return 'resourceclaim'
  }
  if (group !== '') return undefined
  const kinds: Readonly<Record<string, Kind>> = {
    secrets: 'secret',
    configmaps: 'configmap',
    persistentvolumeclaims: 'persistentvolumeclaim',
    persistentvolumes: 'persistentvolume',
    pods: 'pod',
    serviceaccounts: 'serviceaccount',
  }
  return Object.hasOwn(kinds, resource) ? kinds[resource] : undefined
}

/** Reads every pod for objects that pods relate to nodes. */
export function nodeDetail(
  attributes: AuthorizationAttributes,
  known: { isAllowed: boolean; graph: NodeGraph; rules: CompiledRules; dialect: Dialect },
): OpinionDetail {
  const { isAllowed, graph, rules, dialect } = known
  const { user, name, namespace } = attributes
  const node = nodeNameOf(user)
  if (node === undefined) {
    const looksLikeNode = user.name.startsWith('system:node:')
    return {
      missing: looksLikeNode ? 'the user is not in the group system:nodes' : 'no node agent',
    }
  }
  const kind = attributes.isResourceRequest ? kindOf(attributes, dialect) : undefined
  if (kind !== undefined && name !== '') {
    const key = namespace === '' ? name : `${namespace}/${name}`
    const ways = graph.waysTo(kind, key)
    const way = ways.find((one) => one.node === node)
    if (isAllowed) return way === undefined ? {} : { way }
    if (way !== undefined) return { way }
    const missing = `no pod on ${node} ${kind === 'pod' ? 'has that name' : `needs ${kind} ${key}`}`
    return ways.length === 0 ? { missing } : { missing, otherWays: ways.slice(0, mostOthers) }
  }
  const rule = isAllowed
    ? rules.rules.find((one) => compileRules([one]).allows(requestKey(attributes)))
    : undefined
  return rule === undefined ? {} : { rule }
}
