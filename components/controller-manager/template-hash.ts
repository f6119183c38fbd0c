/** The pod-template-hash of a Deployment's ReplicaSets, which also names the revisions of a DaemonSet. Pure. */
import type { PodTemplateSpec } from '../api/generated/types.ts'
import { canonicalJson, safeHash } from './safe-hash.ts'

/** `collisions` makes another hash of the same template, for when a name is taken. */
export function templateHash(template: PodTemplateSpec, collisions = 0): string {
  return safeHash(canonicalJson(template) + (collisions === 0 ? '' : `#${collisions}`))
}
