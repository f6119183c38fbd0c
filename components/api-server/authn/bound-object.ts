/** BoundObject: the object that a TokenRequest binds a token to (upstream: registry/core/serviceaccount/storage/token.go). */
import type { Dialect } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { badRequest, conflict, notFound } from '../../machinery/objects/status-error.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { ClaimedObject } from './service-account-claims.ts'

export interface BoundObject {
  readonly pod?: ClaimedObject
  readonly secret?: ClaimedObject
  readonly node?: ClaimedObject
}

/** `spec.boundObjectRef` of a TokenRequest. */
export interface BoundObjectReference {
  readonly apiVersion?: string
  readonly kind?: string
  readonly name?: string
  readonly uid?: string
}

interface Binding {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  /** The service account that the token is for. */
  readonly account: { readonly namespace: string; readonly name: string }
  readonly ref: BoundObjectReference
}

/** How claims name an object. */
export function claimedObjectOf(object: KubeObject): ClaimedObject {
  return { name: object.metadata.name ?? '', uid: object.metadata.uid ?? '' }
}

/** The stored object. Throws 404 without one. */
export function existingObject(
  reader: ObjectReader,
  at: { resource: Resource; namespace: string; name: string },
): KubeObject {
  const object = reader.get(at.resource, at.namespace, at.name)
  if (object === undefined) throw notFound(at.resource, at.name)
  return object
}

function checkUid(
  { kind = '', name = '', uid = '' }: BoundObjectReference,
  object: KubeObject,
): void {
  if (uid === '' || uid === object.metadata.uid) return
  const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`
  throw conflict({ group: '', plural: kind }, name, why)
}

function bindPod({ reader, dialect, account, ref }: Binding): BoundObject {
  const { pods, nodes } = resourcesOf(dialect)
  const { namespace } = account
  const pod = existingObject(reader, { resource: pods, namespace, name: ref.name ?? '' })
  if (pod['spec']?.serviceAccountName !== account.name) {
    throw badRequest(
      `cannot bind token for serviceaccount "${account.name}" to pod running with different serviceaccount name.`,
    )
  }
  checkUid(ref, pod)
  const nodeName = String(pod['spec']?.nodeName ?? '')
  if (nodeName === '') return { pod: claimedObjectOf(pod) }
  // The token names the pod's node even when it has gone, so that a reader knows where the pod ran.
  const nodeUid = reader.get(nodes, '', nodeName)?.metadata.uid ?? ''
  return { pod: claimedObjectOf(pod), node: { name: nodeName, uid: nodeUid } }
}

/**
 * The object that the reference names, and for a pod its node. Throws 404 when it does not exist, 409 when it has another
 * UID, 400 for other kinds and for pods of other accounts.
 */
export function bindObject(binding: Binding): BoundObject {
  const { reader, dialect, account, ref } = binding
  const { secrets, nodes } = resourcesOf(dialect)
  const { apiVersion = '', kind = '', name = '' } = ref
  const slash = apiVersion.indexOf('/')
  const group = slash < 0 ? '' : apiVersion.slice(0, slash)
  if (group === '' && kind === 'Pod') return bindPod(binding)
  if (group === '' && kind === 'Secret') {
    const { namespace } = account
    const secret = existingObject(reader, { resource: secrets, namespace, name })
    checkUid(ref, secret)
    return { secret: claimedObjectOf(secret) }
  }
  if (group === '' && kind === 'Node') {
    const node = existingObject(reader, { resource: nodes, namespace: '', name })
    checkUid(ref, node)
    return { node: claimedObjectOf(node) }
  }
  const version = apiVersion.slice(slash + 1)
  throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`)
}
