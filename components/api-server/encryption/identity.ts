/** identity: stored as it is. What is encrypted is no plain object, so that a provider behind gets to read it. */
import { isEncrypted, readsPlainOnly, type Provider } from './transformer.ts'

export const identity: Provider = {
  prefix: '',
  toStorage: (bytes) => bytes,
  fromStorage: (stored) =>
    isEncrypted(stored)
      ? { ok: false, why: readsPlainOnly }
      : { ok: true, bytes: stored, isStale: false },
}
