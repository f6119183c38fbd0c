/** The Node authorizer: what a node agent may do, down to the single objects its pods need (upstream: authorizer/node). */
import type { Dialect } from '../../api/dialect.ts'
import { apiGroup } from '../../api/dialect.ts'
import type { PolicyRule } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AuthorizationAttributes } from '../request/request.ts'
import type { Authorizer, Decision } from './authorizer.ts'
import type { NodeGraph } from './node-graph.ts'
import { nodeDetail } from './node-detail.ts'
import { nodeNameOf } from './node-identity.ts'
import { csiNodeRule, leaseRule, nodeRule, resourceSliceRule } from './node-own-objects.ts'
import {
  claimRule,
  getRelatedRule,
  getRule,
  podRule,
  readRelatedRule,
  tokenRule,
} from './node-related-objects.ts'
import { allow, noOpinion, type NodeRule } from './node-rule.ts'
import { compileRules, requestKey } from './rule-matching.ts'

interface NodeAuthorizerOptions {
  readonly graph: NodeGraph
  readonly reader: ObjectReader
  readonly dialect: Dialect
  /** What every node agent may do (the ClusterRole `system:node`). */
  readonly rules: readonly PolicyRule[]
  /** The feature gate AuthorizeNodeWithSelectors; on by default. */
  readonly withSelectors?: boolean
}

/** By `group/resource`. Kinds without a rule of their own are left to the ClusterRole. */
function nodeRulesOf(options: NodeAuthorizerOptions): Map<string, NodeRule> {
  const { graph, reader, dialect, withSelectors = true } = options
  const { volumeAttachments } = resourcesOf(dialect)
  const storage = apiGroup(dialect, 'storage')
  const dynamic = apiGroup(dialect, 'resource')
  const rules = new Map<string, NodeRule>([
    ['/secrets', readRelatedRule(graph, 'secret')],
    ['/configmaps', readRelatedRule(graph, 'configmap')],
    ['/persistentvolumeclaims', claimRule(graph)],
    ['/persistentvolumes', getRule((nodeName, { name }) => graph.isVolumeRelated(nodeName, name))],
    [`${dynamic}/resourceclaims`, getRelatedRule(graph, 'resourceclaim')],
    [`${dynamic}/resourceslices`, resourceSliceRule({ reader, dialect, withSelectors })],
    [
      `${storage}/volumeattachments`,
      getRule(
        (nodeName, { name }) =>
          reader.get(volumeAttachments, '', name)?.['spec']?.nodeName === nodeName,
      ),
    ],
    ['/serviceaccounts', tokenRule(graph)],
    [`${apiGroup(dialect, 'coordination')}/leases`, leaseRule(dialect)],
    [`${storage}/csinodes`, csiNodeRule],
  ])
  if (withSelectors) rules.set('/nodes', nodeRule).set('/pods', podRule(graph))
  return rules
}

export function nodeAuthorizer(options: NodeAuthorizerOptions): Authorizer {
  const { graph, dialect } = options
  const rules = compileRules(options.rules)
  const nodeRules = nodeRulesOf(options)

  function authorize(attributes: AuthorizationAttributes): Decision {
    const nodeName = nodeNameOf(attributes.user)
    if (nodeName === undefined) return noOpinion()
    if (nodeName === '') return noOpinion(`unknown node for user "${attributes.user.name}"`)
    const rule = attributes.isResourceRequest
      ? nodeRules.get(`${attributes.group}/${attributes.resource}`)
      : undefined
    if (rule !== undefined) return rule(nodeName, attributes)
    return rules.allows(requestKey(attributes)) ? allow : noOpinion()
  }

  return {
    name: 'Node',
    authorize,
    explain(attributes) {
      const decision = authorize(attributes)
      const isAllowed = decision.decision === 'allow'
      return { decision, detail: nodeDetail(attributes, { isAllowed, graph, rules, dialect }) }
    },
    rulesFor(user) {
      // A node agent's rights depend on its pods, so they cannot be listed.
      const incomplete = nodeNameOf(user) !== undefined
      const errors = incomplete ? ['node authorizer does not support user rule resolution'] : []
      return { resourceRules: [], nonResourceRules: [], incomplete, errors }
    },
  }
}
