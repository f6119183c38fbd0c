/** Which pods use a claim (upstream: pkg/controller/volume/common PodPVCIndex). */
import type { Pod } from '../api/generated/types.ts'
import { podClaims } from '../api/pod-references.ts'
import type { Informer } from '../client/informer.ts'
import { addIndexOnce } from './pod-indexes.ts'

const byClaim = 'claim'

/** `namespace/name` of the claims that the pod names, those of ephemeral volumes too. */
export function claimKeysOf(pod: Pod): string[] {
  return podClaims(pod).map((name) => `${pod.metadata.namespace ?? ''}/${name}`)
}

/** Lets `podsOfClaim` be asked. Call it before the informer runs. */
export function indexByClaim(pods: Informer<Pod>): void {
  addIndexOnce(pods, byClaim, claimKeysOf)
}

export function podsOfClaim(pods: Informer<Pod>, claimKey: string): readonly Pod[] {
  return pods.byIndex(byClaim, claimKey)
}
