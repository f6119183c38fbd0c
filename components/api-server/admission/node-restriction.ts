/** NodeRestriction: node agents write only what belongs to their own node (upstream: plugin/pkg/admission/noderestriction). */
import type { Dialect } from '../../api/dialect.ts'
import { apiGroup } from '../../api/dialect.ts'
import type { PersistentVolumeClaim } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { goQuote } from '../../machinery/values/go-syntax.ts'
import { nodeNameOf } from '../authz/node-identity.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import {
  agentWrite,
  noObject,
  requestedName,
  type AdmitWrite,
  type AgentWrite,
  type Cluster,
} from './agent-write.ts'
import { admissionForbidden } from './forbid.ts'
import { forbiddenNodeLabels } from './node-labels.ts'
import { admitPod, admitServiceAccount } from './node-pods.ts'

function admitNodeCreate({ self, request, cluster, forbid }: AgentWrite): void {
  const { object = noObject } = request
  if (object['spec']?.configSource) {
    throw forbid(`${self} is not allowed to create pods with a non-nil configSource`)
  }
  const labels = forbiddenNodeLabels(object.metadata.labels, undefined, cluster.dialect)
  if (labels.length > 0) {
    throw forbid(`${self} is not allowed to set the following labels: ${labels.join(', ')}`)
  }
}

function admitNodeUpdate({ self, request, cluster, forbid }: AgentWrite): void {
  const { object = noObject, old } = request
  const source = object['spec']?.configSource as unknown
  if (source && !deepEqual(source, old?.['spec']?.configSource)) {
    throw forbid(`${self} is not allowed to update configSource to a new non-nil configSource`)
  }
  if (!deepEqual(object['spec']?.taints ?? [], old?.['spec']?.taints ?? [])) {
    throw forbid(`${self} is not allowed to modify taints`)
  }
  // With an owner that does not exist, garbage collection would delete the node for it (CVE-2025-5187).
  if (!deepEqual(object.metadata.ownerReferences ?? [], old?.metadata.ownerReferences ?? [])) {
    throw forbid(`${self} is not allowed to modify ownerReferences`)
  }
  const labels = forbiddenNodeLabels(object.metadata.labels, old?.metadata.labels, cluster.dialect)
  if (labels.length > 0) throw forbid(`is not allowed to modify labels: ${labels.join(', ')}`)
}

function admitNode(write: AgentWrite): void {
  const { nodeName, self, request, forbid } = write
  const requested = requestedName(request)
  if (requested !== nodeName) {
    throw forbid(`${self} is not allowed to modify node ${goQuote(requested)}`)
  }
  if (request.operation === 'CREATE') admitNodeCreate(write)
  if (request.operation === 'UPDATE') admitNodeUpdate(write)
}

/** A claim without the fields that its node reports. */
function claimWithoutReport(claim: KubeObject): unknown {
  const { managedFields: _, resourceVersion: __, ...metadata } = claim.metadata
  const status = { ...(claim as PersistentVolumeClaim).status }
  delete status.capacity
  delete status.conditions
  delete status.allocatedResources
  delete status.allocatedResourceStatuses
  return { ...claim, metadata, status }
}

function admitClaimStatus({ self, request, forbid }: AgentWrite): void {
  if (request.subresource !== 'status') throw forbid('may only update PVC status')
  if (request.operation !== 'UPDATE') {
    throw forbid(`unexpected operation ${goQuote(request.operation)}`)
  }
  const { object = noObject, old = noObject } = request
  if (!deepEqual(claimWithoutReport(object), claimWithoutReport(old))) {
    throw forbid(
      `${self} is not allowed to update fields other than status.capacity and status.conditions`,
    )
  }
}

/** Objects that are named like the node; on create the name is in the object. */
function namedLikeNode(why: string): AdmitWrite {
  return ({ nodeName, request, forbid }) => {
    const isCreate = request.operation === 'CREATE'
    const name = isCreate ? request.object?.metadata.name : request.name
    if (name !== nodeName) throw forbid(why)
  }
}

const admitOwnLease = namedLikeNode(
  'can only access node lease with the same name as the requesting node',
)

const admitCsiNode = namedLikeNode(
  'can only access CSINode with the same name as the requesting node',
)

function admitLease(write: AgentWrite): void {
  const { nodeLeaseNamespace } = write.cluster.dialect
  if (write.request.namespace !== nodeLeaseNamespace) {
    throw write.forbid(
      `can only access leases in the ${goQuote(nodeLeaseNamespace)} system namespace`,
    )
  }
  admitOwnLease(write)
}

function admitResourceSlice({ nodeName, request, forbid }: AgentWrite): void {
  const [object, verb] =
    request.operation === 'CREATE' ? [request.object, 'create'] : [request.old, 'delete']
  const isChecked = request.operation === 'CREATE' || request.operation === 'DELETE'
  if (isChecked && object?.['spec']?.nodeName !== nodeName) {
    throw forbid(`can only ${verb} ResourceSlice with the same NodeName as the requesting node`)
  }
}

/** Whether the registry stores the request's object, so that the mutating phase sees it. */
const isMutated = ({ operation, subresource }: AdmissionRequest): boolean =>
  operation === 'UPDATE' || (operation === 'CREATE' && subresource === '')

export function nodeRestriction(reader: ObjectReader, dialect: Dialect): AdmissionPlugin {
  const cluster: Cluster = { reader, dialect, resources: resourcesOf(dialect) }
  const admits = new Map<string, AdmitWrite>([
    ['/pods', admitPod],
    ['/nodes', admitNode],
    ['/persistentvolumeclaims', admitClaimStatus],
    ['/serviceaccounts', admitServiceAccount],
    [`${apiGroup(dialect, 'coordination')}/leases`, admitLease],
    [`${apiGroup(dialect, 'storage')}/csinodes`, admitCsiNode],
    [`${apiGroup(dialect, 'resource')}/resourceslices`, admitResourceSlice],
  ])

  function restrict(request: AdmissionRequest): void {
    const nodeName = nodeNameOf(request.user)
    if (nodeName === undefined || request.operation === 'CONNECT') return
    if (nodeName === '') {
      const why = `could not determine node from user ${goQuote(request.user.name)}`
      throw admissionForbidden(request, why)
    }
    const admit = admits.get(`${request.resource.group}/${request.resource.plural}`)
    admit?.(agentWrite(nodeName, { request, cluster }))
  }

  return {
    name: 'NodeRestriction',
    // While mutating, as upstream: the node does not answer for what later plugins add.
    mutate(request) {
      if (isMutated(request)) restrict(request)
    },
    validate(request) {
      if (!isMutated(request)) restrict(request)
    },
  }
}
