/** What NodeRestriction admits of pods and their tokens: a node's own mirror pods, its pods' status, evictions and tokens. */
import type { Pod, PodSpec, TokenRequest } from '../../api/generated/types.ts'
import { podConfigMaps, podSecrets } from '../../api/pod-references.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { notFound } from '../../machinery/objects/status-error.ts'
import { goQuote } from '../../machinery/values/go-syntax.ts'
import { noObject, requestedName, type AgentWrite } from './agent-write.ts'

function storedPod({ request, cluster }: AgentWrite, name: string): Pod {
  const { pods } = cluster.resources
  const pod = cluster.reader.get(pods, request.namespace, name)
  if (pod === undefined) throw notFound(pods, name)
  return pod as Pod
}

/** A mirror pod has one owner, its node, and does not keep it from being deleted. */
function checkOwner({ nodeName, self, cluster, forbid }: AgentWrite, pod: Pod): void {
  const [owner, ...more] = pod.metadata.ownerReferences ?? []
  if (more.length > 0) {
    throw forbid(`${self} can only create pods with a single owner reference set to itself`)
  }
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== nodeName) {
    throw forbid(`${self} can only create pods with an owner reference set to itself`)
  }
  if (owner.controller !== true) {
    throw forbid(`${self} can only create pods with a controller owner reference set to itself`)
  }
  if (owner.blockOwnerDeletion === true) {
    throw forbid(`${self} must not set blockOwnerDeletion on an owner reference`)
  }
  const { nodes } = cluster.resources
  const node = cluster.reader.get(nodes, '', nodeName)
  if (node === undefined) throw notFound(nodes, nodeName)
  if (owner.uid !== node.metadata.uid) {
    throw forbid(
      `node ${nodeName} UID mismatch: expected ${owner.uid} got ${node.metadata.uid ?? ''}`,
    )
  }
}

/** Mirror pods use no objects of the API. */
function checkReferences({ self, forbid }: AgentWrite, spec: PodSpec): void {
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
  if (found !== undefined) throw forbid(`${self} can not create pods that reference ${found[1]}`)
}

/** Only mirror pods that are bound to the node and owned by it. */
function admitPodCreate(write: AgentWrite): void {
  const { nodeName, self, request, cluster, forbid } = write
  const mirrorAnnotation = `${cluster.dialect.labelDomain}/config.mirror`
  const pod = (request.object ?? noObject) as Pod
  if (pod.metadata.annotations?.[mirrorAnnotation] === undefined) {
    throw forbid(
      `pod does not have ${goQuote(mirrorAnnotation)} annotation, ${self} can only create mirror pods`,
    )
  }
  if (pod.spec?.nodeName !== nodeName) {
    throw forbid(`${self} can only create pods with spec.nodeName set to itself`)
  }
  checkOwner(write, pod)
  checkReferences(write, pod.spec)
}

function admitPodDelete(write: AgentWrite): void {
  const { nodeName, self, request, forbid } = write
  if (storedPod(write, request.name).spec?.nodeName !== nodeName) {
    throw forbid(`${self} can only delete pods with spec.nodeName set to itself`)
  }
}

function admitPodWrite(write: AgentWrite): void {
  const { self, request, forbid } = write
  if (request.operation === 'CREATE') admitPodCreate(write)
  else if (request.operation === 'DELETE') admitPodDelete(write)
  else {
    throw forbid(
      `unexpected operation ${goQuote(request.operation)}, ${self} can only create and delete mirror pods`,
    )
  }
}

function admitPodStatus({ nodeName, self, request, forbid }: AgentWrite): void {
  if (request.operation !== 'UPDATE') {
    throw forbid(`unexpected operation ${goQuote(request.operation)}`)
  }
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

function admitPodEviction(write: AgentWrite): void {
  const { nodeName, request, forbid } = write
  if (request.operation !== 'CREATE') throw forbid(`unexpected operation ${request.operation}`)
  const name = requestedName(request)
  if (name === '') throw forbid('could not determine pod from request data')
  if (storedPod(write, name).spec?.nodeName !== nodeName) {
    throw forbid(`node ${nodeName} can only evict pods with spec.nodeName set to itself`)
  }
}

export function admitPod(write: AgentWrite): void {
  const { subresource } = write.request
  if (subresource === '') admitPodWrite(write)
  else if (subresource === 'status') admitPodStatus(write)
  else if (subresource === 'eviction') admitPodEviction(write)
  else {
    throw write.forbid(
      `unexpected pod subresource ${goQuote(subresource)}, only 'status' and 'eviction' are allowed`,
    )
  }
}

/** Service accounts: only tokens that are bound to a pod of the node. */
export function admitServiceAccount(write: AgentWrite): void {
  const { nodeName, request, forbid } = write
  if (request.operation !== 'CREATE' || request.subresource !== 'token') return
  const ref = (request.object as TokenRequest | undefined)?.spec.boundObjectRef
  if (ref?.apiVersion !== 'v1' || ref.kind !== 'Pod' || !ref.name) {
    throw forbid('node requested token not bound to a pod')
  }
  if (!ref.uid) throw forbid('node requested token with a pod binding without a uid')
  const bound = storedPod(write, ref.name)
  if (bound.metadata.uid !== ref.uid) {
    throw forbid(
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    )
  }
  if (bound.spec?.nodeName !== nodeName) {
    throw forbid('node requested token bound to a pod scheduled on a different node')
  }
}
