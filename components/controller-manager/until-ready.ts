/** Waiting for caches, for controllers that are driven by time rather than by a queue. */
import type { Informer } from '../client/informer.ts'
import { aborted } from '../component-base/aborted.ts'

/** Resolves with true once all informers are ready, with false when `signal` aborts first. */
export async function untilReady(
  informers: readonly Pick<Informer, 'ready'>[],
  signal: AbortSignal,
): Promise<boolean> {
  await Promise.race([aborted(signal), Promise.all(informers.map(({ ready }) => ready))])
  return !signal.aborted
}
