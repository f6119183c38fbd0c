/** identity: stores bytes unencrypted. It rejects encrypted bytes, so that the next provider tries to decrypt them. */
import { isEncrypted, readsPlainOnly, type Provider } from './transformer.ts'

export const identity: Provider = {
  prefix: '',
  toStorage: (bytes) => bytes,
  fromStorage: (stored) =>
    isEncrypted(stored)
      ? { ok: false, why: readsPlainOnly }
      : { ok: true, bytes: stored, isStale: false },
}
