/** NodeRestriction: node agents write only what belongs to their own node (upstream: plugin/pkg/admission/noderestriction). */
import type { Dialect } from '../../api/dialect.ts'
import { apiGroup } from '../../api/dialect.ts'
import type { PersistentVolumeClaim, Pod, TokenRequest } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { goQuote } from '../../machinery/values/go-syntax.ts'
import type { StatusError } from '../../machinery/objects/status-error.ts'
import { notFound } from '../../machinery/objects/status-error.ts'
import { nodeNameOf } from '../authz/node-identity.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { podConfigMaps, podSecrets } from '../../api/pod-references.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { admissionForbidden } from './forbid.ts'
import { forbiddenNodeLabels } from './node-labels.ts'

type Judge = (nodeName: string, request: AdmissionRequest) => void

const noObject: KubeObject = { metadata: {} }

/** Everything of a claim but what its node reports on it. */
function claimWithoutReport(claim: KubeObject): unknown {
  const { managedFields: _, resourceVersion: __, ...metadata } = claim.metadata
  const status = { ...(claim as PersistentVolumeClaim).status }
  delete status.capacity
  delete status.conditions
  delete status.allocatedResources
  delete status.allocatedResourceStatuses
  return { ...claim, metadata, status }
}

export function nodeRestriction(reader: ObjectReader, dialect: Dialect): AdmissionPlugin {
  const { pods, nodes } = resourcesOf(dialect)
  const mirrorAnnotation = `${dialect.labelDomain}/config.mirror`

  function storedPod(request: AdmissionRequest, name: string): Pod {
    const pod = reader.get(pods, request.namespace, name)
    if (pod === undefined) throw notFound(pods, name)
    return pod as Pod
  }

  function checkOwner(nodeName: string, request: AdmissionRequest, pod: KubeObject): void {
    const forbid = (why: string): StatusError =>
      admissionForbidden(request, `node ${goQuote(nodeName)} ${why}`)
    const [owner, ...more] = pod.metadata.ownerReferences ?? []
    if (more.length > 0) {
      throw forbid('can only create pods with a single owner reference set to itself')
    }
    if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== nodeName) {
      throw forbid('can only create pods with an owner reference set to itself')
    }
    if (owner.controller !== true) {
      throw forbid('can only create pods with a controller owner reference set to itself')
    }
    if (owner.blockOwnerDeletion === true) {
      throw forbid('must not set blockOwnerDeletion on an owner reference')
    }
    const node = reader.get(nodes, '', nodeName)
    if (node === undefined) throw notFound(nodes, nodeName)
    if (owner.uid !== node.metadata.uid) {
      const why = `node ${nodeName} UID mismatch: expected ${owner.uid} got ${node.metadata.uid ?? ''}`
      throw admissionForbidden(request, why)
    }
  }

  /** Only mirror pods, bound to and owned by the node, that refer to nothing else. */
  function createPod(nodeName: string, request: AdmissionRequest): void {
    const pod = (request.object ?? noObject) as Pod
    const self = `node ${goQuote(nodeName)}`
    if (pod.metadata.annotations?.[mirrorAnnotation] === undefined) {
      const why = `pod does not have ${goQuote(mirrorAnnotation)} annotation, ${self} can only create mirror pods`
      throw admissionForbidden(request, why)
    }
    if (pod.spec?.nodeName !== nodeName) {
      const why = `${self} can only create pods with spec.nodeName set to itself`
      throw admissionForbidden(request, why)
    }
    checkOwner(nodeName, request, pod)
    const { spec } = pod
    const volumes = spec.volumes ?? []
    const sources = volumes.flatMap(({ projected }) => projected?.sources ?? [])
    const referenced = [
      [(spec.serviceAccountName ?? '') !== '', 'a service account'],
      [podSecrets(spec).length > 0, 'secrets'],
      [podConfigMaps(spec).length > 0, 'configmaps'],
      [(spec.resourceClaims ?? []).length > 0, 'resourceclaims'],
      [sources.some(({ clusterTrustBundle }) => clusterTrustBundle), 'clustertrustbundles'],
      [volumes.some((volume) => volume.persistentVolumeClaim), 'persistentvolumeclaims'],
    ] as const
    const found = referenced.find(([isReferenced]) => isReferenced)
    if (found !== undefined) {
      throw admissionForbidden(request, `${self} can not create pods that reference ${found[1]}`)
    }
  }

  const pod: Judge = (nodeName, request) => {
    const self = `node ${goQuote(nodeName)}`
    if (request.operation === 'CREATE') createPod(nodeName, request)
    else if (request.operation === 'DELETE') {
      if (storedPod(request, request.name).spec?.nodeName !== nodeName) {
        const why = `${self} can only delete pods with spec.nodeName set to itself`
        throw admissionForbidden(request, why)
      }
    } else {
      const why = `unexpected operation ${goQuote(request.operation)}, ${self} can only create and delete mirror pods`
      throw admissionForbidden(request, why)
    }
  }

  const podStatus: Judge = (nodeName, request) => {
    const forbid = (why: string): StatusError => admissionForbidden(request, why)
    if (request.operation !== 'UPDATE') {
      throw forbid(`unexpected operation ${goQuote(request.operation)}`)
    }
    const self = `node ${goQuote(nodeName)}`
    const old = (request.old ?? noObject) as Pod
    const changed = (request.object ?? noObject) as Pod
    if (old.spec?.nodeName !== nodeName) {
      throw forbid(`${self} can only update pod status for pods with spec.nodeName set to itself`)
    }
    if (!deepEqual(old.metadata.labels ?? {}, changed.metadata.labels ?? {})) {
      throw forbid(`${self} cannot update labels through pod status`)
    }
    const claims = (of: Pod): unknown => of.status?.resourceClaimStatuses ?? []
    if (!deepEqual(claims(old), claims(changed))) {
      throw forbid(`${self} cannot update resource claim statues`)
    }
  }

  const podEviction: Judge = (nodeName, request) => {
    if (request.operation !== 'CREATE') {
      throw admissionForbidden(request, `unexpected operation ${request.operation}`)
    }
    const name = request.name || request.object?.metadata.name || ''
    if (name === '') {
      throw admissionForbidden(request, 'could not determine pod from request data')
    }
    if (storedPod(request, name).spec?.nodeName !== nodeName) {
      const why = `node ${nodeName} can only evict pods with spec.nodeName set to itself`
      throw admissionForbidden(request, why)
    }
  }

  const anyPod: Judge = (nodeName, request) => {
    const { subresource } = request
    if (subresource === '') pod(nodeName, request)
    else if (subresource === 'status') podStatus(nodeName, request)
    else if (subresource === 'eviction') podEviction(nodeName, request)
    else {
      const why = `unexpected pod subresource ${goQuote(subresource)}, only 'status' and 'eviction' are allowed`
      throw admissionForbidden(request, why)
    }
  }

  const node: Judge = (nodeName, request) => {
    const self = `node ${goQuote(nodeName)}`
    const forbid = (why: string): StatusError => admissionForbidden(request, why)
    const requested = request.name || request.object?.metadata.name || ''
    if (requested !== nodeName) {
      throw forbid(`${self} is not allowed to modify node ${goQuote(requested)}`)
    }
    const { object = noObject, old } = request
    if (request.operation === 'CREATE') {
      if (object['spec']?.configSource) {
        throw forbid(`${self} is not allowed to create pods with a non-nil configSource`)
      }
      const labels = forbiddenNodeLabels(object.metadata.labels, undefined, dialect)
      if (labels.length > 0) {
        throw forbid(`${self} is not allowed to set the following labels: ${labels.join(', ')}`)
      }
    }
    if (request.operation === 'UPDATE') {
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
      const labels = forbiddenNodeLabels(object.metadata.labels, old?.metadata.labels, dialect)
      if (labels.length > 0) throw forbid(`is not allowed to modify labels: ${labels.join(', ')}`)
    }
  }

  const claim: Judge = (nodeName, request) => {
    const forbid = (why: string): StatusError => admissionForbidden(request, why)
    if (request.subresource !== 'status') throw forbid('may only update PVC status')
    if (request.operation !== 'UPDATE') {
      throw forbid(`unexpected operation ${goQuote(request.operation)}`)
    }
    const { object = noObject, old = noObject } = request
    if (!deepEqual(claimWithoutReport(object), claimWithoutReport(old))) {
      throw forbid(
        `node ${goQuote(nodeName)} is not allowed to update fields other than status.capacity and status.conditions`,
      )
    }
  }

  const token: Judge = (nodeName, request) => {
    if (request.operation !== 'CREATE' || request.subresource !== 'token') return
    const forbid = (why: string): StatusError => admissionForbidden(request, why)
    const ref = (request.object as TokenRequest | undefined)?.spec.boundObjectRef
    if (ref?.apiVersion !== 'v1' || ref.kind !== 'Pod' || !ref.name) {
      throw forbid('node requested token not bound to a pod')
    }
    if (!ref.uid) throw forbid('node requested token with a pod binding without a uid')
    const bound = storedPod(request, ref.name)
    if (bound.metadata.uid !== ref.uid) {
      throw forbid(
        `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      )
    }
    if (bound.spec?.nodeName !== nodeName) {
      throw forbid('node requested token bound to a pod scheduled on a different node')
    }
  }

  /** Objects that are named like the node; on create the name is in the object. */
  const namedLikeNode =
    (why: string): Judge =>
    (nodeName, request) => {
      const isCreate = request.operation === 'CREATE'
      const name = isCreate ? request.object?.metadata.name : request.name
      if (name !== nodeName) throw admissionForbidden(request, why)
    }

  const ownLease = namedLikeNode(
    'can only access node lease with the same name as the requesting node',
  )
  const lease: Judge = (nodeName, request) => {
    const { nodeLeaseNamespace } = dialect
    if (request.namespace !== nodeLeaseNamespace) {
      const why = `can only access leases in the ${goQuote(nodeLeaseNamespace)} system namespace`
      throw admissionForbidden(request, why)
    }
    ownLease(nodeName, request)
  }

  const slice: Judge = (nodeName, request) => {
    const [object, verb] =
      request.operation === 'CREATE' ? [request.object, 'create'] : [request.old, 'delete']
    const isChecked = request.operation === 'CREATE' || request.operation === 'DELETE'
    if (isChecked && object?.['spec']?.nodeName !== nodeName) {
      const why = `can only ${verb} ResourceSlice with the same NodeName as the requesting node`
      throw admissionForbidden(request, why)
    }
  }

  const judges = new Map<string, Judge>([
    ['/pods', anyPod],
    ['/nodes', node],
    ['/persistentvolumeclaims', claim],
    ['/serviceaccounts', token],
    [`${apiGroup(dialect, 'coordination')}/leases`, lease],
    [
      `${apiGroup(dialect, 'storage')}/csinodes`,
      namedLikeNode('can only access CSINode with the same name as the requesting node'),
    ],
    [`${apiGroup(dialect, 'resource')}/resourceslices`, slice],
  ])

  function restrict(request: AdmissionRequest): void {
    const nodeName = nodeNameOf(request.user)
    if (nodeName === undefined || request.operation === 'CONNECT') return
    if (nodeName === '') {
      const why = `could not determine node from user ${goQuote(request.user.name)}`
      throw admissionForbidden(request, why)
    }
    judges.get(`${request.resource.group}/${request.resource.plural}`)?.(nodeName, request)
  }

  /** What stores no draft of its own passes the second phase only. */
  const hasDraft = ({ operation, subresource }: AdmissionRequest): boolean =>
    operation === 'UPDATE' || (operation === 'CREATE' && subresource === '')

  return {
    name: 'NodeRestriction',
    // In the first phase, as upstream: what later plugins add is not the node's doing.
    mutate(request) {
      if (hasDraft(request)) restrict(request)
    },
    validate(request) {
      if (!hasDraft(request)) restrict(request)
    },
  }
}
