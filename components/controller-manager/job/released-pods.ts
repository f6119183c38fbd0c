/**
 * ReleasedPods: pods whose tracking finalizer was removed while the informer still shows it. They are counted; without this
 * memory the next sync would count them again (upstream: tracking_utils.go uidTrackingExpectations; KEP-2307).
 */
import type { Pod } from '../../api/generated/types.ts'
import type { Informer } from '../../client/informer.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { uidOf } from './job-pods.ts'

export interface ReleasedPods {
  /** The finalizer is about to be removed. Call it before the request: its event may come before the answer. */
  expect(key: string, pod: Pod): void
  /** It was not removed. */
  forget(pod: Pod): void
  /** The uids of the Job's pods that may still be shown with the finalizer. */
  of(key: string): ReadonlySet<string>
}

export function createReleasedPods(pods: Informer<Pod>, finalizer: string): ReleasedPods {
  const isHeld = ({ metadata }: Pod): boolean => metadata.finalizers?.includes(finalizer) ?? false
  const keys = new Map<string, string>()
  const released = new Map<string, Set<string>>()
  const forget = (pod: Pod): void => {
    const uid = uidOf(pod)
    const key = keys.get(uid)
    if (key === undefined) return
    keys.delete(uid)
    const uids = released.get(key)
    uids?.delete(uid)
    if (uids?.size === 0) released.delete(key)
  }
  pods.onEvent(({ type, object }) => {
    if (type === 'delete' || !isHeld(object)) forget(object)
  })
  return {
    expect: (key, pod) => {
      const uid = uidOf(pod)
      const cached = pods.get(keyOf(pod))
      const isShown = cached !== undefined && uidOf(cached) === uid && isHeld(cached)
      if (!isShown) return
      keys.set(uid, key)
      const uids = released.get(key) ?? new Set()
      released.set(key, uids.add(uid))
    },
    forget,
    of: (key) => new Set(released.get(key)),
  }
}
