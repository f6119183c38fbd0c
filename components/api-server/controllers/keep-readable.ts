/**
 * keep-readable: checks once after the start that stored objects can be read, follows the encryption configuration, logs the
 * objects that cannot be read, and reads them again when a KMS plugin answers.
 */
import { aborted } from '../../component-base/aborted.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import type { Caches } from '../watch-cache/caches.ts'
import type { EncryptionFile } from '../encryption/encryption-file.ts'

/** The pause between two slices, which leaves the event loop to requests. */
const pauseMs = 5
/** The log names at most this many keys. */
const mostNamed = 20

/** Runs until `signal` aborts. `file` is the encryption configuration, if any, which it follows with `followsFile`. */
export async function keepReadable(options: {
  cache: Caches
  file: EncryptionFile | undefined
  followsFile: boolean
  clock: Clock
  log: Log
  metrics: Metrics
  signal: AbortSignal
}): Promise<void> {
  const { cache, file, followsFile, clock, log, signal } = options
  const tell = (): void => {
    const unreadable = [...cache.unreadable()]
    if (unreadable.length === 0) return
    log.warn('stored objects cannot be read', {
      count: unreadable.length,
      keys: unreadable.slice(0, mostNamed).map(({ storeKey, why }) => `${storeKey}: ${why}`),
    })
  }
  const lookThrough = async (): Promise<void> => {
    await cache.proveAll(() => clock.sleep(pauseMs, signal))
    tell()
  }
  const rereading = Promise.withResolvers<void>()
  let last = Promise.resolve()
  const rereadUnreadable = async (): Promise<void> => {
    if (signal.aborted || cache.unreadable().next().done === true) return
    const count = await cache.rereadUnreadable()
    if (count > 0) log.info('stored objects can be read again', { count })
  }
  file?.encryption.start(() => {
    last = last.then(rereadUnreadable).catch(rereading.reject)
  })
  const follow = async (): Promise<void> => {
    if (!followsFile) return
    await file?.follow({
      ...options,
      onReload: async () => {
        await cache.reread()
        tell()
      },
    })
  }
  const work = Promise.all([lookThrough(), follow()]).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  await Promise.race([Promise.all([work, aborted(signal)]), rereading.promise])
  // The store closes next.
  await last
}
