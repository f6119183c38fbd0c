/** Rules for the objects that belong to a node: its Node, Lease, CSINode and ResourceSlices (upstream: authorizer/node). */
import type { Dialect } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { allow, noOpinion, selectsNode, unrelated, type NodeRule } from './node-rule.ts'

const ownObjectVerbs = ['get', 'create', 'update', 'patch', 'delete']

/** The one object of a kind that is named like the node. `text` holds the reasons for no opinion. */
function ownObject(text: { verbs: string; name: string; subresource?: string }): NodeRule {
  return (nodeName, { verb, subresource, name }) => {
    if (!ownObjectVerbs.includes(verb)) return noOpinion(text.verbs)
    if (text.subresource !== undefined && subresource !== '') return noOpinion(text.subresource)
    // The name is not known on create; the NodeRestriction admission plugin checks it then.
    return verb === 'create' || name === nodeName ? allow : noOpinion(text.name)
  }
}

export const csiNodeRule = ownObject({
  verbs: 'can only get, create, update, patch, or delete a CSINode',
  name: 'can only access CSINode with the same name as the requesting node',
  subresource: 'cannot authorize CSINode subresources',
})

const ownLeaseRule = ownObject({
  verbs: 'can only get, create, update, patch, or delete a node lease',
  name: 'can only access node lease with the same name as the requesting node',
})

export function leaseRule({ nodeLeaseNamespace }: Dialect): NodeRule {
  return (nodeName, attributes) => {
    const decision = ownLeaseRule(nodeName, attributes)
    return decision === allow && attributes.namespace !== nodeLeaseNamespace
      ? noOpinion(`can only access leases in the "${nodeLeaseNamespace}" system namespace`)
      : decision
  }
}

/** With AuthorizeNodeWithSelectors; without the gate the ClusterRole `system:node` decides. */
export const nodeRule: NodeRule = (nodeName, { verb, subresource, name }) => {
  if (subresource === 'status') {
    return verb === 'update' || verb === 'patch' ? allow : noOpinion()
  }
  if (subresource !== '') return noOpinion()
  if (verb === 'create' || verb === 'update' || verb === 'patch') return allow
  if (verb !== 'get' && verb !== 'list' && verb !== 'watch') return noOpinion()
  if (name === nodeName) return allow
  return noOpinion(
    name === ''
      ? `node '${nodeName}' cannot read all nodes, only its own Node object`
      : `node '${nodeName}' cannot read '${name}', only its own Node object`,
  )
}

export function resourceSliceRule(options: {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  /** AuthorizeNodeWithSelectors: lists must select the node's own slices. */
  readonly withSelectors: boolean
}): NodeRule {
  const { reader, dialect, withSelectors } = options
  const { resourceSlices } = resourcesOf(dialect)

  const isOwn = (nodeName: string, name: string): boolean =>
    reader.get(resourceSlices, '', name)?.['spec']?.nodeName === nodeName

  return (nodeName, attributes) => {
    if (attributes.subresource !== '') {
      return noOpinion('cannot authorize ResourceSlice subresources')
    }
    switch (attributes.verb) {
      case 'create':
        return allow
      case 'get':
      case 'update':
      case 'patch':
      case 'delete':
        return isOwn(nodeName, attributes.name) ? allow : unrelated(nodeName)
      case 'watch':
      case 'list':
      case 'deletecollection':
        return !withSelectors || selectsNode(attributes, nodeName)
          ? allow
          : noOpinion(
              'can only list/watch/deletecollection resourceslices with nodeName field selector',
            )
      default:
        return noOpinion(
          'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
        )
    }
  }
}
