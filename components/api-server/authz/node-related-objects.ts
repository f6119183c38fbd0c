/** Rules for pods and the objects that the pods of a node need, by the graph of references (upstream: authorizer/node). */
import type { AuthorizationAttributes } from '../request/request.ts'
import type { Decision } from './authorizer.ts'
import type { NodeGraph, ReferencedKind } from './node-graph.ts'
import { allow, noOpinion, selectsNode, unrelated, type NodeRule } from './node-rule.ts'

function objectKey({ namespace, name }: AuthorizationAttributes): string {
  return namespace === '' ? name : `${namespace}/${name}`
}

/** Any verb on one object that a pod of the node needs; callers check the verb. */
function relatedRule(graph: NodeGraph, kind: ReferencedKind): NodeRule {
  return (nodeName, attributes) => {
    if (attributes.name === '') return noOpinion('No Object name found')
    return graph.isRelated(nodeName, kind, objectKey(attributes)) ? allow : unrelated(nodeName)
  }
}

/** Only `get` of one object, if `isNeeded` says that the node needs it. */
export function getRule(
  isNeeded: (nodeName: string, attributes: AuthorizationAttributes) => boolean,
): NodeRule {
  return (nodeName, attributes) => {
    if (attributes.verb !== 'get') {
      return noOpinion('can only get individual resources of this type')
    }
    if (attributes.subresource !== '') return noOpinion('cannot get subresource')
    if (attributes.name === '') return noOpinion('No Object name found')
    return isNeeded(nodeName, attributes) ? allow : unrelated(nodeName)
  }
}

/** Only `get` of one object that a pod of the node needs. */
export function getRelatedRule(graph: NodeGraph, kind: ReferencedKind): NodeRule {
  return getRule((nodeName, attributes) => graph.isRelated(nodeName, kind, objectKey(attributes)))
}

/** Get, list and watch of one object that a pod of the node needs. */
export function readRelatedRule(graph: NodeGraph, kind: ReferencedKind): NodeRule {
  const related = relatedRule(graph, kind)
  return (nodeName, attributes) => {
    if (!['get', 'list', 'watch'].includes(attributes.verb)) {
      return noOpinion('can only read resources of this type')
    }
    if (attributes.subresource !== '') return noOpinion('cannot read subresource')
    if (attributes.namespace === '') {
      return noOpinion('can only read namespaced object of this type')
    }
    return related(nodeName, attributes)
  }
}

/** Claims: read, and report their status. */
export function claimRule(graph: NodeGraph): NodeRule {
  const get = getRelatedRule(graph, 'persistentvolumeclaim')
  const related = relatedRule(graph, 'persistentvolumeclaim')
  return (nodeName, attributes) => {
    const { verb, subresource } = attributes
    if (subresource !== 'status') return get(nodeName, attributes)
    return verb === 'update' || verb === 'patch'
      ? related(nodeName, attributes)
      : noOpinion('can only get/update/patch this type')
  }
}

/** Service accounts: create tokens for those that the node's pods run as. */
export function tokenRule(graph: NodeGraph): NodeRule {
  const related = relatedRule(graph, 'serviceaccount')
  return (nodeName, attributes) => {
    if (attributes.verb !== 'create' || attributes.name === '') {
      return noOpinion('can only create tokens for individual service accounts')
    }
    if (attributes.subresource !== 'token') {
      return noOpinion('can only create token subresource of serviceaccount')
    }
    return related(nodeName, attributes)
  }
}

/** With AuthorizeNodeWithSelectors; without the gate the ClusterRole `system:node` decides. */
export function podRule(graph: NodeGraph): NodeRule {
  const get = getRelatedRule(graph, 'pod')
  const related = relatedRule(graph, 'pod')

  function authorizePod(nodeName: string, attributes: AuthorizationAttributes): Decision {
    const { verb } = attributes
    if (verb === 'create' || verb === 'delete') return allow
    if (verb === 'get') return get(nodeName, attributes)
    if (verb !== 'list' && verb !== 'watch') return noOpinion()
    if (selectsNode(attributes, nodeName)) return allow
    if (attributes.name !== '') return related(nodeName, attributes)
    return noOpinion('can only list/watch pods with spec.nodeName field selector')
  }

  return (nodeName, attributes) => {
    const { verb } = attributes
    switch (attributes.subresource) {
      case 'status':
        return verb === 'update' || verb === 'patch' ? allow : noOpinion()
      case 'eviction':
        return verb === 'create' ? allow : noOpinion()
      case '':
        return authorizePod(nodeName, attributes)
      default:
        return noOpinion()
    }
  }
}
