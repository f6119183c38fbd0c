/** Waiting for caches, for controllers that are driven by time rather than by a queue. */
import type { Informer } from '../client/informer.ts'

/** Resolves with true once all informers are ready, with false when `signal` aborts first. */
export async function untilReady(
  informers: readonly Pick<Informer, 'ready'>[],
  signal: AbortSignal,
): Promise<boolean> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>()
  const abort = (): void => resolve()
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  await Promise.race([aborted, Promise.all(informers.map(({ ready }) => ready))])
  signal.removeEventListener('abort', abort)
  return !signal.aborted
}
