/** Owners of imported objects: which objects their owners make anew, and which references stay. */
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { isOfUpstream } from './kind-name.ts'

/** Whether upstream's own controllers know the kind. */
export function isBuiltIn(apiVersion: string): boolean {
  const slash = apiVersion.indexOf('/')
  return isOfUpstream(slash < 0 ? '' : apiVersion.slice(0, slash))
}

/** A Deployment makes its ReplicaSets anew, and these their pods. `readUids`: of all objects that were read. */
export function isMadeAnew({ metadata }: KubeObject, readUids: ReadonlySet<string>): boolean {
  return (metadata.ownerReferences ?? []).some(
    ({ controller, uid, apiVersion }) =>
      controller === true && readUids.has(uid) && isBuiltIn(apiVersion),
  )
}

/** With the references to owners that `uidOf` knows, by their new uids; without one, garbage collection would delete the object. */
export function withOwners(
  object: KubeObject,
  uidOf: (uid: string) => string | undefined,
): KubeObject {
  const { ownerReferences, ...metadata } = object.metadata
  if (ownerReferences === undefined) return object
  const kept = ownerReferences.flatMap((owner) => {
    const uid = uidOf(owner.uid)
    return uid === undefined ? [] : [{ ...owner, uid }]
  })
  return {
    ...object,
    metadata: kept.length === 0 ? metadata : { ...metadata, ownerReferences: kept },
  }
}
