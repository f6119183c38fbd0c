/** The Node authorizer: what a node agent may do, down to the single objects its pods need (upstream: authorizer/node). */
import type { Dialect } from '../../api/dialect.ts'
import { apiGroup } from '../../api/dialect.ts'
import type { PolicyRule } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AuthorizationAttributes } from '../request/request.ts'
import type { Authorizer, Decision } from './authorizer.ts'
import type { NodeGraph, ReferencedKind } from './node-graph.ts'
import { nodeDetail } from './node-detail.ts'
import { nodeNameOf } from './node-identity.ts'
import { compileRules, requestKey } from './rule-matching.ts'

const allow: Decision = { decision: 'allow', reason: '' }
const noOpinion = (reason = ''): Decision => ({ decision: 'no-opinion', reason })

type Attributes = AuthorizationAttributes
type Judge = (nodeName: string, attributes: Attributes) => Decision

function selectsField(attributes: Attributes, field: string, value: string): boolean {
  return (attributes.fieldSelector ?? []).some(
    ({ key, operator, values }) =>
      key === field &&
      (operator === '=' || operator === '==' || operator === 'In') &&
      values.length === 1 &&
      values[0] === value,
  )
}

const objectKey = ({ namespace, name }: Attributes): string =>
  namespace === '' ? name : `${namespace}/${name}`

/** Verbs that act on one's own object of a kind that is named like the node. */
function ownObject(text: { verbs: string; name: string; subresource?: string }): Judge {
  return (nodeName, { verb, subresource, name }) => {
    if (!['get', 'create', 'update', 'patch', 'delete'].includes(verb)) return noOpinion(text.verbs)
    if (text.subresource !== undefined && subresource !== '') return noOpinion(text.subresource)
    // The name is not known on create; the NodeRestriction admission plugin checks it then.
    return verb === 'create' || name === nodeName ? allow : noOpinion(text.name)
  }
}

export function nodeAuthorizer(options: {
  graph: NodeGraph
  reader: ObjectReader
  dialect: Dialect
  /** What every node agent may do (the ClusterRole `system:node`). */
  rules: readonly PolicyRule[]
  /** The feature gate AuthorizeNodeWithSelectors; on by default. */
  withSelectors?: boolean
}): Authorizer {
  const { graph, reader, dialect, withSelectors = true } = options
  const rules = compileRules(options.rules)
  const resources = resourcesOf(dialect)

  const unrelated = (nodeName: string): Decision =>
    noOpinion(`no relationship found between node '${nodeName}' and this object`)

  function related(nodeName: string, attributes: Attributes, kind: ReferencedKind): Decision {
    if (attributes.name === '') return noOpinion('No Object name found')
    return graph.isRelated(nodeName, kind, objectKey(attributes)) ? allow : unrelated(nodeName)
  }

  /** Only `get` of one object, if `isFor` says that the node needs it. */
  function getOf(isFor: (nodeName: string, attributes: Attributes) => boolean): Judge {
    return (nodeName, attributes) => {
      if (attributes.verb !== 'get') {
        return noOpinion('can only get individual resources of this type')
      }
      if (attributes.subresource !== '') return noOpinion('cannot get subresource')
      if (attributes.name === '') return noOpinion('No Object name found')
      return isFor(nodeName, attributes) ? allow : unrelated(nodeName)
    }
  }

  const getReferenced = (kind: ReferencedKind): Judge =>
    getOf((nodeName, attributes) => graph.isRelated(nodeName, kind, objectKey(attributes)))

  function read(kind: ReferencedKind): Judge {
    return (nodeName, attributes) => {
      if (!['get', 'list', 'watch'].includes(attributes.verb)) {
        return noOpinion('can only read resources of this type')
      }
      if (attributes.subresource !== '') return noOpinion('cannot read subresource')
      if (attributes.namespace === '') {
        return noOpinion('can only read namespaced object of this type')
      }
      return related(nodeName, attributes, kind)
    }
  }

  const claims: Judge = (nodeName, attributes) => {
    const kind = 'persistentvolumeclaim'
    if (attributes.subresource !== 'status') return getReferenced(kind)(nodeName, attributes)
    return attributes.verb === 'update' || attributes.verb === 'patch'
      ? related(nodeName, attributes, kind)
      : noOpinion('can only get/update/patch this type')
  }

  const tokens: Judge = (nodeName, attributes) => {
    if (attributes.verb !== 'create' || attributes.name === '') {
      return noOpinion('can only create tokens for individual service accounts')
    }
    if (attributes.subresource !== 'token') {
      return noOpinion('can only create token subresource of serviceaccount')
    }
    return related(nodeName, attributes, 'serviceaccount')
  }

  const ownLease = ownObject({
    verbs: 'can only get, create, update, patch, or delete a node lease',
    name: 'can only access node lease with the same name as the requesting node',
  })
  const leases: Judge = (nodeName, attributes) => {
    const decision = ownLease(nodeName, attributes)
    const { nodeLeaseNamespace } = dialect
    return decision === allow && attributes.namespace !== nodeLeaseNamespace
      ? noOpinion(`can only access leases in the "${nodeLeaseNamespace}" system namespace`)
      : decision
  }

  const isOwnSlice = (nodeName: string, name: string): boolean =>
    reader.get(resources.resourceSlices, '', name)?.['spec']?.nodeName === nodeName

  const slices: Judge = (nodeName, attributes) => {
    if (attributes.subresource !== '')
      return noOpinion('cannot authorize ResourceSlice subresources')
    switch (attributes.verb) {
      case 'create':
        return allow
      case 'get':
      case 'update':
      case 'patch':
      case 'delete':
        return isOwnSlice(nodeName, attributes.name) ? allow : unrelated(nodeName)
      case 'watch':
      case 'list':
      case 'deletecollection':
        return !withSelectors || selectsField(attributes, 'spec.nodeName', nodeName)
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

  const nodes: Judge = (nodeName, { verb, subresource, name }) => {
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

  const pods: Judge = (nodeName, attributes) => {
    const { verb } = attributes
    switch (attributes.subresource) {
      case 'status':
        return verb === 'update' || verb === 'patch' ? allow : noOpinion()
      case 'eviction':
        return verb === 'create' ? allow : noOpinion()
      case '':
        break
      default:
        return noOpinion()
    }
    if (verb === 'create' || verb === 'delete') return allow
    if (verb === 'get') return getReferenced('pod')(nodeName, attributes)
    if (verb !== 'list' && verb !== 'watch') return noOpinion()
    if (selectsField(attributes, 'spec.nodeName', nodeName)) return allow
    if (attributes.name !== '') return related(nodeName, attributes, 'pod')
    return noOpinion('can only list/watch pods with spec.nodeName field selector')
  }

  const storage = apiGroup(dialect, 'storage')
  const dynamic = apiGroup(dialect, 'resource')
  const judges = new Map<string, Judge>([
    ['/secrets', read('secret')],
    ['/configmaps', read('configmap')],
    ['/persistentvolumeclaims', claims],
    ['/persistentvolumes', getOf((nodeName, { name }) => graph.isVolumeRelated(nodeName, name))],
    [`${dynamic}/resourceclaims`, getReferenced('resourceclaim')],
    [`${dynamic}/resourceslices`, slices],
    [
      `${storage}/volumeattachments`,
      getOf(
        (nodeName, { name }) =>
          reader.get(resources.volumeAttachments, '', name)?.['spec']?.nodeName === nodeName,
      ),
    ],
    ['/serviceaccounts', tokens],
    [`${apiGroup(dialect, 'coordination')}/leases`, leases],
    [
      `${storage}/csinodes`,
      ownObject({
        verbs: 'can only get, create, update, patch, or delete a CSINode',
        name: 'can only access CSINode with the same name as the requesting node',
        subresource: 'cannot authorize CSINode subresources',
      }),
    ],
    ...(withSelectors
      ? ([
          ['/nodes', nodes],
          ['/pods', pods],
        ] as const)
      : []),
  ])

  function authorize(attributes: Attributes): Decision {
    const nodeName = nodeNameOf(attributes.user)
    if (nodeName === undefined) return noOpinion()
    if (nodeName === '') return noOpinion(`unknown node for user "${attributes.user.name}"`)
    const judge = attributes.isResourceRequest
      ? judges.get(`${attributes.group}/${attributes.resource}`)
      : undefined
    if (judge !== undefined) return judge(nodeName, attributes)
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
      // What a node agent may do depends on its pods, so it cannot be listed.
      const incomplete = nodeNameOf(user) !== undefined
      const errors = incomplete ? ['node authorizer does not support user rule resolution'] : []
      return { resourceRules: [], nonResourceRules: [], incomplete, errors }
    },
  }
}
